// Many threads at once. What must hold does not depend on how they interleave.
#include "testing/conformance/driver.hpp"

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
    TurnFetch request{.node = "node-" + std::to_string(i), .limit = 3, .lease = 1h};
    for (;;) {
      const auto batch = d.store.fetch_turns(request);
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

/// Every thread fetches with limit 1 until it is told that there is nothing; who got what.
std::map<InstanceId, int> fetch_in_parallel(Driver& d, int rounds) {
  std::mutex mutex;
  std::map<InstanceId, int> fetched;
  in_parallel([&](int i) {
    const TurnFetch request{.node = "node-" + std::to_string(i), .limit = 1, .lease = d.lease};
    for (int round = 0; round < rounds; ++round) {
      auto batch = d.store.fetch_turns(request);
      while (!batch && batch.error().retryable) batch = d.store.fetch_turns(request);
      std::lock_guard lock(mutex);
      if (!batch) ++fetched["a fetch that failed"];
      if (batch)
        for (const auto& item : batch->items) ++fetched[item.instance];
    }
  });
  return fetched;
}

void test_concurrent_instance_fetching(Driver& d) {
  for (int i = 0; i < 10; ++i) d.start("i" + std::to_string(i));
  const auto fetched = fetch_in_parallel(d, 10);
  d.check.equal(fetched.size(), 10u, "instances handed out");
  for (const auto& [id, count] : fetched) d.check.equal(count, 1, "times " + id.value + " was handed out");
}

void test_multi_threaded_lock_contention(Driver& d) {
  d.start("a");
  const auto fetched = fetch_in_parallel(d, 3);
  d.check.that(fetched == std::map<InstanceId, int>{{"a", 1}}, "one of them gets it, once");
  d.expect_nothing_to_do();
}

void test_concurrent_lock_attempts_respect_expiration(Driver& d) {
  d.running("a");
  (void)d.woken("a");
  d.advance(d.lease - 1ms);
  d.check.that(fetch_in_parallel(d, 3).empty(), "nobody, while the lease lasts");
  d.advance(1ms);
  d.check.that(fetch_in_parallel(d, 3) == std::map<InstanceId, int>{{"a", 1}}, "one, when it has ended");
}

void one_session_has_one_owner_among_threads(Driver& d) {
  d.running("a");
  d.schedule("a", std::vector<ActivityRequest>(20, in_session("s1")));
  std::mutex mutex;
  std::map<std::string, int> taken;
  in_parallel([&](int i) {
    const std::string owner = "owner-" + std::to_string(i);
    const ActivityFetch request{.node = owner, .limit = 1, .lease = 1h, .sessions = SessionClaim{owner, 1h}};
    for (int round = 0; round < 20; ++round) {
      auto batch = d.store.fetch_activities(request);
      while (!batch && batch.error().retryable) batch = d.store.fetch_activities(request);
      std::lock_guard lock(mutex);
      if (batch && !batch->items.empty()) ++taken[owner];
    }
  });
  d.check.equal(taken.size(), 1u, "owners that were given work");
}

void test_concurrent_ack_prevention(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  std::vector<TurnCommit> commits;
  for (int i = 0; i < threads; ++i) {
    commits.push_back(d.turn(item));
    commits.back().events = {raised(2, std::to_string(i))};
  }
  std::atomic<int> committed{0};
  std::atomic<int> lost{0};
  in_parallel([&](int i) {
    for (;;) {
      const auto result = d.store.commit_turns({&commits[static_cast<std::size_t>(i)], 1});
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
    const ActivityAck ack = Driver::completion(held[0]);
    std::optional<AckOutcome> acked;
    std::optional<CommitResult> cancelled;
    std::thread worker([&] {
      for (;;) {
        const auto result = d.store.ack_activities({&ack, 1});
        if (!result && result.error().retryable) continue;
        if (result) acked = (*result)[0].outcome;
        return;
      }
    });
    for (;;) {
      const auto result = d.store.commit_turns({&cancel, 1});
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
        const auto result = d.store.enqueue_messages({&message, 1});
        if (!result && result.error().retryable) continue;
        if (!result || (*result)[0] != EnqueueOutcome::enqueued) ++failures;
        break;
      }
    }
  });
  d.check.equal(failures.load(), 0, "failed sends");
  const LeasedInstance item = d.fetch_one();
  d.check.equal(item.messages.size(), static_cast<std::size_t>(threads * each), "messages");
  std::map<std::string, int> next;
  for (const auto& message : item.messages) {
    const auto& event = std::get<message::ExternalRaised>(message.body);
    d.check.equal(event.data.data, std::to_string(next[event.name]++),
                  "one sender's messages keep their order");
  }
}

constexpr ConformanceCase cases[] = {
    {"test_multi_threaded_no_duplicate_processing", "No instance is handed out twice.",
     told<test_multi_threaded_no_duplicate_processing>},
    {"test_concurrent_instance_fetching", "Many who fetch at once share the instances among them.",
     told<test_concurrent_instance_fetching>},
    {"test_multi_threaded_lock_contention", "Many who want one instance: one gets it.",
     told<test_multi_threaded_lock_contention>},
    {"test_concurrent_lock_attempts_respect_expiration",
     "Nobody gets it before the lease has ended, then one.",
     told<test_concurrent_lock_attempts_respect_expiration>},
    {"test_multi_threaded_lock_expiration_recovery", "What a lost holder had is taken over once.",
     told<test_concurrent_lock_attempts_respect_expiration>},
    {"one_session_has_one_owner_among_threads", "Many who want one session: one gets it.",
     told<one_session_has_one_owner_among_threads>},
    {"test_concurrent_ack_prevention", "One lease, one commit.", told<test_concurrent_ack_prevention>},
    {"a_completion_and_a_cancellation_race_fairly", "Either the completion or the cancellation wins, whole.",
     told<a_completion_and_a_cancellation_race_fairly>},
    {"messages_of_many_senders_all_arrive", "No message is lost or overtaken by its own sender's.",
     told<messages_of_many_senders_all_arrive>},
};

}  // namespace

std::span<const ConformanceCase> concurrency_cases() { return cases; }

}  // namespace duramen::inline v0::testing
