// Wrong about sessions and tags.
#include "mutants/mutant.hpp"

#include <map>
#include <string>

namespace duramen::testing {
namespace {

class LiveSessionsAreTaken final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    tables([](MemoryTables& t) { t.sessions.clear(); });
    return ForwardingProvider::fetch_activities(request);
  }
};

class ASessionNeverEnds final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    tables([&](MemoryTables& t) {
      for (auto& [id, session] : t.sessions) session.lease_until = far_away();
    });
    return ForwardingProvider::fetch_activities(request);
  }
};

class ASessionIsClaimedWithTheEndOfItsActivity final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    std::map<std::string, Session> before;
    tables([&](MemoryTables& t) { before = t.sessions; });
    auto batch = ForwardingProvider::fetch_activities(request);
    tables([&](MemoryTables& t) { t.sessions = before; });
    return batch;
  }
};

class AnAckDoesNotUseItsSession final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override {
    std::map<std::string, Session> before;
    tables([&](MemoryTables& t) { before = t.sessions; });
    auto results = ForwardingProvider::ack_activities(acks);
    tables([&](MemoryTables& t) { t.sessions = before; });
    return results;
  }
};

class ARenewalDoesNotUseItsSession final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                    Duration extend) override {
    std::map<std::string, Session> before;
    tables([&](MemoryTables& t) { before = t.sessions; });
    auto results = ForwardingProvider::renew_activities(leases, extend);
    tables([&](MemoryTables& t) { t.sessions = before; });
    return results;
  }
};

class AnEndedSessionIsRenewed final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::size_t> renew_sessions(std::span<const std::string> owners, Duration extend,
                                     Duration idle) override {
    tables([&](MemoryTables& t) {
      for (auto& [id, session] : t.sessions) session.lease_until = far_away();
    });
    return ForwardingProvider::renew_sessions(owners, extend, idle);
  }
};

class IdleSessionsAreRenewed final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::size_t> renew_sessions(std::span<const std::string> owners, Duration extend,
                                     Duration) override {
    return ForwardingProvider::renew_sessions(owners, extend, Duration::max());
  }
};

class TheNumberOfSessionsIsNotLimited final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    ActivityFetch changed = request;
    if (changed.sessions) changed.sessions->max_active = 1000;
    return ForwardingProvider::fetch_activities(changed);
  }
};

class ActiveSessionsAreNotCounted final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    ActivityFetch changed = request;
    if (changed.sessions) changed.sessions->active.clear();
    return ForwardingProvider::fetch_activities(changed);
  }
};

class SessionsAreNotReleased final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::size_t> release_sessions(const std::string& owner) override {
    std::map<std::string, Session> before;
    tables([&](MemoryTables& t) { before = t.sessions; });
    auto released = ForwardingProvider::release_sessions(owner);
    tables([&](MemoryTables& t) { t.sessions = before; });
    return released;
  }
};

class ASweepRemovesSessionsWithActivities final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<SweepResult> sweep(std::size_t limit) override {
    auto result = ForwardingProvider::sweep(limit);
    tables([&](MemoryTables& t) {
      result->sessions_removed += std::erase_if(
          t.sessions, [&](const auto& entry) { return entry.second.lease_until <= lease_now(); });
    });
    return result;
  }
};

class AnyWorkerFetchesSessionActivities final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    ActivityFetch changed = request;
    if (!changed.sessions) changed.sessions = SessionClaim{"anybody", request.lease};
    return ForwardingProvider::fetch_activities(changed);
  }
};

class TagsAreIgnored final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    ActivityFetch changed = request;
    changed.tags = TagFilter::any();
    return ForwardingProvider::fetch_activities(changed);
  }
};

class ATagDoesNotExcludeTheUntagged final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    ActivityFetch changed = request;
    changed.tags.untagged = true;
    return ForwardingProvider::fetch_activities(changed);
  }
};

class AnEmptySessionIsNone final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                 const std::stop_token& preempt) override {
    auto changed = copy_of(commits);
    for (TurnCommit& commit : changed) {
      for (NewActivity& activity : commit.new_activities) {
        if (activity.request.session_id == "") activity.request.session_id.reset();
      }
    }
    return ForwardingProvider::commit_turns(changed, preempt);
  }
};

constexpr Mutant mutants[] = {
    {"an_empty_session_is_none", "An empty session id counts as no session.",
     "an_empty_session_id_is_refused", make_mutant<AnEmptySessionIsNone>},
    {"live_sessions_are_taken", "A session belongs to the last worker that fetched.",
     "another_worker_cannot_fetch_from_a_live_session", make_mutant<LiveSessionsAreTaken>},
    {"a_session_never_ends", "Sessions of a dead owner cannot be claimed.", "an_ended_session_can_be_claimed",
     make_mutant<ASessionNeverEnds>},
    {"a_session_is_claimed_with_the_end_of_its_activity",
     "Two workers run activities of one session at the same time.",
     "a_fetch_claims_the_session_before_its_activity_ends",
     make_mutant<ASessionIsClaimedWithTheEndOfItsActivity>},
    {"an_ack_does_not_use_its_session", "Only a fetch counts as use of a session.",
     "an_ack_counts_as_use_of_the_session", make_mutant<AnAckDoesNotUseItsSession>},
    {"a_renewal_does_not_use_its_session", "A session with one long activity counts as idle.",
     "an_activity_renewal_counts_as_use_of_the_session", make_mutant<ARenewalDoesNotUseItsSession>},
    {"an_ended_session_is_renewed", "An ended session can be renewed.", "a_renewal_never_revives_a_session",
     make_mutant<AnEndedSessionIsRenewed>},
    {"idle_sessions_are_renewed", "An idle session never ends.", "a_renewal_skips_idle_sessions",
     make_mutant<IdleSessionsAreRenewed>},
    {"the_number_of_sessions_is_not_limited", "A worker may claim every session.",
     "a_fetch_claims_at_most_max_active_sessions", make_mutant<TheNumberOfSessionsIsNotLimited>},
    {"active_sessions_are_not_counted", "Only new sessions count against the limit.",
     "a_fetch_claims_at_most_max_active_sessions", make_mutant<ActiveSessionsAreNotCounted>},
    {"sessions_are_not_released", "Released sessions stay with their owner until they end.",
     "release_sessions_frees_all_sessions_of_the_owner", make_mutant<SessionsAreNotReleased>},
    {"a_sweep_removes_sessions_with_activities", "A session with waiting activities is removed.",
     "a_sweep_keeps_sessions_with_activities", make_mutant<ASweepRemovesSessionsWithActivities>},
    {"any_worker_fetches_session_activities", "A worker without sessions fetches activities of a session.",
     "a_worker_without_sessions_skips_session_activities", make_mutant<AnyWorkerFetchesSessionActivities>},
    {"tags_are_ignored", "A worker fetches activities of any tag.",
     "a_default_worker_fetches_only_untagged_activities", make_mutant<TagsAreIgnored>},
    {"a_tag_does_not_exclude_the_untagged", "A worker of one tag also fetches untagged activities.",
     "a_worker_of_one_tag_fetches_only_that_tag", make_mutant<ATagDoesNotExcludeTheUntagged>},
};

}  // namespace

std::span<const Mutant> session_mutants() { return mutants; }

}  // namespace duramen::testing
