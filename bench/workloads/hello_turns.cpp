#include "bench/workloads/hello_turns.hpp"

#include "bench/recording.hpp"
#include "bench/workloads/greeting.hpp"
#include <duramen/client.hpp>
#include <duramen/runtime.hpp>
#include <duramen/testing/memory_provider.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <utility>

namespace bench {

namespace dm = duramen;

HelloTurns::HelloTurns() {
  auto recorder =
      std::make_shared<RecordingProvider>(std::make_shared<dm::testing::MemoryProvider>(dm::system_clock()));
  {
    const dm::Store store(recorder);
    const dm::Runtime runtime(store, greeting_registry());
    dm::Client client(store);
    (void)client.start("template", "Hello", "world").value();
    (void)client.wait("template", std::chrono::seconds{60}).value();
  }
  for (Call& call : recorder->take().calls) {
    auto* commit_call = std::get_if<CommitCall>(&call);
    if (commit_call == nullptr) continue;
    for (dm::TurnCommit& commit : commit_call->commits) turns_.push_back(std::move(commit));
  }
  if (turns_.size() != 2) throw std::runtime_error("a hello was expected to take two turns");
}

dm::TurnCommit HelloTurns::first(std::uint64_t number) const {
  dm::TurnCommit commit = turns_[0];
  commit.token = dm::CommitToken{2 * number + 1};
  commit.instance = name(number);
  std::get<dm::FusedStart>(commit.basis).request.instance = commit.instance;
  dm::NewActivity& item = commit.new_activities.at(0);
  item.request.instance = commit.instance;
  item.born_leased = dm::LeaseToken{number + 1};
  return commit;
}

dm::TurnCommit HelloTurns::second(std::uint64_t number, dm::Incarnation incarnation) const {
  dm::TurnCommit commit = turns_[1];
  commit.token = dm::CommitToken{2 * number + 2};
  commit.instance = name(number);
  commit.incarnation = incarnation;
  std::get<dm::ConditionalLease>(commit.basis).replay_token = first(number).token;
  commit.activity_acks.at(0) = ack(number, incarnation);
  return commit;
}

dm::ActivityAck HelloTurns::ack(std::uint64_t number, dm::Incarnation incarnation) const {
  dm::ActivityAck ack = turns_[1].activity_acks.at(0);
  ack.instance = name(number);
  ack.lease.key.incarnation = incarnation;
  ack.lease.token = dm::LeaseToken{number + 1};
  return ack;
}

std::vector<dm::CommitResult> commit_all(dm::Provider& provider, const std::vector<dm::TurnCommit>& batch) {
  auto results = provider.commit_turns(batch).value();
  for (const dm::CommitResult& result : results) {
    if (result.outcome != dm::CommitOutcome::committed) throw std::runtime_error("a turn was not stored");
  }
  return results;
}

}  // namespace bench
