#include "testing/conformance/driver.hpp"

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

ActivityRequest plain(std::string name) {
  return {.name = std::move(name),
          .input = Payload::text("x"),
          .orchestration_name = "Orch",
          .orchestration_version = "1.0.0"};
}
ActivityRequest in_session(std::string session) {
  ActivityRequest activity = plain();
  activity.session_id = std::move(session);
  return activity;
}
ActivityRequest tagged(std::string tag) {
  ActivityRequest activity = plain();
  activity.tag = std::move(tag);
  return activity;
}
ActivityRequest limited(ActivityOptions limits) {
  ActivityRequest activity = plain();
  activity.options = limits;
  return activity;
}

message::ExternalRaised raise(std::string name, std::string data) {
  return {std::move(name), Payload::text(std::move(data))};
}

OutboundMessage timer(const InstanceId& target, std::uint64_t event, TimePoint due, std::uint64_t execution) {
  return {target, message::TimerFired{ExecutionId{execution}, EventId{event}, due}, due};
}

std::string names_of(const std::vector<InboxMessage>& messages) {
  std::string names;
  for (const InboxMessage& message : messages) {
    if (!names.empty()) names += " ";
    if (const auto* event = std::get_if<message::ExternalRaised>(&message.body)) {
      names += event->name;
    } else if (const auto* fired = std::get_if<message::TimerFired>(&message.body)) {
      names += "t" + std::to_string(fired->id.value);
    } else {
      names += std::holds_alternative<message::CancelInstance>(message.body) ? "cancel" : "?";
    }
  }
  return names;
}

std::string ids_of(const std::vector<InstanceInfo>& instances) {
  std::string ids;
  for (const InstanceInfo& info : instances) ids += (ids.empty() ? "" : " ") + info.instance.value;
  return ids;
}

std::string numbers_of(const std::vector<LeasedActivity>& items) {
  std::string numbers;
  for (const LeasedActivity& item : items) {
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

EnqueueOutcome Driver::send(const InstanceId& target, MessageBody item, TimePoint visible_at,
                            std::optional<std::string> message_id) {
  return send(OutboundMessage{target, std::move(item), visible_at, std::move(message_id)});
}

EnqueueOutcome Driver::send(const OutboundMessage& message) {
  return get(store.enqueue_messages({&message, 1})).at(0);
}

std::optional<InstanceInfo> Driver::info(const InstanceId& id) { return get(store.get_instance(id)); }

KeyValues Driver::key_values(const InstanceId& id) { return get(store.get_key_values(id)); }

std::vector<Event> Driver::history(const InstanceId& id, std::uint64_t execution, std::uint64_t after) {
  return get(store.read_history(id, ExecutionId{execution}, EventId{after}));
}

// -- turns ---

TurnBatch Driver::fetch_batch(TurnFetch request) {
  if (request.node.empty()) request.node = node;
  if (request.lease == Duration{}) request.lease = lease;
  return get(store.fetch_turns(request));
}

std::vector<LeasedInstance> Driver::fetch(std::size_t limit) { return fetch_as(node, limit); }

std::vector<LeasedInstance> Driver::fetch_as(const NodeId& caller, std::size_t limit) {
  return fetch_batch({.node = caller, .limit = limit}).items;
}

std::size_t Driver::count_fetched_with(std::vector<RegisteredOrchestration> code) {
  const auto items = fetch_batch({.orchestrations = std::move(code)}).items;
  for (const auto& item : items) release(item, {}, false);
  return items.size();
}

LeasedInstance Driver::fetch_one(Check::Where where) {
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

TurnCommit Driver::turn(const LeasedInstance& item) {
  TurnCommit commit;
  commit.token = new_commit_token();
  commit.node = node;
  commit.instance = item.instance;
  commit.incarnation = item.incarnation;
  commit.basis = HeldLease::all_of(item);
  commit.execution = item.execution;
  commit.activity_lease = lease;
  return commit;
}

TurnCommit Driver::turn_of_first(const LeasedInstance& item, std::size_t messages) {
  TurnCommit commit = turn(item);
  std::get<HeldLease>(commit.basis).taken.resize(messages);
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
  commit.activity_lease = lease;
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
  commit.activity_lease = lease;
  commit.events = {started()};
  commit.change.version = "1.0.0";
  return commit;
}

CommitResult Driver::commit(const TurnCommit& commit) { return commit_all({commit}).at(0); }

std::vector<CommitResult> Driver::commit_all(const std::vector<TurnCommit>& commits) {
  auto results = get(store.commit_turns(commits));
  if (results.size() != commits.size()) stop("not one answer per commit");
  return results;
}

CommitResult Driver::must_commit(const TurnCommit& turn, Check::Where where) {
  CommitResult result = commit(turn);
  if (!check.equal(result.outcome, CommitOutcome::committed, "outcome of a commit", where))
    throw CaseStopped{};
  return result;
}

void Driver::release(const LeasedInstance& item, Duration delay, bool count_attempt) {
  const TurnRelease entry{{item.incarnation, item.lease}, delay, count_attempt};
  if (!store.release_turns({&entry, 1})) stop("release_turns failed");
}

bool Driver::renew(const LeasedInstance& item, Duration extend) {
  const TurnLease entry{item.incarnation, item.lease};
  return get(store.renew_turns({&entry, 1}, extend)).at(0);
}

// -- steps that many cases begin with ---

InstanceInfo Driver::running(const InstanceId& id, int activities, Check::Where where) {
  start(id);
  const LeasedInstance item = fetch_one(where);
  TurnCommit first = turn(item);
  first.events = {started()};
  first.change.version = "1.0.0";
  InstanceInfo instance = info(id).value();
  for (int i = 0; i < activities; ++i) {
    const std::uint64_t event_id = static_cast<std::uint64_t>(i) + 2;
    first.events.push_back(scheduled(event_id));
    first.new_activities.push_back(activity(instance, event_id));
  }
  must_commit(first, where);
  return info(id).value();
}

LeasedInstance Driver::woken(const InstanceId& id, Check::Where where) {
  send(id, raise("wake"));
  return fetch_one(where);
}

void Driver::schedule(const InstanceId& id, std::vector<ActivityRequest> activities, Check::Where where) {
  const LeasedInstance item = woken(id, where);
  TurnCommit commit = turn(item);
  EventId last = item.last_event_id;
  for (ActivityRequest& activity : activities) {
    last = last.next();
    activity.instance = id;
    activity.key = {item.incarnation, item.execution, last};
    commit.events.push_back(scheduled(last.value));
    commit.new_activities.push_back({.request = std::move(activity)});
  }
  must_commit(commit, where);
}

InstanceInfo Driver::child(const InstanceId& parent, const InstanceId& id, Check::Where where) {
  const LeasedInstance item = woken(parent, where);
  TurnCommit commit = turn(item);
  const EventId event = item.last_event_id.next();
  commit.events = {make_event(event.value, event::SubOrchestrationScheduled{.name = "Orch", .instance = id})};
  const ParentLink link{parent, item.incarnation, item.execution, event};
  commit.messages = {{id, message::StartOrchestration{.orchestration = "Orch", .parent = link}}};
  must_commit(commit, where);
  TurnCommit first = turn(fetch_one(where));
  first.events = {started()};
  first.change.version = "1.0.0";
  first.change.parent = link;
  must_commit(first, where);
  return info(id).value();
}

void Driver::family() {
  running("root");
  child("root", "left");
  child("root", "right");
  child("left", "leaf");
}

void Driver::finish(const InstanceId& id, Check::Where where) {
  must_commit(final_turn(woken(id, where)), where);
}

void Driver::continue_as_new(const InstanceId& id, Check::Where where) {
  must_commit(continuing_turn(woken(id, where)), where);
  must_commit(next_execution(fetch_one(where)), where);
}

TurnCommit Driver::final_turn(const LeasedInstance& item) {
  TurnCommit last = turn(item);
  last.events = {
      make_event(item.last_event_id.value + 1, event::OrchestrationCompleted{Payload::text("out")})};
  last.change.status = Status::completed;
  last.change.output = Payload::text("out");
  last.cancel_rest = CancelReason::orchestration_terminal_completed;
  return last;
}

TurnCommit Driver::continuing_turn(const LeasedInstance& item) {
  TurnCommit last = turn(item);
  last.events = {
      make_event(item.last_event_id.value + 1, event::OrchestrationContinuedAsNew{Payload::text("in")})};
  last.change.status = Status::continued_as_new;
  last.cancel_rest = CancelReason::orchestration_terminal_continued_as_new;
  last.messages = {
      {item.instance, message::ContinueAsNew{.orchestration = "Orch", .input = Payload::text("in")}}};
  return last;
}

TurnCommit Driver::next_execution(const LeasedInstance& item) {
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

// -- activities ---

NewActivity Driver::activity(const InstanceInfo& instance, std::uint64_t id, std::uint64_t execution) {
  return {.request = {.instance = instance.instance,
                      .key = {instance.incarnation, ExecutionId{execution}, EventId{id}},
                      .name = "Act",
                      .input = Payload::text("x"),
                      .orchestration_name = "Orch",
                      .orchestration_version = "1.0.0"}};
}

ActivityBatch Driver::fetch_activity_batch(ActivityFetch request) {
  if (request.node.empty()) request.node = node;
  if (request.lease == Duration{}) request.lease = lease;
  return get(store.fetch_activities(request));
}

std::vector<LeasedActivity> Driver::fetch_activities(std::size_t limit) {
  return fetch_activities_as(node, limit);
}

std::vector<LeasedActivity> Driver::fetch_activities_as(const NodeId& caller, std::size_t limit) {
  return fetch_activity_batch({.node = caller, .limit = limit}).items;
}

LeasedActivity Driver::begin_one_activity(Check::Where where) {
  LeasedActivity item = fetch_one_activity(where);
  report(item.lease, ActivityProgress::begins);
  return item;
}

void Driver::report(const ActivityLease& activity_lease, ActivityProgress progress) {
  const ActivityRenewal renewal{activity_lease, std::nullopt, progress};
  check.equal(get(store.renew_activities({&renewal, 1}, lease)).at(0).outcome, RenewOutcome::renewed,
              "a report of the progress");
}

LeasedActivity Driver::fetch_one_activity(Check::Where where) {
  auto items = fetch_activities();
  if (items.size() != 1) stop("fetched " + std::to_string(items.size()) + " activities, expected one", where);
  return std::move(items[0]);
}

void Driver::expect_no_activities(Check::Where where) {
  check.equal(fetch_activities().size(), 0u, "activities to run", where);
}

ActivityAck Driver::completion(const LeasedActivity& item, std::string result) {
  return {item.lease, item.request.instance, Payload::text(std::move(result))};
}

AckResult Driver::ack(const ActivityAck& ack) { return get(store.ack_activities({&ack, 1})).at(0); }

RenewResult Driver::renew(const ActivityLease& activity_lease, Duration extend) {
  const ActivityRenewal renewal{activity_lease};
  return get(store.renew_activities({&renewal, 1}, extend)).at(0);
}

void Driver::release(const LeasedActivity& item, Duration delay, bool count_attempt) {
  const ActivityRelease entry{item.lease, delay, count_attempt};
  if (!store.release_activities({&entry, 1})) stop("release_activities failed");
}

std::vector<StolenLease> Driver::stolen_from(const NodeId& caller) {
  return get(store.read_stolen_leases(caller));
}

RenewResult Driver::beat(const ActivityLease& activity_lease, std::optional<std::string> details) {
  ActivityRenewal renewal{activity_lease, Heartbeat{}};
  if (details) renewal.heartbeat->details = Payload::text(std::move(*details));
  return get(store.renew_activities({&renewal, 1}, lease)).at(0);
}

// -- sweeps and management ---

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
