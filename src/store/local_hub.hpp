// Where clients and runtimes that share a store in one process find each other.
#pragma once

#include <duramen/function.hpp>
#include <duramen/ids.hpp>
#include <duramen/provider.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace duramen::inline v0::detail {

/// A cancel offered to a runtime. It belongs to whoever claims it: the runtime, or the one who made it and
/// waited in vain.
struct LocalCancel {
  InstanceId instance;
  message::CancelInstance message;
  /// Told once it was claimed by a runtime. False: nothing was stored, and the store has to be asked in the
  /// usual way.
  UniqueFunction<void(bool stored)> done;

  /// True for one caller only.
  [[nodiscard]] bool claim() noexcept { return !claimed_.exchange(true); }

 private:
  std::atomic<bool> claimed_{false};
};

/// How much the store holds, as one of the runtimes here has counted it.
struct StoreGauges {
  std::optional<QueueDepths> depths;  ///< absent: the store could not count them
  std::optional<std::uint64_t> open;  ///< instances that have not ended; absent likewise
};

/// A runtime as its neighbours see it. Calls come from any thread.
class LocalRuntime {
 public:
  virtual ~LocalRuntime() = default;
  [[nodiscard]] virtual const NodeId& node() const = 0;
  [[nodiscard]] virtual bool runs(const message::StartOrchestration& start) const = 0;
  virtual void start(StartRequest request, UniqueFunction<void(Result<StartOutcome>)> done) = 0;
  /// Cancels an instance that is at hand, in one step instead of two: the request and the turn it causes are
  /// one commit.
  virtual void cancel(std::shared_ptr<LocalCancel> request) = 0;
  /// The store has been counted, by this runtime or another. Must not block.
  virtual void counted(const StoreGauges& gauges) = 0;
};

/// How an instance ended, as told by the commit that ended it.
struct EndedInstance {
  Status status;
  std::optional<Payload> output;
  std::optional<Failure> failure;
};

class LocalHub {
 public:
  /// The runtime gets the last count at once, if there is one.
  void attach(LocalRuntime& runtime);
  /// When this returns the runtime gets no further start, cancel or count.
  void detach(LocalRuntime& runtime);
  /// Hands the start to a runtime that can run it; false (and nothing taken) if there is none.
  [[nodiscard]] bool offer(StartRequest& request, UniqueFunction<void(Result<StartOutcome>)>& done);
  /// Hands the cancel to the runtime here. False if there is none, or several: which of them has the instance
  /// at hand is for the store to find out.
  [[nodiscard]] bool offer(const std::shared_ptr<LocalCancel>& request);

  /// The store is counted for all runtimes here by one of them. True: the caller is to do it now and to call
  /// end_count. False: another is at it, or the last count began less than `interval` before `now`.
  [[nodiscard]] bool begin_count(LeaseTime now, Duration interval);
  /// Passes the count on to every runtime here. Absent: the caller has given up, and the next begin_count
  /// is true.
  void end_count(const std::optional<StoreGauges>& gauges);

  /// Called at most once, by whoever commits the end of the instance, on its thread; must not block.
  using OnEnd = UniqueFunction<void(const EndedInstance&)>;
  /// Returns a ticket with which to stop waiting.
  [[nodiscard]] std::uint64_t await_end(const InstanceId& instance, OnEnd on_end);
  /// The callback may be running on another thread, but will not begin after this returns.
  void stop_waiting(const InstanceId& instance, std::uint64_t ticket);
  void announce_end(const InstanceId& instance, const EndedInstance& end);
  /// Is it one of the runtimes here, which announce every end they commit?
  [[nodiscard]] bool announces(const NodeId& node);

 private:
  struct Waiter {
    std::uint64_t ticket;
    OnEnd on_end;
  };
  std::mutex runtimes_mutex_;
  std::vector<LocalRuntime*> runtimes_;        // guarded by runtimes_mutex_
  std::optional<StoreGauges> last_count_;      // guarded by runtimes_mutex_
  std::optional<LeaseTime> last_count_began_;  // guarded by runtimes_mutex_
  bool counting_ = false;                      // guarded by runtimes_mutex_

  std::mutex waiters_mutex_;
  std::unordered_map<InstanceId, std::vector<Waiter>> waiters_;  // guarded by waiters_mutex_
  std::uint64_t next_ticket_ = 0;                                // guarded by waiters_mutex_
};

}  // namespace duramen::inline v0::detail
