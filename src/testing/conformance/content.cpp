// Content: a store returns every text, number and record unchanged.
#include "testing/conformance/driver.hpp"

namespace duramen::inline v0::testing {
namespace {
using namespace std::chrono_literals;

/// Sends a payload through every place that stores one.
void round_trip(Driver& d, const Payload& payload) {
  const StartRequest request{.instance = "a", .start = {.orchestration = "Orch", .input = payload}};
  d.get(d.store.start_instances({&request, 1}));
  d.send("a", message::ExternalRaised{"x", payload});
  const LeasedInstance item = d.fetch_one();
  if (item.messages.size() != 2) d.stop("a start and an event");
  d.check.that(std::get<message::StartOrchestration>(item.messages[0].body).input == payload,
               "input of a start");
  d.check.that(std::get<message::ExternalRaised>(item.messages[1].body).data == payload, "data of an event");

  TurnCommit first = d.turn(item);
  first.events = {
      make_event(1, event::OrchestrationStarted{.name = "Orch", .version = "1", .input = payload}),
      make_event(2, event::ActivityScheduled{.name = "Act", .input = payload})};
  first.new_activities = {Driver::activity(d.info("a").value(), 2)};
  first.new_activities[0].request.input = payload;
  d.must_commit(first);
  d.check.that(d.history("a") == first.events, "events");
  const LeasedActivity activity = d.fetch_one_activity();
  d.check.that(activity.request.input == payload, "input of an activity");
  d.ack({activity.lease, "a", payload});
  const LeasedInstance done = d.fetch_one();
  d.check.that(std::get<message::ActivityCompleted>(done.messages.at(0).body).result == payload, "a result");
  TurnCommit last = d.final_turn(done);
  last.change.output = payload;
  d.must_commit(last);
  d.check.that(d.info("a").value().output == payload, "output");
}

void a_payload_of_one_mebibyte_is_stored_unchanged(Driver& d) {
  std::string text;
  text.reserve(1 << 20);
  for (std::uint32_t n = 1; text.size() < (1u << 20); n = n * 1664525u + 1013904223u) {
    text += static_cast<char>(' ' + (n >> 24) % 95);
  }
  round_trip(d, Payload::text(std::move(text)));
}

void quotes_control_characters_and_emoji_are_stored_unchanged(Driver& d) {
  round_trip(d, Payload::text(
                    "quotes ' \" ` \\ % _ ; -- \t\r\n\x01\x1f \x7f \u00e9 \u2028 \U0001F333 {\"a\":[1]} "));
}

void json_is_stored_as_it_was_written(Driver& d) {
  round_trip(
      d, Payload::json("{\"b\": 1.50, \"a\":[null,true,\"\\u00e9\\n\"],\n \"big\":123456789012345678901}"));
}

void an_empty_payload_is_stored_unchanged(Driver& d) { round_trip(d, Payload::text("")); }

void instance_ids_may_be_any_text(Driver& d) {
  const std::vector<std::string> ids{"it's", "\"x\"", "a::sub::1.2",        "% _", "\U0001F333 \u00e9", "a b",
                                     "A",    "a",     std::string(200, 'x')};
  for (const auto& id : ids) d.check.equal(d.start(id), StartOutcome::created, "start of " + id);
  for (const auto& id : ids) {
    const auto info = d.info(id);
    d.check.that(info && info->instance == InstanceId{id}, "info of " + id);
  }
  d.check.equal(d.fetch(100).size(), ids.size(), "instances to run");
}

void every_kind_of_message_is_stored_unchanged(Driver& d) {
  const InstanceInfo info = d.running("a");
  const ParentLink link{"a", info.incarnation, ExecutionId{1}, EventId{9}};
  const Failure failure{.kind = FailureKind::timeout,
                        .type = "T",
                        .message = "it's \"late\"",
                        .retryable = true,
                        .details = R"({"x":[1,2]})",
                        .attempt = 2,
                        .timeout = TimeoutKind::start_to_close};
  const AttemptInfo ran{d.now() - 3s, 2, "worker"};
  // In the order of delivery: a timer by its time.
  const std::vector<MessageBody> items{
      message::TimerFired{ExecutionId{1}, EventId{4}, d.now() - 5ms},
      message::ActivityCompleted{ExecutionId{1}, EventId{2}, Payload::json("{}"), ran},
      message::ActivityFailed{ExecutionId{1}, EventId{3}, failure, ran, Payload::text("half")},
      message::SubOrchestrationCompleted{link, Payload::text("r")},
      message::SubOrchestrationFailed{link, failure},
      message::ExternalRaised{"name", Payload::json("null"), "someone"},
      message::QueueMessage{"name", Payload::text("null"), "someone"},
      message::CancelInstance{"", CancelMode::graceful, CancelOrigin::client, std::nullopt},
      message::CancelInstance{"why", CancelMode::terminate, CancelOrigin::client, std::nullopt, "someone"},
  };
  for (const MessageBody& item : items) d.send("a", item);
  const LeasedInstance fetched = d.fetch_one();
  if (fetched.messages.size() != items.size()) d.stop("not all messages arrived");
  for (std::size_t i = 0; i < items.size(); ++i) {
    d.check.that(fetched.messages[i].body == items[i],
                 "message " + std::to_string(i) + ": " + to_json(fetched.messages[i].body, "a"));
  }
  const ParentLink absent{"absent", Incarnation{77}, ExecutionId{1}, EventId{9}};
  const StartRequest start{.instance = "b",
                           .start = {.orchestration = "O",
                                     .input = {},
                                     .version = "3",
                                     .parent = absent,
                                     .requested_by = "someone",
                                     .depth = 4}};
  d.get(d.store.start_instances({&start, 1}));
  const message::CancelInstance cancel{"why", CancelMode::graceful, CancelOrigin::parent, absent};
  d.send("b", cancel);
  const LeasedInstance child = d.fetch_one();
  if (child.messages.size() != 2) d.stop("a start and a cancel");
  d.check.that(child.messages[0].body == MessageBody{start.start}, "a start");
  d.check.that(child.messages[1].body == MessageBody{cancel}, "a cancel from the parent");
  d.check.that(d.info("b").value().parent == absent, "a parent link");
}

void the_beginning_of_the_next_execution_is_stored_unchanged(Driver& d) {
  d.running("a");
  const ParentLink link{"p", Incarnation{77}, ExecutionId{3}, EventId{9}};
  const message::ContinueAsNew next{
      .orchestration = "Orch",
      .input = Payload::json("{\"n\": [1]}"),
      .version = "3",
      .carry_forward = {{CarriedEvent::Kind::external, "e", Payload::text("it's \"late\"")},
                        {CarriedEvent::Kind::queue, "q", Payload::json("null")}},
      .initial_custom_status = "50%",
      .parent = link,
      .depth = 4,
      .events_before = 0x7fff'ffff'ffff,
      .requested_by = "someone"};
  TurnCommit last = d.continuing_turn(d.woken("a"));
  last.messages = {{"a", next}};
  d.must_commit(last);
  const LeasedInstance fetched = d.fetch_one();
  if (fetched.messages.size() != 1) d.stop("one message");
  d.check.that(fetched.messages[0].body == MessageBody{next},
               "the beginning: " + to_json(fetched.messages[0].body, "a"));
}

void every_kind_of_event_is_stored_unchanged(Driver& d) {
  d.start("a");
  const LeasedInstance item = d.fetch_one();
  const ParentLink link{"p", Incarnation{77}, ExecutionId{3}, EventId{9}};
  const Failure failure = Failure{.kind = FailureKind::poison, .type = "T", .message = "m", .details = "[]"};
  const Payload data = Payload::json("[1]");
  const TimePoint at = from_unix_ms(1'750'000'123'456);
  const CancelReason why = CancelReason::select_loser;
  const std::vector<EventBody> bodies{
      event::OrchestrationStarted{
          "n", "1.0", data, link, {{CarriedEvent::Kind::queue, "q", data}}, "s", 4, true},
      event::OrchestrationStarted{.name = "n", .version = "v", .input = data},
      event::OrchestrationStarted{.name = "n",
                                  .version = "v",
                                  .input = data,
                                  .cancel = event::OrchestrationCancelRequested{"r", CancelMode::terminate,
                                                                                CancelOrigin::parent, "x"},
                                  .requested_by = "someone",
                                  .depth = 4,
                                  .events_before = 7,
                                  .max_depth = 0,
                                  .max_payload_bytes = 7},
      event::OrchestrationCancelRequested{"r", CancelMode::terminate, CancelOrigin::parent},
      event::ActivityCompleted{data},
      event::ActivityFailed{failure},
      event::TimerFired{at},
      event::SubOrchestrationCompleted{data},
      event::SubOrchestrationFailed{failure},
      event::ExternalEvent{"e", data},
      event::QueueEventDelivered{"q", data},
      event::ActivityScheduled{"n", data, "session", "tag", {1s, 2s, 3s}},
      event::ActivityScheduled{.name = "n", .input = data},
      event::TimerCreated{at},
      event::ExternalSubscribed{"e"},
      event::QueueSubscribed{"q"},
      event::SubOrchestrationScheduled{"n", "child", data, "2", true},
      event::SubOrchestrationScheduled{.name = "n", .instance = "child", .input = data},
      event::OrchestrationChained{"n", "i", data, "2"},
      event::CustomStatusUpdated{"s"},
      event::CustomStatusUpdated{},
      event::KeyValueSet{"k", data, at},
      event::KeyValueCleared{"k"},
      event::KeyValuesCleared{},
      event::ActivityCancelRequested{why},
      event::SubOrchestrationCancelRequested{why, "enough", CancelMode::terminate, "ann"},
      event::ExternalSubscribedCancelled{why},
      event::QueueSubscriptionCancelled{why},
      event::OrchestrationCompleted{data},
      event::OrchestrationFailed{failure},
      event::OrchestrationContinuedAsNew{data},
  };
  TurnCommit commit = d.turn(item);
  for (const EventBody& body : bodies) {
    const std::uint64_t id = commit.events.size() + 1;
    commit.events.push_back(make_event(id, body, id % 3));
    commit.events.back().timestamp = at + Duration{static_cast<int>(id)};
  }
  d.must_commit(commit);
  const auto stored = d.history("a");
  if (stored.size() != commit.events.size()) d.stop("not all events were stored");
  for (std::size_t i = 0; i < stored.size(); ++i) {
    d.check.that(stored[i] == commit.events[i], "event " + std::to_string(i + 1));
  }
}

void large_numbers_are_stored_exactly(Driver& d) {
  d.running("a");
  d.send("a",
         message::ActivityCompleted{ExecutionId{0x7fff'ffff'ffff'ffff}, EventId{0x7fff'ffff'ffff'fffe}, {}});
  const LeasedInstance item = d.fetch_one();
  const auto& done = std::get<message::ActivityCompleted>(item.messages.at(0).body);
  d.check.that(done.execution.value == 0x7fff'ffff'ffff'ffff && done.id.value == 0x7fff'ffff'ffff'fffe,
               "numbers");
  // Tokens use all 64 bits.
  TurnCommit commit = d.turn(item);
  commit.token = CommitToken{0xffff'ffff'ffff'fff1};
  d.must_commit(commit);
  d.check.equal(d.commit(commit).outcome, CommitOutcome::already_committed,
                "a token with its highest bit set");
}

}  // namespace

std::span<const ConformanceCase> content_cases() {
  static constexpr ConformanceCase cases[] = {
      DURAMEN_CASE(a_payload_of_one_mebibyte_is_stored_unchanged),
      DURAMEN_CASE(quotes_control_characters_and_emoji_are_stored_unchanged),
      DURAMEN_CASE(json_is_stored_as_it_was_written),
      DURAMEN_CASE(an_empty_payload_is_stored_unchanged),
      DURAMEN_CASE(instance_ids_may_be_any_text),
      DURAMEN_CASE(every_kind_of_message_is_stored_unchanged),
      DURAMEN_CASE(the_beginning_of_the_next_execution_is_stored_unchanged),
      DURAMEN_CASE(every_kind_of_event_is_stored_unchanged),
      DURAMEN_CASE(large_numbers_are_stored_exactly),
  };
  return cases;
}

}  // namespace duramen::inline v0::testing
