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

class ASessionIsClaimedWithTheEndOfItsWork final : public WrongProvider {
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

class TheEndOfWorkDoesNotUseItsSession final : public WrongProvider {
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

class SessionsInHandAreNotCounted final : public WrongProvider {
 public:
  using WrongProvider::WrongProvider;
  Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override {
    ActivityFetch changed = request;
    if (changed.sessions) changed.sessions->active.clear();
    return ForwardingProvider::fetch_activities(changed);
  }
};

class SessionsAreReleasedInWordOnly final : public WrongProvider {
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

class ASweepRemovesSessionsWithWork final : public WrongProvider {
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

class AnyWorkerGetsSessionWork final : public WrongProvider {
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

constexpr Mutant mutants[] = {
    {"live_sessions_are_taken", "A session belongs to who fetched last.",
     "test_session_affinity_blocks_other_worker", make_mutant<LiveSessionsAreTaken>},
    {"a_session_never_ends", "Nobody takes over the sessions of an owner that is gone.",
     "test_session_claimable_after_lock_expiry", make_mutant<ASessionNeverEnds>},
    {"a_session_is_claimed_with_the_end_of_its_work", "Two workers run activities of one session at once.",
     "test_concurrent_session_claim_only_one_wins", make_mutant<ASessionIsClaimedWithTheEndOfItsWork>},
    {"the_end_of_work_does_not_use_its_session", "Only a fetch keeps a session in use.",
     "test_ack_updates_session_last_activity", make_mutant<TheEndOfWorkDoesNotUseItsSession>},
    {"a_renewal_does_not_use_its_session", "A session with one long activity counts as idle.",
     "test_renew_work_item_updates_session_last_activity", make_mutant<ARenewalDoesNotUseItsSession>},
    {"an_ended_session_is_renewed", "A session comes back to life.",
     "test_renew_session_lock_after_expiry_returns_zero", make_mutant<AnEndedSessionIsRenewed>},
    {"idle_sessions_are_renewed", "A session that nobody uses is kept for ever.",
     "test_renew_session_lock_skips_idle", make_mutant<IdleSessionsAreRenewed>},
    {"the_number_of_sessions_is_not_limited", "A worker gets as many sessions as there are.",
     "a_fetch_opens_no_more_sessions_than_allowed", make_mutant<TheNumberOfSessionsIsNotLimited>},
    {"sessions_in_hand_are_not_counted", "Only new sessions count against the limit.",
     "a_fetch_opens_no_more_sessions_than_allowed", make_mutant<SessionsInHandAreNotCounted>},
    {"sessions_are_released_in_word_only", "A worker that goes keeps its sessions until they end.",
     "release_sessions_frees_them_at_once", make_mutant<SessionsAreReleasedInWordOnly>},
    {"a_sweep_removes_sessions_with_work", "A session is removed although activities of it wait.",
     "test_cleanup_keeps_sessions_with_pending_items", make_mutant<ASweepRemovesSessionsWithWork>},
    {"any_worker_gets_session_work", "A worker without sessions is handed activities of one.",
     "test_none_session_skips_session_items", make_mutant<AnyWorkerGetsSessionWork>},
    {"tags_are_ignored", "A worker is handed activities of any tag.", "test_default_only_fetches_untagged",
     make_mutant<TagsAreIgnored>},
    {"a_tag_does_not_exclude_the_untagged", "A worker of a tag also takes what has none.",
     "test_tags_fetches_only_matching", make_mutant<ATagDoesNotExcludeTheUntagged>},
};

}  // namespace

std::span<const Mutant> session_mutants() { return mutants; }

}  // namespace duramen::testing
