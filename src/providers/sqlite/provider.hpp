// The Provider interface on one SQLite file. Each method is one transaction; it notifies the listeners after
// it has released its locks.
#pragma once

#include "providers/common/listeners.hpp"
#include "providers/common/notices.hpp"
#include "providers/sqlite/cancel_descent.hpp"
#include "providers/sqlite/delivery.hpp"
#include "providers/sqlite/instance_list.hpp"
#include "providers/sqlite/instance_removal.hpp"
#include "providers/sqlite/instances.hpp"
#include "providers/sqlite/key_value_table.hpp"
#include "providers/sqlite/node_table.hpp"
#include "providers/sqlite/number_allocator.hpp"
#include "providers/sqlite/orchestrator_queue.hpp"
#include "providers/sqlite/overdue_work.hpp"
#include "providers/sqlite/parked_messages.hpp"
#include "providers/sqlite/pending_list.hpp"
#include "providers/sqlite/sessions.hpp"
#include "providers/sqlite/stolen_leases.hpp"
#include "providers/sqlite/store_counts.hpp"
#include "providers/sqlite/turn_fetcher.hpp"
#include "providers/sqlite/turn_writer.hpp"
#include "providers/sqlite/worker_queue.hpp"
#include "providers/sqlite/writer.hpp"
#include <duramen/provider.hpp>
#include <duramen/sqlite.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <random>

namespace duramen::inline v0::sqlite::detail {

class SqliteProvider final : public Provider {
 public:
  /// Throws SqlError, StoreError.
  explicit SqliteProvider(const Options& options);
  ~SqliteProvider() override;

  [[nodiscard]] Counters counters() const noexcept;
  [[nodiscard]] Result<SchemaVersion> schema_version();

  [[nodiscard]] std::string_view name() const noexcept override { return "sqlite"; }
  [[nodiscard]] std::string_view store_id() const noexcept override { return store_id_; }
  [[nodiscard]] const Clock& clock() const noexcept override { return writer_.clock(); }

  [[nodiscard]] Result<std::vector<StartOutcome>> start_instances(
      std::span<const StartRequest> requests) override;
  [[nodiscard]] Result<std::vector<EnqueueOutcome>> enqueue_messages(
      std::span<const OutboundMessage> messages) override;

  [[nodiscard]] Result<TurnBatch> fetch_turns(const TurnFetch& request) override;
  [[nodiscard]] std::vector<Result<std::vector<Event>>> read_histories(
      std::span<const HistoryRequest> requests) override;
  [[nodiscard]] Result<std::vector<Event>> read_history(const InstanceId& instance, ExecutionId execution,
                                                        EventId after) override;
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
  [[nodiscard]] Result<void> remove_node(const NodeId& node, const std::string& run) override;
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
  [[nodiscard]] bool wants_maintenance() const noexcept override { return writer_.wants_maintenance(); }
  [[nodiscard]] bool is_contended() const noexcept override { return writer_.is_contended(); }
  void maintain(const std::stop_token& preempt) noexcept override { writer_.maintain(preempt); }
  [[nodiscard]] Result<StoreMetrics> get_metrics() override;
  [[nodiscard]] Result<InstanceCount> count_instances(Incarnation after, std::size_t limit) override;
  [[nodiscard]] Result<QueueDepths> get_queue_depths() override;

  [[nodiscard]] std::unique_ptr<Subscription> subscribe(NodeId node, ProviderListener& listener) override;

 private:
  // Everything that runs on the writing connection, guarded by the writer.
  struct Tables {
    explicit Tables(Writer& writer);

    Connection& connection;
    Instances instances;
    OrchestratorQueue queue;
    ParkedMessages parked;
    StolenLeases stolen_leases;
    Sessions sessions;
    WorkerQueue workers;
    KeyValueTable key_values;
    Delivery delivery;
    CancelDescent descent;
    TurnWriter turns;
    TurnFetcher fetcher;
    OverdueWork overdue;
    InstanceRemoval removal;
    NodeTable nodes;
    std::mt19937_64 random;
    std::function<LeaseToken()> new_token;
  };

  // The statements that read, for replay and for clients.
  struct Views {
    explicit Views(Connection& connection) : instances(connection), list(connection), pending(connection) {}

    InstanceReader instances;
    InstanceList list;
    PendingList pending;
  };

  // A connection of its own for reads, so that a reader does not wait for a commit.
  struct Reader {
    explicit Reader(const std::string& path)
        : connection(path, Connection::Mode::read_only),
          views(connection),
          begin(connection, "BEGIN"),
          end(connection, "COMMIT") {}

    std::mutex mutex;
    Connection connection;
    Views views;
    Statement begin;
    Statement end;
  };

  // A connection of its own for counts, which take long: neither writer nor reader waits for them. Opened
  // when first needed; in memory it is the writer's connection.
  struct Counting {
    std::mutex mutex;
    std::unique_ptr<Connection> connection;
    std::unique_ptr<StoreCounts> counts;
  };

  /// All reads during its lifetime see one state of the file.
  class ReadTransaction {
   public:
    explicit ReadTransaction(Reader& reader) : reader_(reader) { reader_.begin.execute(); }
    ~ReadTransaction() {
      try {
        reader_.end.execute();
      } catch (const std::exception&) {
        // The transaction has only read.
      }
    }
    ReadTransaction(const ReadTransaction&) = delete;
    ReadTransaction& operator=(const ReadTransaction&) = delete;

   private:
    Reader& reader_;
  };

  template <class Read>
  auto read(Read&& body) {
    if (!reader_) return writer_.read([&](const TransactionTime&) { return body(*in_turn_); });
    const std::lock_guard guard{reader_->mutex};
    return body(reader_->views);
  }
  /// For many statements.
  template <class Read>
  auto read_together(Read&& body) {
    if (!reader_) return read(std::forward<Read>(body));
    const std::lock_guard guard{reader_->mutex};
    const ReadTransaction transaction{*reader_};
    return body(reader_->views);
  }
  template <class Count>
  auto count(Count&& body) {
    if (!reader_) return writer_.read([&](const TransactionTime&) { return body(*counting_.counts); });
    const std::lock_guard guard{counting_.mutex};
    if (!counting_.counts) {
      counting_.connection = std::make_unique<Connection>(file_, Connection::Mode::read_only);
      counting_.counts = std::make_unique<StoreCounts>(*counting_.connection);
    }
    return body(*counting_.counts);
  }
  [[nodiscard]] std::vector<CommitResult> commit_each(const TransactionTime& time,
                                                      std::span<const TurnCommit> commits,
                                                      std::span<const std::string> events,
                                                      providers::Notices& notices,
                                                      const std::stop_token& preempt);
  /// Called after the commit. If there is no memory for it, the call has succeeded nevertheless.
  void announce(const providers::Notices& notices);

  providers::Listeners listeners_;
  Writer writer_;
  Tables tables_;
  const std::string file_;  // for connections opened later
  const std::string store_id_;
  std::unique_ptr<Reader> reader_;  // null in memory
  // In memory: reads on the writing connection.
  std::unique_ptr<Views> in_turn_;
  Counting counting_;
};

}  // namespace duramen::inline v0::sqlite::detail
