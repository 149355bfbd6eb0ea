// The Provider interface on one PostgreSQL schema. Each method is one transaction, and one round trip where
// possible; it notifies the listeners after the transaction.
#pragma once

#include "providers/common/listeners.hpp"
#include "providers/common/notices.hpp"
#include "providers/common/own_stolen_leases.hpp"
#include "providers/postgres/announcer.hpp"
#include "providers/postgres/empty_fetch_cache.hpp"
#include "providers/postgres/floors.hpp"
#include "providers/postgres/pool.hpp"
#include "providers/postgres/queries.hpp"
#include "providers/postgres/server_clock.hpp"
#include "providers/postgres/transaction_time.hpp"
#include <duramen/postgres.hpp>
#include <duramen/provider.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace duramen::inline v0::postgres::detail {

class PostgresProvider final : public Provider {
 public:
  /// Throws SqlError, ConnectionError, StoreError.
  explicit PostgresProvider(const Options& options);

  [[nodiscard]] Counters counters() const noexcept;
  [[nodiscard]] Result<SchemaVersion> schema_version();

  [[nodiscard]] std::string_view name() const noexcept override { return "postgres"; }
  [[nodiscard]] std::string_view store_id() const noexcept override { return store_id_; }
  [[nodiscard]] const Clock& clock() const noexcept override {
    return options_.clock != nullptr ? *options_.clock : server_clock_;
  }

  [[nodiscard]] Result<std::vector<StartOutcome>> start_instances(
      std::span<const StartRequest> requests) override;
  [[nodiscard]] Result<std::vector<EnqueueOutcome>> enqueue_messages(
      std::span<const OutboundMessage> messages) override;

  [[nodiscard]] Result<TurnBatch> fetch_turns(const TurnFetch& request) override;
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution,
                                                        EventId after) override;
  [[nodiscard]] std::vector<Result<std::vector<Event>>> read_histories(
      std::span<const HistoryRequest> requests) override;
  [[nodiscard]] Result<std::vector<CommitResult>> commit_turns(std::span<const TurnCommit> commits,
                                                               const std::stop_token& preempt) override;
  [[nodiscard]] Result<void> release_turns(std::span<const TurnRelease> items) override;
  [[nodiscard]] Result<std::vector<bool>> renew_turns(std::span<const TurnLease> leases,
                                                      Duration extend) override;

  [[nodiscard]] Result<ActivityBatch> fetch_activities(const ActivityFetch& request) override;
  [[nodiscard]] Result<std::vector<AckResult>> ack_activities(std::span<const ActivityAck> acks) override;
  [[nodiscard]] Result<std::vector<RenewResult>> renew_activities(std::span<const ActivityRenewal> leases,
                                                                  Duration extend) override;
  [[nodiscard]] Result<void> release_activities(std::span<const ActivityRelease> items) override;
  [[nodiscard]] Result<std::vector<StolenLease>> read_stolen_leases(const NodeId& node) override;

  [[nodiscard]] Result<std::size_t> renew_sessions(std::span<const std::string> owners, Duration extend,
                                                   Duration idle_timeout) override;
  [[nodiscard]] Result<std::size_t> release_sessions(const std::string& owner) override;
  [[nodiscard]] Result<SweepResult> sweep(std::size_t limit) override;
  [[nodiscard]] Result<void> write_node(const NodeRecord& record) override;
  [[nodiscard]] Result<void> remove_node(const NodeId& node, const std::string& run_id) override;
  [[nodiscard]] Result<std::vector<NodeRecord>> list_nodes() override;
  [[nodiscard]] Result<std::uint32_t> get_write_level() override;
  [[nodiscard]] Result<WriteLevelRaise> raise_write_level(std::uint32_t level, Duration live_within) override;

  [[nodiscard]] Result<std::optional<InstanceInfo>> get_instance(const InstanceId& instance) override;
  [[nodiscard]] Result<KeyValues> get_key_values(const InstanceId& instance) override;

  [[nodiscard]] Result<InstancePage> list_instances(const InstanceQuery& query) override;
  [[nodiscard]] Result<std::vector<ExecutionInfo>> list_executions(const InstanceId& instance) override;
  [[nodiscard]] Result<std::vector<InstanceInfo>> get_instance_tree(const InstanceId& root) override;
  [[nodiscard]] Result<PendingWork> list_pending_work(const InstanceId& instance) override;
  [[nodiscard]] Result<std::vector<DeleteResult>> delete_instances(std::span<const InstanceId> instances,
                                                                   DeleteMode mode) override;
  [[nodiscard]] Result<std::vector<PruneResult>> prune_executions(std::span<const InstanceId> instances,
                                                                  const PruneOptions& options) override;
  [[nodiscard]] Result<StoreMetrics> get_metrics() override;
  [[nodiscard]] Result<InstanceCount> count_instances(Incarnation after, std::size_t limit) override;
  [[nodiscard]] Result<QueueDepths> get_queue_depths() override;

  [[nodiscard]] std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override;

 private:
  /// Sent once. If the connection is lost, the outcome is unknown.
  [[nodiscard]] Rows run(const Query& query, const Parameters& parameters, bool for_many = false,
                         Duration at_most = Duration::max());
  /// How long a call that grants or extends a lease may take: later its answer is of no use.
  [[nodiscard]] Duration part_of(Duration lease) const;
  /// For calls that may make work for a node. Sent again if another call overtakes it.
  [[nodiscard]] Rows write(const Query& query, const Parameters& parameters);
  /// For calls that only read: sent again on another connection if the first is lost.
  [[nodiscard]] Rows read(const Query& query, const Parameters& parameters);
  [[nodiscard]] TransactionTime transaction_time() const;
  /// The first lease token of a fetch: random, and far from the largest number.
  [[nodiscard]] std::int64_t new_token();
  void announce(const providers::Notices& notices);
  /// The newest version of the schema that this build can work with.
  [[nodiscard]] static std::int64_t known_version();
  /// Throws if the schema was migrated to a version that this build does not know.
  void require_known_version(std::int64_t needed) const;
  /// An answer to a statement that was sent at `sent` contains the time of the server.
  void heard(std::int64_t server_now, LeaseTime sent) {
    if (options_.clock == nullptr)
      server_clock_.heard(server_now, sent.time_since_epoch().count(), ServerClock::here());
  }
  /// True if an empty fetch may be repeated without the server.
  [[nodiscard]] bool receives_announcements() const noexcept {
    return options_.clock == nullptr && announcer_.is_listening();
  }
  [[nodiscard]] TurnBatch query_turns(const TurnFetch& request);
  [[nodiscard]] ActivityBatch query_activities(const ActivityFetch& request);
  [[nodiscard]] std::vector<Incarnation> reserve_numbers(std::span<const TurnCommit> commits);
  /// The ids of detached starts that are already taken. Read before the commit, because the schema's function
  /// does not return them; an id that is taken in between is missing here, although its start is refused.
  [[nodiscard]] std::set<InstanceId> ids_taken_before(std::span<const TurnCommit> commits);
  /// Stores all commits by one statement; nothing, and nothing is stored, if one of them cannot be stored.
  [[nodiscard]] std::optional<std::vector<CommitResult>> commit_together(std::span<const TurnCommit> commits,
                                                                         std::span<const Incarnation> numbers,
                                                                         providers::Notices& notices);
  /// Stores each commit separately, in one transaction: for a batch with a commit that cannot be stored, or
  /// one that puts mail back.
  [[nodiscard]] std::vector<CommitResult> commit_each(std::span<const TurnCommit> commits,
                                                      std::span<const Incarnation> numbers,
                                                      providers::Notices& notices);
  /// Inserts the mail that a commit puts back, part by part, in the transaction of the commit.
  void put_back(Connection& connection, const TurnCommit& commit, Incarnation key, std::int64_t place);
  /// Adds the reason if our own commit took the lease: the server does not know such leases.
  void explain(const ActivityLease& lease, AckResult& result) const;
  void collect_notices(std::span<const TurnCommit> commits, const std::vector<CommitResult>& results,
                       providers::Notices& notices);

  const Options options_;
  const std::string schema_;  // in quotes
  const Queries queries_;
  ServerClock server_clock_;
  CallCounters counters_;
  providers::Listeners listeners_;
  providers::OwnStolenLeases own_stolen_;
  EmptyFetchCache empty_fetches_;
  Floors floors_;
  std::mutex random_mutex_;
  std::mt19937_64 random_;
  Pool pool_;
  Announcer announcer_;
  std::string store_id_;  // fixed by the constructor
};

}  // namespace duramen::inline v0::postgres::detail
