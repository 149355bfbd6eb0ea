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
  work::CancelInstance message;
  /// Told once it was claimed by a runtime. False: nothing was stored, and the store has to be asked in the
  /// usual way.
  UniqueFunction<void(bool stored)> done;

  /// True for one caller only.
  [[nodiscard]] bool claim() noexcept { return !claimed_.exchange(true); }

 private:
  std::atomic<bool> claimed_{false};
};

/// A runtime as its neighbours see it. Calls come from any thread.
class LocalRuntime {
 public:
  virtual ~LocalRuntime() = default;
  [[nodiscard]] virtual const NodeId& node() const = 0;
  [[nodiscard]] virtual bool runs(const work::StartOrchestration& start) const = 0;
  virtual void start(StartRequest request, UniqueFunction<void(Result<StartOutcome>)> done) = 0;
  /// Cancels an instance that is at hand, in one step instead of two: the request and the turn it causes are
  /// one commit.
  virtual void cancel(std::shared_ptr<LocalCancel> request) = 0;
};

/// How an instance ended, as told by the commit that ended it.
struct EndedInstance {
  Status status;
  std::optional<Payload> output;
  std::optional<Failure> failure;
};

class Neighbourhood {
 public:
  void attach(LocalRuntime& runtime);
  /// When this returns the runtime gets no further start or cancel.
  void detach(LocalRuntime& runtime);
  /// Hands the start to a runtime that can run it; false (and nothing taken) if there is none.
  [[nodiscard]] bool offer(StartRequest& request, UniqueFunction<void(Result<StartOutcome>)>& done);
  /// Hands the cancel to the runtime here. False if there is none, or several: which of them has the instance
  /// at hand is for the store to find out.
  [[nodiscard]] bool offer(const std::shared_ptr<LocalCancel>& request);

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
  std::vector<LocalRuntime*> runtimes_;  // guarded by runtimes_mutex_

  std::mutex waiters_mutex_;
  std::unordered_map<InstanceId, std::vector<Waiter>> waiters_;  // guarded by waiters_mutex_
  std::uint64_t next_ticket_ = 0;                                // guarded by waiters_mutex_
};

}  // namespace duramen::inline v0::detail
