// Many threads at once. The checks do not depend on how the threads interleave.
#include "testing/conformance/driver.hpp"

#include <atomic>
#include <map>
#include <mutex>
#include <thread>

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

constexpr int thread_count = 6;

template <class Body>
void in_parallel(Body body) {
  std::vector<std::thread> running;
  for (int i = 0; i < thread_count; ++i) running.emplace_back([&body, i] { body(i); });
  for (auto& thread : running) thread.join();
}

void no_instance_is_fetched_twice_among_threads(Driver& d) {
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
  d.check.equal(fetched.size(), static_cast<std::size_t>(instances), "instances fetched");
  for (const auto& [id, count] : fetched) d.check.equal(count, 1, "times " + id.value + " was fetched");
}

/// Every thread fetches with limit 1, `rounds` times. Returns how often each instance was fetched.
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

void threads_share_the_instances_without_overlap(Driver& d) {
  for (int i = 0; i < 10; ++i) d.start("i" + std::to_string(i));
  const auto fetched = fetch_in_parallel(d, 10);
  d.check.equal(fetched.size(), 10u, "instances fetched");
  for (const auto& [id, count] : fetched) d.check.equal(count, 1, "times " + id.value + " was fetched");
}

void one_thread_gets_a_contended_instance(Driver& d) {
  d.start("a");
  const auto fetched = fetch_in_parallel(d, 3);
  d.check.that(fetched == std::map<InstanceId, int>{{"a", 1}}, "one thread fetches it, once");
  d.expect_nothing_to_do();
}

void no_thread_gets_an_instance_before_its_lease_ends(Driver& d) {
  d.running("a");
  (void)d.woken("a");
  d.advance(d.lease - 1ms);
  d.check.that(fetch_in_parallel(d, 3).empty(), "no thread, while the lease lasts");
  d.advance(1ms);
  d.check.that(fetch_in_parallel(d, 3) == std::map<InstanceId, int>{{"a", 1}}, "one thread, after its end");
}

void one_thread_takes_over_an_expired_lease(Driver& d) {
  d.start("a");
  const LeasedInstance lost = d.fetch_one();
  d.advance(d.lease / 2);
  d.check.that(fetch_in_parallel(d, 1).empty(), "no thread, while the lease lasts");
  d.advance(d.lease / 2);
  d.check.that(fetch_in_parallel(d, 1) == std::map<InstanceId, int>{{"a", 1}}, "one thread takes over");
  d.check.that(!d.renew(lost), "the lost holder cannot renew");
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
  d.check.equal(taken.size(), 1u, "owners that fetched an activity");
}

void one_lease_allows_one_commit_among_threads(Driver& d) {
  d.running("a");
  const LeasedInstance item = d.woken("a");
  std::vector<TurnCommit> commits;
  for (int i = 0; i < thread_count; ++i) {
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
  d.check.equal(lost.load(), thread_count - 1, "commits that lost");
  d.check.equal(d.history("a").size(), 2u, "events");
}

void either_the_completion_or_the_cancellation_wins_completely(Driver& d) {
  for (int round = 0; round < 20; ++round) {
    const InstanceId id = "a" + std::to_string(round);
    d.running(id, 1);
    const auto held = d.fetch_activities_as(d.other);
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
      d.check.equal(*acked, AckOutcome::cancelled, "the cancellation was first: the ack returns it");
      d.check.equal(cancelled->stolen.size(), 1u, "and the lease was stolen");
      d.check.equal(items.size(), 0u, "and nothing is delivered");
    }
  }
}

void messages_of_many_threads_all_arrive_in_sender_order(Driver& d) {
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
  d.check.equal(item.messages.size(), static_cast<std::size_t>(thread_count * each), "messages");
  std::map<std::string, int> next;
  for (const auto& message : item.messages) {
    const auto& event = std::get<message::ExternalRaised>(message.body);
    d.check.equal(event.data.data, std::to_string(next[event.name]++),
                  "one sender's messages keep their order");
  }
}

void messages_that_are_sent_during_turns_are_taken_once_and_in_order(Driver& d) {
  constexpr int each = 40;
  d.running("a");
  std::atomic<int> sending{thread_count};
  std::atomic<int> failures{0};
  std::thread senders([&] {
    in_parallel([&](int i) {
      for (int n = 0; n < each; ++n) {
        const OutboundMessage message{"a", raise(std::to_string(i), std::to_string(n))};
        auto result = d.store.enqueue_messages({&message, 1});
        while (!result && result.error().retryable) result = d.store.enqueue_messages({&message, 1});
        if (!result || (*result)[0] != EnqueueOutcome::enqueued) ++failures;
      }
      --sending;
    });
  });
  const TurnFetch request{.node = d.node, .lease = d.lease, .max_messages = 7};
  std::map<std::string, int> next;
  int taken = 0;
  bool waited = false;  // a fetch after the last message returned nothing
  while (taken < thread_count * each && !waited) {
    const bool all_sent = sending == 0;
    const auto batch = d.store.fetch_turns(request);
    if (!batch && !batch.error().retryable) break;
    if (!batch) continue;
    waited = all_sent && batch->items.empty();
    for (const LeasedInstance& item : batch->items) {
      for (const InboxMessage& message : item.messages) {
        const auto& event = std::get<message::ExternalRaised>(message.body);
        d.check.equal(event.data.data, std::to_string(next[event.name]++), "message of a sender");
        ++taken;
      }
      const TurnCommit commit = d.turn(item);
      auto result = d.store.commit_turns({&commit, 1});
      while (!result && result.error().retryable) result = d.store.commit_turns({&commit, 1});
      d.check.that(result && (*result)[0].outcome == CommitOutcome::committed, "a turn is stored");
    }
  }
  senders.join();
  d.check.equal(failures.load(), 0, "failed sends");
  d.check.equal(taken, thread_count * each, "messages taken");
  d.expect_nothing_to_do();
}

void one_of_many_equal_cancels_counts(Driver& d) {
  for (int round = 0; round < 10; ++round) {
    const InstanceId id = "a" + std::to_string(round);
    d.running(id);
    std::atomic<int> stored{0};
    std::atomic<int> repeated{0};
    in_parallel([&](int) {
      const OutboundMessage message{id, message::CancelInstance{.reason = "why"}};
      auto result = d.store.enqueue_messages({&message, 1});
      while (!result && result.error().retryable) result = d.store.enqueue_messages({&message, 1});
      if (result && (*result)[0] == EnqueueOutcome::enqueued) ++stored;
      if (result && (*result)[0] == EnqueueOutcome::duplicate) ++repeated;
    });
    d.check.equal(stored.load(), 1, "cancels that counted");
    d.check.equal(repeated.load(), thread_count - 1, "cancels that were repeats");
    d.must_commit(d.turn(d.fetch_one()));
  }
}

}  // namespace

std::span<const ConformanceCase> concurrency_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(no_instance_is_fetched_twice_among_threads,
                   .reference = "test_multi_threaded_no_duplicate_processing"),
      DURAMEN_CASE(threads_share_the_instances_without_overlap,
                   .reference = "test_concurrent_instance_fetching",
                   .difference = "threads without delays between them"),
      DURAMEN_CASE(one_thread_gets_a_contended_instance, .reference = "test_multi_threaded_lock_contention",
                   .difference = "threads without delays between them"),
      DURAMEN_CASE(no_thread_gets_an_instance_before_its_lease_ends,
                   .reference = "test_concurrent_lock_attempts_respect_expiration",
                   .difference = "the clock is advanced instead of waiting"),
      DURAMEN_CASE(one_thread_takes_over_an_expired_lease,
                   .reference = "test_multi_threaded_lock_expiration_recovery",
                   .difference = "the clock is advanced instead of waiting"),
      DURAMEN_CASE(one_session_has_one_owner_among_threads),
      DURAMEN_CASE(one_lease_allows_one_commit_among_threads, .reference = "test_concurrent_ack_prevention"),
      DURAMEN_CASE(either_the_completion_or_the_cancellation_wins_completely),
      DURAMEN_CASE(messages_of_many_threads_all_arrive_in_sender_order),
      DURAMEN_CASE(messages_that_are_sent_during_turns_are_taken_once_and_in_order),
      DURAMEN_CASE(one_of_many_equal_cancels_counts),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
