#include "providers/sqlite/provider.hpp"

#include "providers/common/unreadable_row.hpp"
#include "providers/sqlite/error.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

Topics topics_of(const providers::Notices& notices) noexcept {
  return {notices.turns_ready, notices.activities_ready, !notices.stolen.empty(), !notices.instances.empty()};
}

/// Notifies of commits by other stores: only the topics are known.
void notify(const providers::Listeners& listeners, Topics topics) {
  listeners.each([&](const NodeId& node, ProviderListener& listener) {
    if (topics.stolen_leases && !node.empty()) listener.stolen_leases_pending();
    if (topics.turns_ready) listener.turns_ready();
    if (topics.activities_ready) listener.activities_ready();
    if (topics.instances) listener.unknown_instances_changed();
  });
}

}  // namespace

SqliteProvider::Tables::Tables(Writer& writer)
    : connection(writer.connection()),
      instances(connection),
      queue(connection, writer.numbers()),
      parked(connection),
      stolen_leases(connection),
      sessions(connection),
      workers(connection, writer.numbers(), stolen_leases, sessions),
      key_values(connection),
      delivery(writer.numbers(), instances, queue, parked, workers, key_values),
      descent(connection, delivery),
      turns(writer.numbers(), instances, queue, parked, workers, key_values, delivery),
      fetcher(connection, writer.numbers(), instances, queue, key_values),
      overdue(connection, workers, delivery),
      removal(connection, stolen_leases),
      nodes(connection),
      random(std::random_device{}() | (std::uint64_t{std::random_device{}()} << 32)),
      new_token([this] { return LeaseToken{std::max<std::uint64_t>(random() >> 1, 1)}; }) {}

SqliteProvider::SqliteProvider(const Options& options)
    : writer_(options),
      tables_(writer_),
      file_(duramen::detail::mutant("counting_follows_the_working_directory") ? options.path
                                                                              : writer_.connection().file()),
      store_id_(writer_.connection().query_text("SELECT store_id FROM duramen_schema")) {
  if (writer_.in_memory()) {
    in_turn_ = std::make_unique<Views>(writer_.connection());
    counting_.counts = std::make_unique<StoreCounts>(writer_.connection());
  } else {
    reader_ = std::make_unique<Reader>(options.path);
  }
}

SqliteProvider::~SqliteProvider() {
  if (Bell* bell = writer_.bell()) bell->stop();
}

Counters SqliteProvider::counters() const noexcept {
  Counters counters = writer_.counters();
  counters.expired_messages = tables_.parked.expired();
  counters.unreadable_messages = tables_.fetcher.unreadable();
  return counters;
}

void SqliteProvider::announce(const providers::Notices& notices) {
  const Topics topics = topics_of(notices);
  if (topics.any()) {
    if (Bell* bell = writer_.bell(); bell != nullptr && !writer_.alone()) bell->ring(topics);
    try {
      listeners_.notify(notices);
    } catch (const std::bad_alloc&) {
      // The change is stored: the call has succeeded, and polling finds it.
      if (duramen::detail::mutant("a_lost_hint_fails_the_call")) throw;
    }
  }
  writer_.limit_wal();
}

// -- starting and messaging -----------------------------------------------------------------------

Result<std::vector<StartOutcome>> SqliteProvider::start_instances(std::span<const StartRequest> requests) {
  return guarded("start_instances", [&]() -> Result<std::vector<StartOutcome>> {
    providers::Notices notices;
    auto outcomes = writer_.write(CommitSync::durable, [&](const TransactionTime& time) {
      std::vector<StartOutcome> result;
      for (const StartRequest& request : requests)
        result.push_back(tables_.delivery.start(time, request, notices));
      return result;
    });
    announce(notices);
    return outcomes;
  });
}

Result<std::vector<EnqueueOutcome>> SqliteProvider::enqueue_messages(
    std::span<const OutboundMessage> messages) {
  return guarded("enqueue_messages", [&]() -> Result<std::vector<EnqueueOutcome>> {
    providers::Notices notices;
    auto outcomes = writer_.write(CommitSync::durable, [&](const TransactionTime& time) {
      std::vector<EnqueueOutcome> result;
      for (const OutboundMessage& message : messages) {
        result.push_back(tables_.delivery.deliver(time, message, notices));
      }
      tables_.descent.run(time, notices);
      return result;
    });
    announce(notices);
    return outcomes;
  });
}

// -- turns ----------------------------------------------------------------------------------------

Result<TurnBatch> SqliteProvider::fetch_turns(const TurnFetch& request) {
  return guarded("fetch_turns", [&]() -> Result<TurnBatch> {
    TurnBatch batch;
    // A look before the transaction, unless a call of this store has made an entry.
    const bool any = tables_.queue.take_made_entry() || writer_.read([&](const TransactionTime& time) {
      return tables_.fetcher.any_ready(time, request, batch.next_due);
    });
    if (!any) return batch;
    batch = writer_.write(CommitSync::lease_only, [&](const TransactionTime& time) {
      return tables_.fetcher.fetch(time, request, tables_.new_token);
    });
    writer_.limit_wal();
    return batch;
  });
}

Result<std::vector<Event>> SqliteProvider::read_history(const InstanceId& instance, ExecutionId execution,
                                                        EventId after) {
  return guarded("read_history", [&]() -> Result<std::vector<Event>> {
    return read([&](Views& views) {
      return views.instances.history({.instance = instance, .execution = execution, .after = after});
    });
  });
}

std::vector<Result<std::vector<Event>>> SqliteProvider::read_histories(
    std::span<const HistoryRequest> requests) {
  // One transaction: taking and releasing the file lock costs more than reading a short history.
  auto all = guarded("read_histories", [&]() -> Result<std::vector<Result<std::vector<Event>>>> {
    return read_together([&](Views& views) {
      std::vector<Result<std::vector<Event>>> histories;
      histories.reserve(requests.size());
      for (const HistoryRequest& request : requests) {
        histories.push_back(views.instances.history(request));
      }
      return histories;
    });
  });
  if (all) return std::move(*all);
  return std::vector<Result<std::vector<Event>>>(requests.size(), Result<std::vector<Event>>{all.error()});
}

Result<std::vector<CommitResult>> SqliteProvider::commit_turns(std::span<const TurnCommit> commits,
                                                               const std::stop_token& preempt) {
  return guarded("commit_turns", [&]() -> Result<std::vector<CommitResult>> {
    // Encoded before the write lock is taken, so that no writer waits for it.
    std::vector<std::string> events;
    events.reserve(commits.size());
    for (const TurnCommit& commit : commits) {
      if (preempt.stop_requested()) break;
      events.push_back(encode_events(commit.events));
    }
    commits = commits.first(events.size());
    if (commits.empty()) return std::vector<CommitResult>{};

    providers::Notices notices;
    const auto commit_all = [&](const TransactionTime& time) {
      std::vector<CommitResult> results;
      results.reserve(commits.size());
      for (std::size_t i = 0; i < commits.size() && !preempt.stop_requested(); ++i) {
        results.push_back(tables_.turns.commit(time, commits[i], events[i], notices));
      }
      for (std::size_t i = 0; i < results.size(); ++i) {
        tables_.turns.send(time, commits[i], results[i], notices);
      }
      tables_.descent.run(time, notices);
      return results;
    };
    std::vector<CommitResult> results;
    try {
      results = writer_.write(CommitSync::durable, commit_all);
    } catch (const SqlError& error) {
      if (!concerns_one_entry(error)) throw;
      // One commit cannot be stored. Savepoints would slow down every batch, so only this batch uses them.
      notices = {};
      results = writer_.write(CommitSync::durable, [&](const TransactionTime& time) {
        return commit_each(time, commits, events, notices, preempt);
      });
    }
    announce(notices);
    return results;
  });
}

std::vector<CommitResult> SqliteProvider::commit_each(const TransactionTime& time,
                                                      std::span<const TurnCommit> commits,
                                                      std::span<const std::string> events,
                                                      providers::Notices& notices,
                                                      const std::stop_token& preempt) {
  std::vector<CommitResult> results;
  for (std::size_t i = 0; i < commits.size() && !preempt.stop_requested(); ++i) {
    tables_.connection.execute("SAVEPOINT entry");
    providers::Notices of_entry = notices;
    try {
      CommitResult result = tables_.turns.commit(time, commits[i], events[i], of_entry);
      tables_.turns.send(time, commits[i], result, of_entry);
      results.push_back(std::move(result));
      notices = std::move(of_entry);
    } catch (const SqlError& error) {
      if (!concerns_one_entry(error)) throw;
      tables_.connection.execute("ROLLBACK TO entry");
      writer_.numbers().forget();
      results.push_back(CommitResult{.outcome = CommitOutcome::invalid,
                                     .incarnation = commits[i].incarnation,
                                     .message = to_error(error, "").message});
    }
    tables_.connection.execute("RELEASE entry");
  }
  tables_.descent.run(time, notices);
  return results;
}

Result<void> SqliteProvider::release_turns(std::span<const TurnRelease> items) {
  return guarded("release_turns", [&]() -> Result<void> {
    providers::Notices notices;
    notices.turns_ready = writer_.write(CommitSync::lease_only, [&](const TransactionTime& time) {
      bool any = false;
      for (const TurnRelease& item : items) {
        if (!tables_.instances.release_lease(time, item.lease, item.count_attempt)) continue;
        tables_.queue.release(item.lease.incarnation, time.lease_end(item.delay));
        any = true;
      }
      return any;
    });
    announce(notices);
    return {};
  });
}

Result<std::vector<bool>> SqliteProvider::renew_turns(std::span<const TurnLease> leases, Duration extend) {
  return guarded("renew_turns", [&]() -> Result<std::vector<bool>> {
    return writer_.write(CommitSync::lease_only, [&](const TransactionTime& time) {
      std::vector<bool> renewed;
      for (const TurnLease& lease : leases) {
        renewed.push_back(tables_.instances.extend_lease(time, lease, time.lease_end(extend)));
      }
      return renewed;
    });
  });
}

// -- activities -----------------------------------------------------------------------------------

Result<ActivityBatch> SqliteProvider::fetch_activities(const ActivityFetch& request) {
  return guarded("fetch_activities", [&]() -> Result<ActivityBatch> {
    ActivityBatch batch;
    const bool wants_any = request.tags != TagFilter::none() && (!request.names || !request.names->empty());
    if (!wants_any) return batch;
    const bool any = writer_.read([&](const TransactionTime& time) {
      if (tables_.workers.any_available(time, request, batch.next_due)) return true;
      batch.next_due = earlier(batch.next_due, tables_.overdue.next_in_time(time));
      return false;
    });
    if (!any) return batch;
    batch = writer_.write(CommitSync::lease_only, [&](const TransactionTime& time) {
      ActivityBatch fetched = tables_.workers.fetch(time, request, tables_.new_token);
      fetched.next_due = earlier(fetched.next_due, tables_.overdue.next_in_time(time));
      return fetched;
    });
    writer_.limit_wal();
    return batch;
  });
}

Result<std::vector<AckResult>> SqliteProvider::ack_activities(std::span<const ActivityAck> acks) {
  return guarded("ack_activities", [&]() -> Result<std::vector<AckResult>> {
    providers::Notices notices;
    auto results = writer_.write(CommitSync::durable, [&](const TransactionTime& time) {
      std::vector<AckResult> outcomes;
      outcomes.reserve(acks.size());
      for (const ActivityAck& ack : acks)
        outcomes.push_back(tables_.delivery.acknowledge(time, ack, notices));
      return outcomes;
    });
    announce(notices);
    return results;
  });
}

Result<std::vector<RenewResult>> SqliteProvider::renew_activities(std::span<const ActivityRenewal> leases,
                                                                  Duration extend) {
  return guarded("renew_activities", [&]() -> Result<std::vector<RenewResult>> {
    auto results = writer_.write(CommitSync::lease_only, [&](const TransactionTime& time) {
      std::vector<RenewResult> outcomes;
      outcomes.reserve(leases.size());
      for (const ActivityRenewal& renewal : leases) {
        RenewResult& result = outcomes.emplace_back();
        if (tables_.workers.renew(time, renewal, extend)) continue;
        const AckResult refusal = tables_.delivery.refusal(time, renewal.lease);
        result.outcome =
            refusal.outcome == AckOutcome::cancelled ? RenewOutcome::cancelled : RenewOutcome::lease_lost;
        result.reason = refusal.reason;
      }
      return outcomes;
    });
    writer_.limit_wal();
    return results;
  });
}

Result<void> SqliteProvider::release_activities(std::span<const ActivityRelease> items) {
  return guarded("release_activities", [&]() -> Result<void> {
    providers::Notices notices;
    notices.activities_ready = writer_.write(CommitSync::lease_only, [&](const TransactionTime& time) {
      bool any = false;
      for (const ActivityRelease& item : items) any |= tables_.workers.release(time, item);
      return any;
    });
    announce(notices);
    return {};
  });
}

Result<std::vector<StolenLease>> SqliteProvider::read_stolen_leases(const NodeId& node) {
  return guarded("read_stolen_leases", [&]() -> Result<std::vector<StolenLease>> {
    const bool any =
        writer_.read([&](const TransactionTime&) { return tables_.stolen_leases.any_unreported(node); });
    if (!any) return std::vector<StolenLease>{};
    return writer_.write(CommitSync::lease_only,
                         [&](const TransactionTime&) { return tables_.stolen_leases.take_unreported(node); });
  });
}

// -- reading and listening ------------------------------------------------------------------------

Result<std::optional<InstanceInfo>> SqliteProvider::get_instance(const InstanceId& instance) {
  return guarded("get_instance", [&]() -> Result<std::optional<InstanceInfo>> {
    auto info = read([&](Views& views) { return views.instances.info(instance); });
    if (info && info->unreadable)
      return providers::unreadable_instance("get_instance", instance, *info->unreadable);
    return info;
  });
}

Result<KeyValues> SqliteProvider::get_key_values(const InstanceId& instance) {
  return guarded("get_key_values", [&]() -> Result<KeyValues> {
    return read([&](Views& views) { return views.instances.key_values(instance); });
  });
}

std::unique_ptr<Subscription> SqliteProvider::subscribe(NodeId node, ProviderListener& listener) {
  auto subscription = listeners_.add(std::move(node), listener);
  if (Bell* bell = writer_.bell()) {
    try {
      bell->listen([this](Topics topics) { notify(listeners_, topics); },
                   [this] { return writer_.changed_by_others(); });
    } catch (const std::exception&) {
      // No thread is available. Listeners are notified of commits by this store; polling finds the others.
    }
  }
  return subscription;
}

}  // namespace duramen::inline v0::sqlite::detail

namespace duramen::inline v0::sqlite {

Result<std::shared_ptr<Provider>> open_provider(const Options& options) {
  auto opened = detail::guarded("open", [&]() -> Result<std::shared_ptr<Provider>> {
    return std::shared_ptr<Provider>(std::make_shared<detail::SqliteProvider>(options));
  });
  if (!opened && opened.error().message.find(options.path) == std::string::npos) {
    opened.error().message = options.path + ": " + opened.error().message;
  }
  return opened;
}

Counters counters(const Provider& provider) {
  const auto* ours = dynamic_cast<const detail::SqliteProvider*>(&provider);
  return ours != nullptr ? ours->counters() : Counters{};
}

Result<std::optional<SchemaVersion>> schema_version(Provider& provider) {
  auto* const ours = dynamic_cast<detail::SqliteProvider*>(&provider);
  if (ours == nullptr) return std::optional<SchemaVersion>{};
  Result<SchemaVersion> version = ours->schema_version();
  if (!version) return version.error();
  return std::optional{*version};
}

}  // namespace duramen::inline v0::sqlite
