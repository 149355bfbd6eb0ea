#include <duramen/testing/faulty_provider.hpp>

#include "testing/simulation_random.hpp"

#include <mutex>
#include <type_traits>
#include <utility>

namespace duramen::inline v0::testing {

FaultSchedule random_faults(std::uint64_t seed, double rate) {
  return [random = SeededRandom(seed), rate](const ProviderCall&) mutable {
    if (!random.chance(rate)) return Fault::none;
    return random.coin() ? Fault::error : Fault::lost_answer;
  };
}

FaultSchedule single_fault(std::string operation, std::uint64_t nth, Fault fault) {
  return [operation = std::move(operation), nth, fault,
          seen = std::uint64_t{0}](const ProviderCall& call) mutable {
    return call.operation == operation && ++seen == nth ? fault : Fault::none;
  };
}

struct FaultyProvider::Impl {
  Impl(std::shared_ptr<Provider> i, FaultSchedule s) : inner(std::move(i)), schedule(std::move(s)) {}

  template <class Call>
  std::invoke_result_t<Call, Provider&> run(std::string_view operation, bool changes, Call call) {
    Fault fault = Fault::none;
    {
      std::lock_guard lock(mutex);
      fault = schedule(ProviderCall{operation, ++calls, changes});
      if (fault != Fault::none) ++faults;
    }
    const char* what = "an injected fault: the store was not reached";
    if (fault != Fault::error) {
      auto answer = call(*inner);
      if (fault == Fault::none) return answer;
      what = "an injected fault: the answer was lost";
    }
    return Error{ErrorCode::unavailable, std::string(operation), what, true};
  }

  const std::shared_ptr<Provider> inner;
  mutable std::mutex mutex;
  FaultSchedule schedule;    // guarded by mutex
  std::uint64_t calls = 0;   // guarded by mutex
  std::uint64_t faults = 0;  // guarded by mutex
};

FaultyProvider::FaultyProvider(std::shared_ptr<Provider> inner, FaultSchedule schedule)
    : impl_(std::make_unique<Impl>(std::move(inner), std::move(schedule))) {}
FaultyProvider::~FaultyProvider() = default;

std::uint64_t FaultyProvider::faults() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->faults;
}

std::string_view FaultyProvider::name() const noexcept { return impl_->inner->name(); }
const Clock& FaultyProvider::clock() const noexcept { return impl_->inner->clock(); }

Result<std::vector<StartOutcome>> FaultyProvider::start_instances(std::span<const StartRequest> requests) {
  return impl_->run("start_instances", true,
                    [&](Provider& inner) { return inner.start_instances(requests); });
}

Result<std::vector<EnqueueOutcome>> FaultyProvider::enqueue_for_orchestrator(
    std::span<const OutboundMessage> messages) {
  return impl_->run("enqueue_for_orchestrator", true,
                    [&](Provider& inner) { return inner.enqueue_for_orchestrator(messages); });
}

Result<OrchestrationBatch> FaultyProvider::fetch_orchestration_items(const OrchestrationFetch& request) {
  return impl_->run("fetch_orchestration_items", true,
                    [&](Provider& inner) { return inner.fetch_orchestration_items(request); });
}

Result<std::vector<Event>> FaultyProvider::read_history(const InstanceId& instance, ExecutionId execution,
                                                        EventId after) {
  return impl_->run("read_history", false,
                    [&](Provider& inner) { return inner.read_history(instance, execution, after); });
}

Result<std::vector<CommitResult>> FaultyProvider::ack_orchestration_items(
    std::span<const TurnCommit> commits) {
  return impl_->run("ack_orchestration_items", true,
                    [&](Provider& inner) { return inner.ack_orchestration_items(commits); });
}

Result<void> FaultyProvider::abandon_orchestration_items(std::span<const TurnAbandon> items) {
  return impl_->run("abandon_orchestration_items", true,
                    [&](Provider& inner) { return inner.abandon_orchestration_items(items); });
}

Result<std::vector<bool>> FaultyProvider::renew_orchestration_item_locks(std::span<const TurnLease> leases,
                                                                         Duration extend) {
  return impl_->run("renew_orchestration_item_locks", true,
                    [&](Provider& inner) { return inner.renew_orchestration_item_locks(leases, extend); });
}

Result<WorkBatch> FaultyProvider::fetch_work_items(const WorkFetch& request) {
  return impl_->run("fetch_work_items", true,
                    [&](Provider& inner) { return inner.fetch_work_items(request); });
}

Result<std::vector<AckResult>> FaultyProvider::ack_work_items(std::span<const WorkAck> acks) {
  return impl_->run("ack_work_items", true, [&](Provider& inner) { return inner.ack_work_items(acks); });
}

Result<std::vector<RenewResult>> FaultyProvider::renew_work_item_locks(std::span<const WorkLease> leases,
                                                                       Duration extend) {
  return impl_->run("renew_work_item_locks", true,
                    [&](Provider& inner) { return inner.renew_work_item_locks(leases, extend); });
}

Result<void> FaultyProvider::abandon_work_items(std::span<const WorkAbandon> items) {
  return impl_->run("abandon_work_items", true,
                    [&](Provider& inner) { return inner.abandon_work_items(items); });
}

Result<std::vector<StolenLease>> FaultyProvider::read_stolen_leases(const NodeId& node) {
  return impl_->run("read_stolen_leases", true,
                    [&](Provider& inner) { return inner.read_stolen_leases(node); });
}

Result<std::optional<InstanceInfo>> FaultyProvider::get_instance(const InstanceId& instance) {
  return impl_->run("get_instance", false, [&](Provider& inner) { return inner.get_instance(instance); });
}

Result<KeyValues> FaultyProvider::get_key_values(const InstanceId& instance) {
  return impl_->run("get_key_values", false, [&](Provider& inner) { return inner.get_key_values(instance); });
}

std::unique_ptr<Subscription> FaultyProvider::subscribe(NodeId node, ProviderListener& listener) {
  return impl_->inner->subscribe(std::move(node), listener);
}

}  // namespace duramen::inline v0::testing
