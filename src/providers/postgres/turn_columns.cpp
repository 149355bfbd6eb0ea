#include "providers/postgres/turn_columns.hpp"

#include "providers/common/invalid_turn.hpp"
#include "providers/common/start_digest.hpp"
#include "providers/postgres/encoding.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <variant>

namespace duramen::inline v0::postgres::detail {

namespace {

enum Basis { held = 0, conditional = 1, fused = 2 };

bool numbered_one_after_the_other(const TurnCommit& commit) {
  if (commit.events.empty()) return true;
  EventId next = commit.events.front().id;
  if (!next) return false;
  return std::ranges::all_of(commit.events, [&](const Event& event) {
    const bool fits = event.id == next;
    next = next.next();
    return fits;
  });
}

bool is_first_turn(const TurnCommit& commit) {
  return commit.execution == ExecutionId{1} && commit.activity_acks.empty() &&
         (commit.events.empty() || commit.events.front().id == EventId{1});
}

/// Calls `visit` with every link in a message that may name the committing instance.
template <class Message, class Visit>
void each_link(Message& message, Visit visit) {
  if (auto* start = std::get_if<message::StartOrchestration>(&message.body)) {
    if (start->parent) visit(*start->parent);
  } else if (auto* cancel = std::get_if<message::CancelInstance>(&message.body)) {
    if (cancel->parent) visit(*cancel->parent);
  }
  if (message.if_refused) {
    if (auto* failed = std::get_if<message::SubOrchestrationFailed>(&*message.if_refused))
      visit(failed->parent);
  }
}

template <class Body>
const Body* own(const TurnCommit& commit, const OutboundMessage& message) {
  return message.target == commit.instance ? std::get_if<Body>(&message.body) : nullptr;
}

/// True if the commit drops this timer again: it is never inserted.
bool is_dropped(const TurnCommit& commit, const message::TimerFired& timer) {
  if (timer.execution != commit.execution) return false;
  return commit.cancel_rest ||
         std::ranges::find(commit.dropped_timers, timer.id) != commit.dropped_timers.end();
}

}  // namespace

bool needs_number(const TurnCommit& commit) {
  if (!std::holds_alternative<FusedStart>(commit.basis)) return false;
  bool needs = false;
  for (const OutboundMessage& message : commit.messages) {
    each_link(message, [&](const ParentLink& link) {
      needs |= link.instance == commit.instance && !link.incarnation;
    });
  }
  return needs;
}

std::optional<std::string> completion_json(const ActivityAck& ack) {
  if (!ack.completion) return std::nullopt;
  const ActivityKey& key = ack.lease.key;
  MessageBody item;
  if (const auto* result = std::get_if<Payload>(&*ack.completion)) {
    item = message::ActivityCompleted{key.execution, key.activity, *result, ack.ran};
  } else {
    item = message::ActivityFailed{key.execution, key.activity, std::get<Failure>(*ack.completion), ack.ran,
                                   ack.heartbeat};
  }
  return to_json(item, ack.instance);
}

void TurnColumns::add(const TurnCommit& commit, Incarnation number) {
  ++turns_;
  add_turn(commit, number);
  add_acks(commit);
  add_work(commit);
  add_messages(commit, number);
  if (const auto* lease = std::get_if<HeldLease>(&commit.basis)) {
    for (const std::int64_t place : lease->taken) {
      taken_.turn.add(turns_);
      taken_.place.add(place);
    }
  }
  for (const EventId timer : commit.dropped_timers) {
    dropped_.turn.add(turns_);
    dropped_.event.add(timer.value);
  }
  for (const KeyValueChange& change : commit.change.key_values) {
    value_.turn.add(turns_);
    value_.key.add(change.key);
    value_.value.add(change.value ? std::optional<std::string_view>(change.value->data) : std::nullopt);
    value_.encoding.add(change.value ? std::optional<std::string_view>(to_string(change.value->encoding))
                                     : std::nullopt);
    value_.at.add(to_unix_ms(change.updated_at));
  }
}

void TurnColumns::add_turn(const TurnCommit& commit, Incarnation number) {
  const auto* lease = std::get_if<HeldLease>(&commit.basis);
  const auto* condition = std::get_if<ConditionalLease>(&commit.basis);
  const auto* start = std::get_if<FusedStart>(&commit.basis);
  const InstanceChange& change = commit.change;

  turn_.basis.add(lease != nullptr ? held : condition != nullptr ? conditional : fused);
  turn_.token.add(commit.token.value);
  turn_.node.add(commit.node.value);
  turn_.instance.add(commit.instance.value);
  turn_.key.add(start != nullptr ? number.value : commit.incarnation.value);
  turn_.lease.add(lease != nullptr ? lease->token.value : std::uint64_t{0});
  turn_.seen.add(condition != nullptr ? condition->last_event_id.value : std::uint64_t{0});
  turn_.replay.add(condition != nullptr ? condition->replay_token.value : std::uint64_t{0});
  turn_.execution.add(commit.execution.value);
  turn_.fits.add(numbered_one_after_the_other(commit) && (start == nullptr || is_first_turn(commit)) &&
                 providers::problem_of(commit) == nullptr);
  turn_.first.add(commit.events.empty() ? std::uint64_t{0} : commit.events.front().id.value);
  turn_.last.add(commit.events.empty() ? std::uint64_t{0} : commit.events.back().id.value);
  turn_.events.add(encode_events(commit.events));
  turn_.status.add(to_string(change.status));
  turn_.version.add(change.version);
  turn_.engine.add(change.engine_version);
  turn_.output.add(change.output ? std::optional<std::string_view>(change.output->data) : std::nullopt);
  turn_.output_encoding.add(
      change.output ? std::optional<std::string_view>(to_string(change.output->encoding)) : std::nullopt);
  turn_.failure.add(change.failure ? std::optional(stored_failure(*change.failure)) : std::nullopt);
  turn_.parent.add(start != nullptr && !change.parent ? start->request.start.parent : change.parent);
  turn_.sets_status.add(change.custom_status.has_value());
  turn_.custom_status.add(change.custom_status ? change.custom_status->status : std::nullopt);
  turn_.sets_values.add(!change.key_values.empty());
  turn_.activity_lease.add(whole(commit.activity_lease));
  turn_.cancel_rest.add(commit.cancel_rest ? std::optional<std::string_view>(to_string(*commit.cancel_rest))
                                           : std::nullopt);
  turn_.name.add(start != nullptr ? std::string_view(start->request.start.orchestration)
                                  : std::string_view());
  turn_.digest.add(start != nullptr ? providers::start_digest(start->request.start) : std::int64_t{0});
  turn_.reuse.add(start != nullptr && start->request.reuse == IdReuse::replace_when_final);
  turn_.graceful.add(change.graceful);
  turn_.asked.add(cancel_strength(change.cancel_asked));
  const message::ContinueAsNew* begin = nullptr;
  for (const OutboundMessage& message : commit.messages) {
    if (const auto* next = own<message::ContinueAsNew>(commit, message)) begin = next;
  }
  turn_.next_version.add(begin != nullptr ? std::optional(begin->version.value_or("")) : std::nullopt);
  turn_.put_back.add(static_cast<std::uint64_t>(commit.put_back.size()));
}

void TurnColumns::add_acks(const TurnCommit& commit) {
  for (const ActivityAck& ack : commit.activity_acks) {
    ack_.turn.add(turns_);
    ack_.key.add(ack.lease.key.incarnation.value);
    ack_.execution.add(ack.lease.key.execution.value);
    ack_.activity.add(ack.lease.key.activity.value);
    ack_.token.add(ack.lease.token.value);
    ack_.item.add(completion_json(ack));
  }
}

void TurnColumns::add_work(const TurnCommit& commit) {
  std::unordered_set<EventId> cancelled;
  for (const CancelledActivity& entry : commit.cancelled_activities) {
    cancelled.insert(entry.activity);
    cancelled_.turn.add(turns_);
    cancelled_.activity.add(entry.activity.value);
    cancelled_.reason.add(to_string(entry.reason));
  }
  if (commit.cancel_rest) return;
  for (const NewActivity& item : commit.new_activities) {
    const ActivityRequest& activity = item.request;
    // An activity scheduled and cancelled in one turn is never inserted, and no lease is stolen.
    if (cancelled.contains(activity.key.activity)) continue;
    work_.turn.add(turns_);
    work_.execution.add(activity.key.execution.value);
    work_.activity.add(activity.key.activity.value);
    work_.token.add(item.born_leased ? std::optional(item.born_leased->value) : std::nullopt);
    work_.name.add(activity.name);
    work_.input.add(activity.input.data);
    work_.encoding.add(to_string(activity.input.encoding));
    work_.session.add(activity.session_id);
    work_.tag.add(activity.tag);
    work_.start.add(limit_or_null(activity.options.schedule_to_start));
    work_.close.add(limit_or_null(activity.options.start_to_close));
    work_.heartbeat.add(limit_or_null(activity.options.heartbeat));
    work_.orchestration.add(activity.orchestration_name);
    work_.version.add(activity.orchestration_version);
    work_.owner.add(item.born_leased ? std::optional(commit.node.value) : std::nullopt);
    work_.retry_of.add(activity.retry_of.value);
    work_.attempts_before.add(activity.attempts_before);
    work_.fence_base.add(activity.fence_base);
    work_.details.add(activity.heartbeat ? std::optional<std::string_view>(activity.heartbeat->data)
                                         : std::nullopt);
    work_.details_encoding.add(activity.heartbeat
                                   ? std::optional<std::string_view>(to_string(activity.heartbeat->encoding))
                                   : std::nullopt);
  }
}

void TurnColumns::add_messages(const TurnCommit& commit, Incarnation number) {
  for (const OutboundMessage& message : commit.messages) {
    if (const auto* timer = own<message::TimerFired>(commit, message)) {
      if (is_dropped(commit, *timer)) continue;
      timer_.turn.add(turns_);
      timer_.execution.add(timer->execution.value);
      timer_.event.add(timer->id.value);
      timer_.at.add(to_unix_ms(timer->fire_at));
      continue;
    }
    if (own<message::ContinueAsNew>(commit, message) != nullptr) {
      begin_.turn.add(turns_);
      begin_.item.add(to_json(message.body, message.target));
      continue;
    }
    message_turn_.add(turns_);
    const auto refused = [](const OutboundMessage& sent,
                            const InstanceId& sender) -> std::optional<std::string> {
      if (!sent.if_refused) return std::nullopt;
      return to_json(*sent.if_refused, sender);
    };
    if (!number) {
      message_.add(message);
      refused_.add(refused(message, commit.instance));
      continue;
    }
    // A fused first turn could not know the incarnation of its instance.
    OutboundMessage completed = message;
    each_link(completed, [&](ParentLink& link) {
      if (link.instance == commit.instance && !link.incarnation) link.incarnation = number;
    });
    message_.add(completed);
    refused_.add(refused(completed, commit.instance));
  }
}

Parameters TurnColumns::locks() const {
  Parameters p;
  const auto add = [&p](auto... columns) { (p.add(std::move(columns)), ...); };
  p.flag(true);
  add(turn_.basis, turn_.instance, turn_.key, turn_.execution, turn_.cancel_rest);
  add(ack_.key, ack_.execution, ack_.activity);
  add(message_turn_, message_.kind, message_.target);
  add(cancelled_.turn, cancelled_.activity);
  return p;
}

Parameters TurnColumns::take(const TransactionTime& time) {
  Parameters p;
  const auto add = [&p](auto&... columns) { (p.add(std::move(columns)), ...); };
  p.number(time.now).number(time.lease_now);
  add(turn_.basis, turn_.token, turn_.node, turn_.instance, turn_.key, turn_.lease, turn_.seen, turn_.replay,
      turn_.execution, turn_.fits, turn_.first, turn_.last, turn_.events, turn_.status, turn_.version,
      turn_.engine, turn_.output, turn_.output_encoding, turn_.failure);
  turn_.parent.take_into(p);
  add(turn_.sets_status, turn_.custom_status, turn_.sets_values, turn_.activity_lease, turn_.cancel_rest,
      turn_.name, turn_.digest, turn_.reuse, turn_.graceful, turn_.asked, turn_.next_version, turn_.put_back);
  add(ack_.turn, ack_.key, ack_.execution, ack_.activity, ack_.token, ack_.item);
  add(work_.turn, work_.execution, work_.activity, work_.token, work_.name, work_.input, work_.encoding,
      work_.session, work_.tag, work_.start, work_.close, work_.heartbeat, work_.orchestration, work_.version,
      work_.owner, work_.retry_of, work_.attempts_before, work_.fence_base, work_.details,
      work_.details_encoding);
  add(taken_.turn, taken_.place);
  add(begin_.turn, begin_.item);
  add(timer_.turn, timer_.execution, timer_.event, timer_.at);
  add(message_turn_);
  message_.take_into(p);
  add(refused_);
  add(cancelled_.turn, cancelled_.activity, cancelled_.reason);
  add(dropped_.turn, dropped_.event);
  add(value_.turn, value_.key, value_.value, value_.encoding, value_.at);
  return p;
}

TurnAnswer read_turn_answer(const Rows& rows, std::span<const TurnCommit> commits) {
  enum {
    outcomes,
    keys,
    starts,
    ack_outcomes,
    ack_reasons,
    stolen_turn,
    stolen,
    erased,
    work_ready,
    put_back_at
  };
  TurnAnswer answer;
  const auto outcome = rows.integers(0, outcomes);
  const auto key = rows.integers(0, keys);
  const auto start = rows.integers(0, starts);
  for (std::size_t i = 0; i < commits.size(); ++i) {
    CommitResult& result = answer.results.emplace_back();
    result.outcome = static_cast<CommitOutcome>(outcome.at(i));
    result.incarnation = Incarnation{static_cast<std::uint64_t>(key.at(i))};
    result.start = static_cast<StartOutcome>(start.at(i));
    if (result.outcome == CommitOutcome::invalid) result.message = providers::reason_of_invalid(commits[i]);
  }
  const auto ack_outcome = rows.integers(0, ack_outcomes);
  const auto ack_reason = rows.texts(0, ack_reasons);
  if (!ack_outcome.empty()) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < commits.size(); ++i) {
      for (std::size_t a = 0; a < commits[i].activity_acks.size(); ++a, ++at) {
        if (answer.results[i].outcome != CommitOutcome::condition_failed) continue;
        answer.results[i].acks.push_back({static_cast<AckOutcome>(ack_outcome.at(at)),
                                          parse_cancel_reason(ack_reason.at(at)).value_or(CancelReason{})});
      }
    }
  }
  const auto turn = rows.integers(0, stolen_turn);
  auto leases = rows.stolen_leases(0, stolen);
  for (std::size_t i = 0; i < leases.size(); ++i) {
    answer.results.at(static_cast<std::size_t>(turn.at(i)) - 1).stolen.push_back(std::move(leases[i]));
  }
  answer.erased = rows.stolen_leases(0, erased);
  answer.work_ready = rows.flag(0, work_ready);
  answer.put_back_at = rows.integers(0, put_back_at);
  return answer;
}

}  // namespace duramen::inline v0::postgres::detail
