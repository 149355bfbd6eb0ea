// Reading and managing instances.
#include "client/arguments.hpp"
#include "client/errors.hpp"
#include "client/impl.hpp"
#include "store/answers.hpp"
#include <duramen/client.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace duramen::inline v0 {

namespace {

/// The number of instances that one store call finds, cancels or deletes: large enough for few calls, small
/// enough for short ones.
constexpr std::size_t page_size = 100;

/// Calls `use` with the ids of each page of matching instances, newest first. Instances created during the
/// loop are not visited, and deletions do not move the start of the next page.
template <class Use>
Result<void> for_each_page(Provider& provider, const InstanceFilter& filter, std::size_t limit, Use use) {
  InstanceQuery query;
  query.filter = filter;
  while (limit > 0) {
    query.limit = std::min(limit, page_size);
    auto page = provider.list_instances(query);
    if (!page) return page.error();
    std::vector<InstanceId> ids;
    for (InstanceInfo& info : page->instances) ids.push_back(std::move(info.instance));
    limit -= std::min(limit, ids.size());
    if (!ids.empty()) {
      if (Result<void> used = use(std::move(ids)); !used) return used;
    }
    if (!page->next) break;
    query.after = page->next;
  }
  return {};
}

void append(std::vector<InstanceId>& to, const std::vector<InstanceId>& ids) {
  to.insert(to.end(), ids.begin(), ids.end());
}

constexpr std::array open_statuses{Status::pending, Status::running, Status::cancelling};
constexpr std::array final_statuses{Status::completed, Status::failed, Status::cancelled};

}  // namespace

Result<std::optional<InstanceInfo>> client::find_instance(Provider& provider, const InstanceId& instance) {
  auto info = provider.get_instance(instance);
  if (info || info.error().code != ErrorCode::corrupt) return info;
  InstanceQuery query;
  query.filter.ids.emplace({instance});
  auto page = provider.list_instances(query);
  if (!page) return page.error();
  if (page->instances.empty()) return std::optional<InstanceInfo>{};
  return std::optional(std::move(page->instances.front()));
}

// -- read ---------------------------------------------------------------------------------------------------

Result<InstanceInfo> Client::get_instance(const InstanceId& instance) {
  if (Result<void> ok = client::check_instance("get_instance", instance); !ok) return ok.error();
  auto info = impl_->provider.get_instance(instance);
  if (!info) return info.error();
  if (!*info) return client::no_instance("get_instance", instance);
  return std::move(**info);
}

Result<InstancePage> Client::list(const InstanceQuery& query) {
  if (query.limit == 0) return client::bad_argument("list", "a page must have at least 1 instance");
  if (Result<void> ok = client::check_filter("list", query.filter); !ok) return ok.error();
  return impl_->provider.list_instances(query);
}

Result<std::size_t> Client::visit_instances(InstanceQuery query,
                                            const std::function<bool(const InstanceInfo&)>& visit) {
  std::size_t visited = 0;
  while (true) {
    Result<InstancePage> page = list(query);
    if (!page) return page.error();
    for (const InstanceInfo& info : page->instances) {
      ++visited;
      if (!visit(info)) return visited;
    }
    if (!page->next) return visited;
    query.after = page->next;
  }
}

Result<std::vector<ExecutionInfo>> Client::list_executions(const InstanceId& instance) {
  if (Result<void> ok = client::check_instance("list_executions", instance); !ok) return ok.error();
  auto executions = impl_->provider.list_executions(instance);
  if (executions && executions->empty()) return client::no_instance("list_executions", instance);
  return executions;
}

Result<std::vector<Event>> Client::read_history(const InstanceId& instance) {
  if (Result<void> ok = client::check_instance("read_history", instance); !ok) return ok.error();
  auto info = client::find_instance(impl_->provider, instance);
  if (!info) return info.error();
  if (!*info) return client::no_instance("read_history", instance);
  return impl_->provider.read_history(instance, (*info)->execution, EventId{});
}

Result<std::vector<Event>> Client::read_history(const InstanceId& instance, ExecutionId execution) {
  if (!execution) return client::bad_argument("read_history", "executions are counted from 1");
  if (Result<void> ok = client::check_instance("read_history", instance); !ok) return ok.error();
  auto info = client::find_instance(impl_->provider, instance);
  if (!info) return info.error();
  if (!*info) return client::no_instance("read_history", instance);
  const ExecutionId current = (*info)->execution;
  const auto missing = [&](const char* why) {
    return Error{
        ErrorCode::not_found, "read_history",
        "instance \"" + instance.value + "\" has no execution " + std::to_string(execution.value) + why,
        false};
  };
  if (execution > current) return missing(": the instance has not reached it");
  auto history = impl_->provider.read_history(instance, execution, EventId{});
  // A pending execution has no events yet; an earlier execution without events was pruned.
  if (history && history->empty() && execution < current) return missing(" any more: it was pruned");
  return history;
}

Result<std::vector<InstanceInfo>> Client::get_instance_tree(const InstanceId& root) {
  if (Result<void> ok = client::check_instance("get_instance_tree", root); !ok) return ok.error();
  auto tree = impl_->provider.get_instance_tree(root);
  if (tree && tree->empty()) return client::no_instance("get_instance_tree", root);
  return tree;
}

Result<KeyValues> Client::get_key_values(const InstanceId& instance) {
  if (Result<void> ok = client::check_instance("get_key_values", instance); !ok) return ok.error();
  return impl_->provider.get_key_values(instance);
}

Result<std::optional<Payload>> Client::get_key_value(const InstanceId& instance, const std::string& key) {
  if (Result<void> ok = client::check_name("get_key_value", "a key", key); !ok) return ok.error();
  auto values = get_key_values(instance);
  if (!values) return values.error();
  const auto found = values->find(key);
  return found == values->end() ? std::optional<Payload>{} : std::optional(std::move(found->second.value));
}

Result<StoreMetrics> Client::metrics() { return impl_->provider.get_metrics(); }
Result<QueueDepths> Client::queue_depths() { return impl_->provider.get_queue_depths(); }

// -- cancel -------------------------------------------------------------------------------------------------

Result<CancelReport> Client::cancel_instances(InstanceFilter filter, std::string reason, CancelMode mode,
                                              BulkOptions options) {
  constexpr const char* operation = "cancel_instances";
  if (Result<void> ok = client::check_restricting(operation, filter); !ok) return ok.error();
  if (Result<void> ok = client::check_cancel(operation, reason); !ok) return ok.error();
  if (filter.statuses.empty()) filter.statuses.assign(open_statuses.begin(), open_statuses.end());

  CancelReport report;
  const auto cancel_page = [&](const std::vector<InstanceId>& ids) -> Result<void> {
    append(report.matched, ids);
    if (options.dry_run) return {};
    std::vector<OutboundMessage> messages(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
      messages[i].target = ids[i];
      messages[i].body =
          message::CancelInstance{reason, mode, CancelOrigin::client, {}, impl_->options.requested_by};
    }
    const auto outcomes =
        base::one_for_each(operation, ids.size(), impl_->provider.enqueue_messages(messages));
    if (!outcomes) return outcomes.error();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const EnqueueOutcome outcome = (*outcomes)[i];
      const bool over = outcome == EnqueueOutcome::finished || outcome == EnqueueOutcome::not_found;
      const bool repeated = outcome == EnqueueOutcome::duplicate;
      (over       ? report.already_finished
       : repeated ? report.already_requested
                  : report.requested)
          .push_back(ids[i]);
    }
    return {};
  };
  if (Result<void> done = for_each_page(impl_->provider, filter, options.limit, cancel_page); !done)
    return done.error();
  return report;
}

// -- delete -------------------------------------------------------------------------------------------------

Result<DeleteResult> Client::delete_instance(const InstanceId& instance, DeleteMode mode) {
  constexpr const char* operation = "delete_instance";
  if (Result<void> ok = client::check_instance(operation, instance); !ok) return ok.error();
  const auto result =
      base::the_one(operation, impl_->provider.delete_instances(std::span(&instance, 1), mode));
  if (!result) return result.error();
  switch (result->outcome) {
    case DeleteOutcome::deleted:
      // So that waiters need not wait for the poll.
      impl_->waits->check_all();
      return result;
    case DeleteOutcome::not_found:
      return client::no_instance(operation, instance);
    case DeleteOutcome::has_parent:
      return client::bad_argument(
          operation, "\"" + instance.value +
                         "\" is a sub-orchestration and is deleted with the root of its tree; delete "
                         "that, or cancel this one");
    case DeleteOutcome::not_finished:
      break;
  }
  return Error{
      ErrorCode::conflict, operation,
      "\"" + instance.value +
          "\" or something below it has not ended; cancel it and wait, or delete it with DeleteMode::force",
      false};
}

Result<DeleteReport> Client::delete_instances(InstanceFilter filter, DeleteMode mode, BulkOptions options) {
  constexpr const char* operation = "delete_instances";
  if (Result<void> ok = client::check_restricting(operation, filter); !ok) return ok.error();
  if (filter.parent) {
    return client::bad_argument(
        operation, "sub-orchestrations are deleted with the root of their tree; filter for roots");
  }
  filter.roots_only = true;
  if (mode == DeleteMode::finished && filter.statuses.empty()) {
    filter.statuses.assign(final_statuses.begin(), final_statuses.end());
  }

  DeleteReport report;
  const auto delete_page = [&](const std::vector<InstanceId>& ids) -> Result<void> {
    append(report.matched, ids);
    if (options.dry_run) return {};
    const auto results =
        base::one_for_each(operation, ids.size(), impl_->provider.delete_instances(ids, mode));
    if (!results) return results.error();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const DeleteResult& result = (*results)[i];
      if (result.outcome == DeleteOutcome::not_finished) report.not_finished.push_back(ids[i]);
      if (result.outcome != DeleteOutcome::deleted) continue;
      report.deleted.push_back(ids[i]);
      report.instances += result.instances;
      report.executions += result.executions;
      report.events += result.events;
      report.messages += result.messages;
    }
    return {};
  };
  Result<void> done = for_each_page(impl_->provider, filter, options.limit, delete_page);
  if (!report.deleted.empty()) impl_->waits->check_all();
  if (!done) return done.error();
  return report;
}

// -- prune --------------------------------------------------------------------------------------------------

Result<PruneResult> Client::prune_executions(const InstanceId& instance, const PruneOptions& options) {
  constexpr const char* operation = "prune_executions";
  if (Result<void> ok = client::check_instance(operation, instance); !ok) return ok.error();
  if (Result<void> ok = client::check_prune(options); !ok) return ok.error();
  const auto result =
      base::the_one(operation, impl_->provider.prune_executions(std::span(&instance, 1), options));
  if (result && !result->found) return client::no_instance(operation, instance);
  return result;
}

Result<PruneReport> Client::prune_executions(InstanceFilter filter, const PruneOptions& options,
                                             BulkOptions bulk) {
  constexpr const char* operation = "prune_executions";
  if (Result<void> ok = client::check_restricting(operation, filter); !ok) return ok.error();
  if (Result<void> ok = client::check_prune(options); !ok) return ok.error();
  PruneReport report;
  const auto prune_page = [&](const std::vector<InstanceId>& ids) -> Result<void> {
    append(report.matched, ids);
    if (bulk.dry_run) return {};
    const auto results =
        base::one_for_each(operation, ids.size(), impl_->provider.prune_executions(ids, options));
    if (!results) return results.error();
    for (const PruneResult& result : *results) {
      report.executions += result.executions;
      report.events += result.events;
    }
    return {};
  };
  if (Result<void> done = for_each_page(impl_->provider, filter, bulk.limit, prune_page); !done)
    return done.error();
  return report;
}

}  // namespace duramen::inline v0
