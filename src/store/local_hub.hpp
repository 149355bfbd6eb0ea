// The meeting point of the clients and runtimes that share a store in one process.
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

/// A cancel offered to a runtime. Either the runtime claims it, or the client that created it, after it has
/// waited without success.
struct LocalCancel {
  InstanceId instance;
  message::CancelInstance message;
  /// Called after a runtime has claimed it. False: nothing was stored, and the client sends a message to the
  /// store as usual.
  UniqueFunction<void(bool stored)> done;

  /// True for one caller only.
  [[nodiscard]] bool claim() noexcept { return !claimed_.exchange(true); }

 private:
  std::atomic<bool> claimed_{false};
};

/// The contents of the store, as counted by one of the runtimes here.
struct StoreGauges {
  std::optional<QueueDepths> depths;  ///< absent: counting failed
  /// Instances that have not ended; absent likewise.
  std::optional<std::uint64_t> open;
};

/// A runtime as the hub sees it. Callable from any thread.
class LocalRuntime {
 public:
  virtual ~LocalRuntime() = default;
  [[nodiscard]] virtual const NodeId& node() const = 0;
  [[nodiscard]] virtual bool runs(const message::StartOrchestration& start) const = 0;
  virtual void start(StartRequest request, UniqueFunction<void(Result<StartOutcome>)> done) = 0;
  /// Cancels a resident instance in one step instead of two: the request and its turn are one commit.
  virtual void cancel(std::shared_ptr<LocalCancel> request) = 0;
  /// This runtime or another one has counted the store. Must not block.
  virtual void counted(const StoreGauges& gauges) = 0;
};

/// The end of an instance, as its last commit reports it.
struct EndedInstance {
  Status status;
  std::optional<Payload> output;
  std::optional<Failure> failure;
};

class LocalHub {
 public:
  /// Passes the last count to the runtime at once, if there is one.
  void attach(LocalRuntime& runtime);
  /// After this returns, the runtime gets no further start, cancel or count.
  void detach(LocalRuntime& runtime);
  /// Passes the start to a runtime that can run it; false (and nothing is moved from) if there is none.
  [[nodiscard]] bool offer(StartRequest& request, UniqueFunction<void(Result<StartOutcome>)>& done);
  /// Passes the cancel to the runtime here. False if there is none, or if there are several: then only the
  /// store finds the one where the instance is resident.
  [[nodiscard]] bool offer(const std::shared_ptr<LocalCancel>& request);

  /// One runtime counts the store for all runtimes here. True: the caller counts now and then calls
  /// end_count. False: another runtime counts, or the last count began less than `interval` before `now`.
  [[nodiscard]] bool begin_count(LeaseTime now, Duration interval);
  /// Passes the count on to every runtime here. Absent: the caller stopped, and the next begin_count
  /// is true.
  void end_count(const std::optional<StoreGauges>& gauges);

  /// Called at most once, on the thread that commits the end of the instance; must not block.
  using OnEnd = UniqueFunction<void(const EndedInstance&)>;
  /// Returns a ticket for stop_waiting().
  [[nodiscard]] std::uint64_t await_end(const InstanceId& instance, OnEnd on_end);
  /// The callback may be running on another thread, but will not begin after this returns.
  void stop_waiting(const InstanceId& instance, std::uint64_t ticket);
  void announce_end(const InstanceId& instance, const EndedInstance& end);
  /// True if a runtime here has this id: it announces every end that it commits.
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
