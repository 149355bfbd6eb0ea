#include "testing/conformance_driver.hpp"

namespace duramen::inline v0::testing {

Event make_event(std::uint64_t id, EventBody body, std::uint64_t source) {
  return {EventId{id}, EventId{source}, from_unix_ms(1'750'000'000'123), std::move(body)};
}
Event started(std::uint64_t id) {
  return make_event(
      id, event::OrchestrationStarted{.name = "Orch", .version = "1.0.0", .input = Payload::text("in")});
}
Event scheduled(std::uint64_t id) {
  return make_event(id, event::ActivityScheduled{.name = "Act", .input = Payload::text("x")});
}
Event raised(std::uint64_t id, std::string name) {
  return make_event(id, event::ExternalEvent{std::move(name), Payload::text("")});
}

ActivityExecute plain(std::string name) {
  return {.name = std::move(name),
          .input = Payload::text("x"),
          .orchestration_name = "Orch",
          .orchestration_version = "1.0.0"};
}
ActivityExecute in_session(std::string session) {
  ActivityExecute activity = plain();
  activity.session_id = std::move(session);
  return activity;
}
ActivityExecute tagged(std::string tag) {
  ActivityExecute activity = plain();
  activity.tag = std::move(tag);
  return activity;
}
ActivityExecute limited(ActivityOptions limits) {
  ActivityExecute activity = plain();
  activity.options = limits;
  return activity;
}

work::ExternalRaised raise(std::string name, std::string data) {
  return {std::move(name), Payload::text(std::move(data))};
}

std::string names_of(const std::vector<InboxMessage>& messages) {
  std::string names;
  for (const InboxMessage& message : messages) {
    const auto* event = std::get_if<work::ExternalRaised>(&message.item);
    names += (names.empty() ? "" : " ") + (event ? event->name : "?");
  }
  return names;
}

std::string ids_of(const std::vector<InstanceInfo>& instances) {
  std::string ids;
  for (const InstanceInfo& info : instances) ids += (ids.empty() ? "" : " ") + info.instance.value;
  return ids;
}

std::string numbers_of(const std::vector<WorkItemLeased>& items) {
  std::string numbers;
  for (const WorkItemLeased& item : items) {
    numbers += (numbers.empty() ? "" : " ") + std::to_string(item.lease.key.activity.value);
  }
  return numbers;
}

void Driver::stop(std::string_view why, Check::Where where) {
  check.fail(why, where);
  throw CaseStopped{};
}

// -- instances and messages ---

StartOutcome Driver::start(const InstanceId& id, std::string name, std::string input, IdReuse reuse) {
  const StartRequest request{
      .instance = id,
      .start = {.orchestration = std::move(name), .input = Payload::text(std::move(input))},
      .reuse = reuse};
  return get(store.start_instances({&request, 1})).at(0);
}

EnqueueOutcome Driver::send(const InstanceId& target, WorkItem item, TimePoint visible_at,
                            std::optional<std::string> message_id) {
  const OutboundMessage message{target, std::move(item), visible_at, std::move(message_id)};
  return get(store.enqueue_for_orchestrator({&message, 1})).at(0);
}

std::optional<InstanceInfo> Driver::info(const InstanceId& id) { return get(store.get_instance(id)); }

KeyValues Driver::key_values(const InstanceId& id) { return get(store.get_key_values(id)); }

std::vector<Event> Driver::history(const InstanceId& id, std::uint64_t execution, std::uint64_t after) {
  return get(store.read_history(id, ExecutionId{execution}, EventId{after}));
}

// -- turns ---

OrchestrationBatch Driver::fetch_batch(OrchestrationFetch request) {
  if (request.node.empty()) request.node = node;
  if (request.lease == Duration{}) request.lease = lease;
  return get(store.fetch_orchestration_items(request));
}

std::vector<OrchestrationItem> Driver::fetch(std::size_t limit) { return fetch_as(node, limit); }

std::vector<OrchestrationItem> Driver::fetch_as(const NodeId& who, std::size_t limit) {
  return fetch_batch({.node = who, .limit = limit}).items;
}

OrchestrationItem Driver::fetch_one(Check::Where where) {
  auto items = fetch();
  if (items.size() != 1) stop("fetched " + std::to_string(items.size()) + " instances, expected one", where);
  return std::move(items[0]);
}

void Driver::expect_nothing_to_do(Check::Where where) {
  check.equal(fetch().size(), 0u, "instances with something to do", where);
}

void Driver::expect_due(const std::optional<TimePoint>& next_due, TimePoint when, Check::Where where) {
  check.that(next_due && *next_due <= when, "next_due is absent or too late", where);
}

TurnCommit Driver::turn(const OrchestrationItem& item) {
  TurnCommit commit;
  commit.token = new_commit_token();
  commit.node = node;
  commit.instance = item.instance;
  commit.incarnation = item.incarnation;
  commit.basis = HeldLease{item.lease};
  commit.execution = item.execution;
  commit.worker_lease = lease;
  return commit;
}

TurnCommit Driver::conditional(const InstanceInfo& instance, EventId last_event_id) {
  TurnCommit commit;
  commit.token = new_commit_token();
  commit.node = node;
  commit.instance = instance.instance;
  commit.incarnation = instance.incarnation;
  commit.basis = ConditionalLease{last_event_id};
  commit.execution = instance.execution;
  commit.worker_lease = lease;
  return commit;
}

TurnCommit Driver::fused(const InstanceId& id, std::string name, std::string input, IdReuse reuse) {
  TurnCommit commit;
  commit.token = new_commit_token();
  commit.node = node;
  commit.instance = id;
  commit.basis =
      FusedStart{{.instance = id,
                  .start = {.orchestration = std::move(name), .input = Payload::text(std::move(input))},
                  .reuse = reuse}};
  commit.execution = ExecutionId{1};
  commit.worker_lease = lease;
  commit.events = {started()};
  commit.change.version = "1.0.0";
  return commit;
}

CommitResult Driver::commit(const TurnCommit& commit) { return commit_all({commit}).at(0); }

std::vector<CommitResult> Driver::commit_all(const std::vector<TurnCommit>& commits) {
  auto results = get(store.ack_orchestration_items(commits));
  if (results.size() != commits.size()) stop("not one answer per commit");
  return results;
}

CommitResult Driver::must_commit(const TurnCommit& turn, Check::Where where) {
  CommitResult result = commit(turn);
  if (!check.equal(result.outcome, CommitOutcome::committed, "outcome of a commit", where))
    throw CaseStopped{};
  return result;
}

void Driver::abandon(const OrchestrationItem& item, Duration delay, bool count_attempt) {
  const TurnAbandon entry{{item.incarnation, item.lease}, delay, count_attempt};
  if (!store.abandon_orchestration_items({&entry, 1})) stop("abandon_orchestration_items failed");
}

bool Driver::renew(const OrchestrationItem& item, Duration extend) {
  const TurnLease entry{item.incarnation, item.lease};
  return get(store.renew_orchestration_item_locks({&entry, 1}, extend)).at(0);
}

// -- stories ---

InstanceInfo Driver::running(const InstanceId& id, int activities, Check::Where where) {
  start(id);
  const OrchestrationItem item = fetch_one(where);
  TurnCommit first = turn(item);
  first.events = {started()};
  first.change.version = "1.0.0";
  InstanceInfo instance = info(id).value();
  for (int i = 0; i < activities; ++i) {
    const std::uint64_t event_id = static_cast<std::uint64_t>(i) + 2;
    first.events.push_back(scheduled(event_id));
    first.worker_items.push_back(activity(instance, event_id));
  }
  must_commit(first, where);
  return info(id).value();
}

OrchestrationItem Driver::woken(const InstanceId& id, Check::Where where) {
  send(id, raise("wake"));
  return fetch_one(where);
}

void Driver::schedule(const InstanceId& id, std::vector<ActivityExecute> activities, Check::Where where) {
  const OrchestrationItem item = woken(id, where);
  TurnCommit commit = turn(item);
  EventId last = item.last_event_id;
  for (ActivityExecute& activity : activities) {
    last = last.next();
    activity.instance = id;
    activity.key = {item.incarnation, item.execution, last};
    commit.events.push_back(scheduled(last.value));
    commit.worker_items.push_back({.activity = std::move(activity)});
  }
  must_commit(commit, where);
}

InstanceInfo Driver::child(const InstanceId& parent, const InstanceId& id, Check::Where where) {
  const OrchestrationItem item = woken(parent, where);
  TurnCommit commit = turn(item);
  const EventId event = item.last_event_id.next();
  commit.events = {make_event(event.value, event::SubOrchestrationScheduled{.name = "Orch", .instance = id})};
  const ParentLink link{parent, item.incarnation, item.execution, event};
  commit.messages = {{id, work::StartOrchestration{.orchestration = "Orch", .parent = link}}};
  must_commit(commit, where);
  TurnCommit first = turn(fetch_one(where));
  first.events = {started()};
  first.change.version = "1.0.0";
  first.change.parent = link;
  must_commit(first, where);
  return info(id).value();
}

void Driver::finish(const InstanceId& id, Check::Where where) {
  must_commit(final_turn(woken(id, where)), where);
}

void Driver::continue_as_new(const InstanceId& id, Check::Where where) {
  must_commit(continuing_turn(woken(id, where)), where);
  must_commit(next_execution(fetch_one(where)), where);
}

TurnCommit Driver::final_turn(const OrchestrationItem& item) {
  TurnCommit last = turn(item);
  last.events = {
      make_event(item.last_event_id.value + 1, event::OrchestrationCompleted{Payload::text("out")})};
  last.change.status = Status::completed;
  last.change.output = Payload::text("out");
  last.cancel_rest = CancelReason::orchestration_terminal_completed;
  return last;
}

TurnCommit Driver::continuing_turn(const OrchestrationItem& item) {
  TurnCommit last = turn(item);
  last.events = {
      make_event(item.last_event_id.value + 1, event::OrchestrationContinuedAsNew{Payload::text("in")})};
  last.change.status = Status::continued_as_new;
  last.cancel_rest = CancelReason::orchestration_terminal_continued_as_new;
  last.messages = {
      {item.instance, work::ContinueAsNew{.orchestration = "Orch", .input = Payload::text("in")}}};
  return last;
}

TurnCommit Driver::next_execution(const OrchestrationItem& item) {
  TurnCommit first = turn(item);
  first.execution = item.execution.next();
  first.events = {started()};
  first.change.version = "1.0.0";
  return first;
}

InstanceInfo Driver::finished(const InstanceId& id, Check::Where where) {
  running(id, 0, where);
  must_commit(final_turn(woken(id, where)), where);
  return info(id).value();
}

// -- work items ---

WorkerItem Driver::activity(const InstanceInfo& instance, std::uint64_t id, std::uint64_t execution) {
  return {.activity = {.instance = instance.instance,
                       .key = {instance.incarnation, ExecutionId{execution}, EventId{id}},
                       .name = "Act",
                       .input = Payload::text("x"),
                       .orchestration_name = "Orch",
                       .orchestration_version = "1.0.0"}};
}

WorkBatch Driver::fetch_work_batch(WorkFetch request) {
  if (request.node.empty()) request.node = node;
  if (request.lease == Duration{}) request.lease = lease;
  return get(store.fetch_work_items(request));
}

std::vector<WorkItemLeased> Driver::fetch_work(std::size_t limit) { return fetch_work_as(node, limit); }

std::vector<WorkItemLeased> Driver::fetch_work_as(const NodeId& who, std::size_t limit) {
  return fetch_work_batch({.node = who, .limit = limit}).items;
}

WorkItemLeased Driver::fetch_one_work(Check::Where where) {
  auto items = fetch_work();
  if (items.size() != 1) stop("fetched " + std::to_string(items.size()) + " activities, expected one", where);
  return std::move(items[0]);
}

void Driver::expect_no_work(Check::Where where) {
  check.equal(fetch_work().size(), 0u, "activities to run", where);
}

WorkAck Driver::completion(const WorkItemLeased& item, std::string result) {
  return {item.lease, item.activity.instance, Payload::text(std::move(result))};
}

AckResult Driver::ack(const WorkAck& ack) { return get(store.ack_work_items({&ack, 1})).at(0); }

RenewResult Driver::renew(const WorkLease& lease_of_work, Duration extend) {
  const WorkRenewal renewal{lease_of_work};
  return get(store.renew_work_item_locks({&renewal, 1}, extend)).at(0);
}

void Driver::abandon(const WorkItemLeased& item, Duration delay, bool count_attempt) {
  const WorkAbandon entry{item.lease, delay, count_attempt};
  if (!store.abandon_work_items({&entry, 1})) stop("abandon_work_items failed");
}

std::vector<StolenLease> Driver::stolen_from(const NodeId& who) { return get(store.read_stolen_leases(who)); }

RenewResult Driver::beat(const WorkLease& lease_of_work, std::optional<std::string> details) {
  WorkRenewal renewal{lease_of_work, Heartbeat{}};
  if (details) renewal.heartbeat->details = Payload::text(std::move(*details));
  return get(store.renew_work_item_locks({&renewal, 1}, lease)).at(0);
}

// -- what any node does for all, and management ---

SweepResult Driver::sweep(std::size_t limit) { return get(store.sweep(limit)); }

std::string Driver::list(const InstanceFilter& filter) {
  const InstanceQuery query{.filter = filter, .order = InstanceOrder::oldest_first, .limit = 1000};
  return ids_of(get(store.list_instances(query)).instances);
}

std::vector<ExecutionInfo> Driver::executions(const InstanceId& id) { return get(store.list_executions(id)); }

DeleteResult Driver::remove(const InstanceId& id, DeleteMode mode) {
  return get(store.delete_instances({&id, 1}, mode)).at(0);
}

PruneResult Driver::prune(const InstanceId& id, const PruneOptions& options) {
  return get(store.prune_executions({&id, 1}, options)).at(0);
}

QueueDepths Driver::depths() { return get(store.get_queue_depths()); }
StoreMetrics Driver::metrics() { return get(store.get_metrics()); }
InstanceCount Driver::count(Incarnation after, std::size_t limit) {
  return get(store.count_instances(after, limit));
}

}  // namespace duramen::inline v0::testing
