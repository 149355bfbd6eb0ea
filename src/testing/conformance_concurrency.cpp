// Many threads at once. What must hold does not depend on how they interleave.
#include "testing/conformance_driver.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

constexpr int threads = 6;

template <class Body>
void in_parallel(Body body) {
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) running.emplace_back([&body, i] { body(i); });
  for (auto& thread : running) thread.join();
}

void test_multi_threaded_no_duplicate_processing(Driver& d) {
  constexpr int instances = 60;
  for (int i = 0; i < instances; ++i) d.start("i" + std::to_string(i));
  std::mutex mutex;
  std::map<InstanceId, int> fetched;
  std::atomic<int> failures{0};
  in_parallel([&](int i) {
    OrchestrationFetch request{.node = "node-" + std::to_string(i), .limit = 3, .lease = 1h};
    for (;;) {
      const auto batch = d.store.fetch_orchestration_items(request);
      if (!batch) {
        if (!batch.error().retryable) {
          ++failures;
          return;
        }
        continue;
      }
      if (batch->items.empty()) return;
      std::lock_guard lock(mutex);
      for (const auto& item : batch->items) ++fetched[item.instance];
    }
  });
  d.check.equal(failures.load(), 0, "failed fetches");
  d.check.equal(fetched.size(), static_cast<std::size_t>(instances), "instances handed out");
  for (const auto& [id, count] : fetched) d.check.equal(count, 1, "times " + id.value + " was handed out");
}

void test_concurrent_ack_prevention(Driver& d) {
  d.running("a");
  const OrchestrationItem item = d.woken("a");
  std::vector<TurnCommit> commits;
  for (int i = 0; i < threads; ++i) {
    commits.push_back(d.turn(item));
    commits.back().events = {raised(2, std::to_string(i))};
  }
  std::atomic<int> committed{0};
  std::atomic<int> lost{0};
  in_parallel([&](int i) {
    for (;;) {
      const auto result = d.store.ack_orchestration_items({&commits[static_cast<std::size_t>(i)], 1});
      if (!result && result.error().retryable) continue;
      if (result && (*result)[0].outcome == CommitOutcome::committed) ++committed;
      if (result && (*result)[0].outcome == CommitOutcome::lease_lost) ++lost;
      return;
    }
  });
  d.check.equal(committed.load(), 1, "commits that went through");
  d.check.equal(lost.load(), threads - 1, "commits that lost");
  d.check.equal(d.history("a").size(), 2u, "events");
}

void a_completion_and_a_cancellation_race_fairly(Driver& d) {
  for (int round = 0; round < 20; ++round) {
    const InstanceId id = "a" + std::to_string(round);
    d.running(id, 1);
    const auto held = d.fetch_work_as(d.other);
    if (held.size() != 1) d.stop("an activity to hold");
    TurnCommit cancel = d.turn(d.woken(id));
    cancel.cancelled_activities = {{EventId{2}, CancelReason::select_loser}};
    const WorkAck ack = Driver::completion(held[0]);
    std::optional<AckOutcome> acked;
    std::optional<CommitResult> cancelled;
    std::thread worker([&] {
      for (;;) {
        const auto result = d.store.ack_work_items({&ack, 1});
        if (!result && result.error().retryable) continue;
        if (result) acked = (*result)[0].outcome;
        return;
      }
    });
    for (;;) {
      const auto result = d.store.ack_orchestration_items({&cancel, 1});
      if (!result && result.error().retryable) continue;
      if (result) cancelled = (*result)[0];
      break;
    }
    worker.join();
    if (!acked || !cancelled) d.stop("both calls are answered");
    d.check.equal(cancelled->outcome, CommitOutcome::committed, "the turn");
    const auto items = d.fetch();
    if (*acked == AckOutcome::done) {
      d.check.that(cancelled->stolen.empty(), "the completion was first: nothing to steal");
      d.check.equal(items.size(), 1u, "and it is delivered");
      for (const auto& item : items) d.must_commit(d.turn(item));
    } else {
      d.check.equal(*acked, AckOutcome::cancelled, "the cancellation was first: the ack says so");
      d.check.equal(cancelled->stolen.size(), 1u, "and the lease was stolen");
      d.check.equal(items.size(), 0u, "and nothing is delivered");
    }
  }
}

void messages_of_many_senders_all_arrive(Driver& d) {
  constexpr int each = 20;
  d.running("a");
  std::atomic<int> failures{0};
  in_parallel([&](int i) {
    for (int n = 0; n < each; ++n) {
      const OutboundMessage message{"a", raise(std::to_string(i), std::to_string(n))};
      for (;;) {
        const auto result = d.store.enqueue_for_orchestrator({&message, 1});
        if (!result && result.error().retryable) continue;
        if (!result || (*result)[0] != EnqueueOutcome::enqueued) ++failures;
        break;
      }
    }
  });
  d.check.equal(failures.load(), 0, "failed sends");
  const OrchestrationItem item = d.fetch_one();
  d.check.equal(item.messages.size(), static_cast<std::size_t>(threads * each), "messages");
  std::map<std::string, int> next;
  for (const auto& message : item.messages) {
    const auto& event = std::get<work::ExternalRaised>(message.item);
    d.check.equal(event.data.data, std::to_string(next[event.name]++),
                  "one sender's messages keep their order");
  }
}

constexpr ConformanceCase cases[] = {
    {"test_multi_threaded_no_duplicate_processing", "No instance is handed out twice.",
     told<test_multi_threaded_no_duplicate_processing>},
    {"test_concurrent_ack_prevention", "One lease, one commit.", told<test_concurrent_ack_prevention>},
    {"a_completion_and_a_cancellation_race_fairly", "Either the completion or the cancellation wins, whole.",
     told<a_completion_and_a_cancellation_race_fairly>},
    {"messages_of_many_senders_all_arrive", "No message is lost or overtaken by its own sender's.",
     told<messages_of_many_senders_all_arrive>},
};

}  // namespace

std::span<const ConformanceCase> concurrency_cases() { return cases; }

}  // namespace duramen::inline v0::testing
