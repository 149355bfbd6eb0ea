#include "providers/sqlite/durability/random_work.hpp"

#include <algorithm>
#include <utility>

namespace duramen::sqlite::test {

namespace {

constexpr const char* node = "node-a";
constexpr const char* other_node = "node-b";

void add_event(TurnCommit& commit, EventId& last, EventBody body, TimePoint when, EventId source = {}) {
  last = last.next();
  commit.events.push_back({last, source, when, std::move(body)});
}

}  // namespace

RandomWork::RandomWork(const Settings& settings, ManualClock& clock)
    : settings_(settings), clock_(clock), random_(settings.seed), next_token_(settings.seed << 20) {}

std::size_t RandomWork::below(std::size_t limit) {
  // No standard distribution: they differ between libraries, and a seed must give the same choices
  // everywhere.
  return limit == 0 ? 0 : static_cast<std::size_t>(random_() % limit);
}

bool RandomWork::chance(double probability) {
  return static_cast<double>(random_() % 1000) < probability * 1000;
}

Payload RandomWork::payload() {
  const std::size_t length = below(settings_.largest_payload + 1);
  return Payload::text(std::string(length, static_cast<char>('a' + below(26))));
}

std::string RandomWork::some_instance() {
  if (known_.empty() || chance(0.1)) return settings_.prefix + "-unknown-" + std::to_string(below(3));
  return std::next(known_.begin(), static_cast<std::ptrdiff_t>(below(known_.size())))->first;
}

Result<void> RandomWork::make(Provider& provider) { return call_(provider); }

void RandomWork::choose() {
  if (chance(0.2)) clock_.advance(Duration{below(4) == 0 ? 40'000 : below(500)});
  using Choice = void (RandomWork::*)();
  static constexpr std::pair<int, Choice> choices[] = {
      {10, &RandomWork::choose_start},         {10, &RandomWork::choose_message},
      {14, &RandomWork::choose_first_turns},   {14, &RandomWork::choose_fetch_turns},
      {22, &RandomWork::choose_commit_turns},  {3, &RandomWork::choose_give_back_turn},
      {3, &RandomWork::choose_renew_turns},    {8, &RandomWork::choose_fetch_work},
      {8, &RandomWork::choose_finish_work},    {10, &RandomWork::choose_finish_work_with_turn},
      {3, &RandomWork::choose_give_back_work}, {4, &RandomWork::choose_renew_work},
      {2, &RandomWork::choose_read_stolen},    {4, &RandomWork::choose_repeat},
  };
  int total = 0;
  for (const auto& [weight, choice] : choices) total += weight;
  call_ = nullptr;
  while (!call_) {
    auto drawn = static_cast<int>(below(static_cast<std::size_t>(total)));
    for (const auto& [weight, choice] : choices) {
      drawn -= weight;
      if (drawn >= 0) continue;
      (this->*choice)();  // may choose nothing
      break;
    }
  }
}

void RandomWork::choose_start() {
  std::vector<StartRequest> requests(1 + below(3));
  for (StartRequest& request : requests) {
    const bool taken = chance(0.2) && !known_.empty();
    request = start_request(taken ? some_instance() : settings_.prefix + std::to_string(next_instance_++));
    request.start.input = payload();
    if (taken) request.reuse = IdReuse::replace_when_final;
  }
  name_ = "start_instances";
  call_ = [this, requests](Provider& provider) -> Result<void> {
    const auto outcomes = provider.start_instances(requests);
    if (!outcomes) return outcomes.error();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if ((*outcomes)[i] == StartOutcome::created) known_.erase(requests[i].instance.value);
    }
    return {};
  };
}

void RandomWork::choose_message() {
  std::vector<OutboundMessage> messages(1 + below(2));
  for (OutboundMessage& message : messages) {
    message.target = some_instance();
    switch (below(4)) {
      case 0:
        message.body = message::CancelInstance{.reason = "enough"};
        break;
      case 1:
        message.body = message::QueueMessage{"orders", payload()};
        message.visible_at = clock_.now() + Duration{below(2000)};
        break;
      default:
        message.body = message::ExternalRaised{"go", payload()};
    }
    // With an id, so that a call can be repeated after a lost answer; sometimes with the previous id.
    if (next_message_ == 0 || chance(0.8)) ++next_message_;
    message.message_id = settings_.prefix + "-m" + std::to_string(next_message_);
  }
  name_ = "enqueue_messages";
  call_ = [messages](Provider& provider) -> Result<void> {
    const auto outcomes = provider.enqueue_messages(messages);
    if (!outcomes) return outcomes.error();
    return {};
  };
}

RandomWork::Known RandomWork::decide(TurnCommit& commit, Known known) {
  commit.token = CommitToken{++next_token_};
  commit.node = node;
  commit.execution = known.execution;
  commit.activity_lease = 30s;
  const TimePoint now = clock_.now();
  for (std::size_t i = below(3); i > 0; --i) {
    event::ActivityScheduled scheduled;
    scheduled.name = "Greet";
    scheduled.input = payload();
    add_event(commit, known.last, scheduled, now);
    NewActivity item;
    item.request.instance = commit.instance;
    item.request.key = {commit.incarnation, known.execution, known.last};
    item.request.name = "Greet";
    item.request.input = scheduled.input;
    item.request.orchestration_name = "Hello";
    item.request.orchestration_version = "1.0.0";
    if (chance(0.5)) item.born_leased = LeaseToken{++next_token_};
    commit.new_activities.push_back(item);
    known.activities.push_back(known.last);
  }
  if (chance(0.3)) {
    const TimePoint fire_at = now + Duration{1 + below(3000)};
    add_event(commit, known.last, event::TimerCreated{fire_at}, now);
    commit.messages.push_back({.target = commit.instance,
                               .body = message::TimerFired{known.execution, known.last, fire_at},
                               .visible_at = fire_at});
    known.timers.push_back(known.last);
  }
  if (chance(0.15)) {
    commit.messages.push_back(
        {.target = some_instance(), .body = message::ExternalRaised{"hello", payload()}});
  }
  if (chance(0.2)) commit.change.custom_status = CustomStatusChange{"status " + std::to_string(below(100))};
  for (std::size_t i = chance(0.3) ? 1 + below(3) : 0; i > 0; --i) {
    KeyValueChange change{"key-" + std::to_string(below(4)), payload(), now};
    if (chance(0.2)) change.value.reset();
    if (chance(0.05)) change = {};
    commit.change.key_values.push_back(change);
  }
  while (!known.activities.empty() && chance(0.25)) {
    const auto at = known.activities.begin() + static_cast<std::ptrdiff_t>(below(known.activities.size()));
    add_event(commit, known.last, event::ActivityCancelRequested{CancelReason::select_loser}, now, *at);
    commit.cancelled_activities.push_back({*at, CancelReason::select_loser});
    known.activities.erase(at);
  }
  if (!known.timers.empty() && chance(0.3)) {
    commit.dropped_timers.push_back(known.timers.back());
    known.timers.pop_back();
  }
  known.status = Status::running;
  if (chance(0.2)) {
    known.status = chance(0.6) ? Status::completed : Status::failed;
    if (known.status == Status::completed) {
      commit.change.output = payload();
      add_event(commit, known.last, event::OrchestrationCompleted{*commit.change.output}, now);
      commit.cancel_rest = CancelReason::orchestration_terminal_completed;
    } else {
      commit.change.failure = Failure{.type = "Broken", .message = "on purpose"};
      add_event(commit, known.last, event::OrchestrationFailed{*commit.change.failure}, now);
      commit.cancel_rest = CancelReason::orchestration_terminal_failed;
    }
  } else if (chance(0.1)) {
    known.status = Status::continued_as_new;
    const Payload input = payload();
    add_event(commit, known.last, event::OrchestrationContinuedAsNew{input}, now);
    commit.cancel_rest = CancelReason::orchestration_terminal_continued_as_new;
    commit.messages.push_back({.target = commit.instance,
                               .body = message::ContinueAsNew{.orchestration = "Hello", .input = input}});
  }
  if (known.status != Status::running) {
    known.activities.clear();
    known.timers.clear();
  }
  commit.change.status = known.status;
  return known;
}

void RandomWork::commit(std::string name, std::vector<TurnCommit> commits, std::vector<Known> after) {
  name_ = std::move(name);
  last_commit_ = commits;
  call_ = [this, commits = std::move(commits), after = std::move(after)](Provider& provider) -> Result<void> {
    const auto results = provider.commit_turns(commits);
    if (!results) return results.error();
    for (std::size_t i = 0; i < commits.size(); ++i) {
      const CommitResult& result = (*results)[i];
      if (result.outcome != CommitOutcome::committed) continue;
      Known& known = known_[commits[i].instance.value] = after[i];
      known.incarnation = result.incarnation;
      for (const NewActivity& item : commits[i].new_activities) {
        const EventId activity = item.request.key.activity;
        if (!item.born_leased || std::ranges::find(known.activities, activity) == known.activities.end())
          continue;
        LeasedActivity leased;
        leased.request = item.request;
        leased.request.key.incarnation = result.incarnation;
        leased.lease = {leased.request.key, *item.born_leased};
        work_.push_back(leased);
      }
    }
    return {};
  };
}

void RandomWork::choose_first_turns() {
  std::vector<TurnCommit> commits(1 + below(3));
  std::vector<Known> after;
  for (TurnCommit& turn : commits) {
    turn.instance = settings_.prefix + std::to_string(next_instance_++);
    StartRequest request = start_request(turn.instance.value);
    request.start.input = payload();
    Known known;
    event::OrchestrationStarted started;
    started.name = "Hello";
    started.version = "1.0.0";
    started.input = request.start.input;
    add_event(turn, known.last, started, clock_.now());
    turn.basis = FusedStart{request};
    turn.change.version = "1.0.0";
    after.push_back(decide(turn, known));
  }
  commit("commit of first turns", std::move(commits), std::move(after));
}

void RandomWork::choose_fetch_turns() {
  const TurnFetch request{.node = node, .limit = 1 + below(4), .lease = 30s};
  name_ = "fetch_turns";
  call_ = [this, request](Provider& provider) -> Result<void> {
    auto batch = provider.fetch_turns(request);
    if (!batch) return batch.error();
    for (LeasedInstance& item : batch->items) turns_.push_back(std::move(item));
    return {};
  };
}

void RandomWork::choose_commit_turns() {
  if (turns_.empty()) return;
  std::vector<TurnCommit> commits;
  std::vector<Known> after;
  for (std::size_t i = 1 + below(turns_.size()); i > 0; --i) {
    const LeasedInstance item = std::move(turns_.front());
    turns_.erase(turns_.begin());
    const auto same = [&](const TurnCommit& other) { return other.instance == item.instance; };
    if (std::ranges::any_of(commits, same)) continue;  // fetched again after its lease ended
    TurnCommit turn;
    turn.instance = item.instance;
    turn.incarnation = item.incarnation;
    turn.basis = HeldLease::all_of(item);
    Known known;
    if (const auto found = known_.find(item.instance.value); found != known_.end()) known = found->second;
    known.incarnation = item.incarnation;
    known.execution = item.execution;
    known.last = item.last_event_id;
    const bool begins = item.status == Status::pending || item.status == Status::continued_as_new;
    if (item.status == Status::continued_as_new) {
      known.execution = known.execution.next();
      known.last = {};
    }
    if (begins) {
      event::OrchestrationStarted started;
      started.name = item.name;
      started.version = "1.0.0";
      turn.change.version = "1.0.0";
      add_event(turn, known.last, started, clock_.now());
    } else {
      for (const InboxMessage& message : item.messages) {
        const auto* done = std::get_if<message::ActivityCompleted>(&message.body);
        if (done == nullptr || done->execution != known.execution) continue;
        add_event(turn, known.last, event::ActivityCompleted{done->result}, clock_.now(), done->id);
        std::erase(known.activities, done->id);
      }
      add_event(turn, known.last, event::ExternalEvent{"go", payload()}, clock_.now());
    }
    after.push_back(decide(turn, known));
    commits.push_back(std::move(turn));
  }
  commit("commit of held turns", std::move(commits), std::move(after));
}

void RandomWork::choose_give_back_turn() {
  if (turns_.empty()) return;
  const LeasedInstance item = std::move(turns_.back());
  turns_.pop_back();
  const TurnRelease abandon{{item.incarnation, item.lease}, Duration{below(2) * 700}, chance(0.5)};
  name_ = "release_turns";
  call_ = [abandon](Provider& provider) { return provider.release_turns({&abandon, 1}); };
}

void RandomWork::choose_renew_turns() {
  if (turns_.empty()) return;
  std::vector<TurnLease> leases;
  for (const LeasedInstance& item : turns_) leases.push_back({item.incarnation, item.lease});
  name_ = "renew_turns";
  call_ = [leases](Provider& provider) -> Result<void> {
    const auto renewed = provider.renew_turns(leases, 30s);
    if (!renewed) return renewed.error();
    return {};
  };
}

void RandomWork::choose_fetch_work() {
  // Sometimes as another node, whose leases are then stolen.
  const bool ours = chance(0.7);
  const ActivityFetch request{.node = ours ? node : other_node, .limit = 1 + below(4), .lease = 30s};
  name_ = "fetch_activities";
  call_ = [this, request, ours](Provider& provider) -> Result<void> {
    auto batch = provider.fetch_activities(request);
    if (!batch) return batch.error();
    for (LeasedActivity& item : batch->items) {
      if (ours) work_.push_back(std::move(item));
    }
    return {};
  };
}

void RandomWork::choose_finish_work() {
  if (work_.empty()) return;
  std::vector<ActivityAck> acks;
  for (std::size_t i = 1 + below(work_.size()); i > 0; --i) {
    const LeasedActivity item = std::move(work_.front());
    work_.erase(work_.begin());
    ActivityAck ack{item.lease, item.request.instance, payload()};
    if (chance(0.2)) ack.completion = Failure{.type = "Broken", .message = "by the activity"};
    if (chance(0.1)) ack.completion.reset();
    acks.push_back(std::move(ack));
  }
  name_ = "ack_activities";
  call_ = [acks](Provider& provider) -> Result<void> {
    const auto results = provider.ack_activities(acks);
    if (!results) return results.error();
    return {};
  };
}

void RandomWork::choose_finish_work_with_turn() {
  if (work_.empty()) return;
  const LeasedActivity item = std::move(work_.back());
  work_.pop_back();
  Known known;
  if (const auto found = known_.find(item.request.instance.value); found != known_.end())
    known = found->second;
  TurnCommit turn;
  turn.instance = item.request.instance;
  turn.incarnation = item.lease.key.incarnation;
  turn.basis = ConditionalLease{known.last};
  known.execution = item.lease.key.execution;
  const EventId activity = item.lease.key.activity;
  const Payload result = payload();
  turn.activity_acks.push_back({item.lease, item.request.instance, result});
  add_event(turn, known.last, event::ActivityCompleted{result}, clock_.now(), activity);
  std::erase(known.activities, activity);
  const Known after = decide(turn, known);
  commit("commit of a turn with its work", {turn}, {after});
}

void RandomWork::choose_give_back_work() {
  if (work_.empty()) return;
  const LeasedActivity item = std::move(work_.back());
  work_.pop_back();
  const ActivityRelease abandon{item.lease, Duration{below(2) * 700}, chance(0.5)};
  name_ = "release_activities";
  call_ = [abandon](Provider& provider) { return provider.release_activities({&abandon, 1}); };
}

void RandomWork::choose_renew_work() {
  if (work_.empty()) return;
  std::vector<ActivityRenewal> leases;
  for (const LeasedActivity& item : work_) leases.push_back({item.lease});
  name_ = "renew_activities";
  call_ = [leases](Provider& provider) -> Result<void> {
    const auto renewed = provider.renew_activities(leases, 30s);
    if (!renewed) return renewed.error();
    return {};
  };
}

void RandomWork::choose_read_stolen() {
  name_ = "read_stolen_leases";
  call_ = [](Provider& provider) -> Result<void> {
    const auto stolen = provider.read_stolen_leases(other_node);
    if (!stolen) return stolen.error();
    return {};
  };
}

void RandomWork::choose_repeat() {
  if (last_commit_.empty()) return;
  name_ = "repeated commit";
  call_ = [commits = last_commit_](Provider& provider) -> Result<void> {
    const auto results = provider.commit_turns(commits);
    if (!results) return results.error();
    return {};
  };
}

}  // namespace duramen::sqlite::test
