#include "core/property/drive.hpp"

#include "core/property/generate.hpp"
#include "core/property/interpret.hpp"
#include "core/property/outside.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace duramen::core_test::property {

namespace {

using core::TurnOutcome;

constexpr std::size_t most_turns = 40;

/// The amount of checks. A second run of the same seed only reports its decisions.
enum class Scrutiny { everything, transcript };

class Drive {
 public:
  Drive(std::uint64_t seed, const EngineFactory& factory, Scrutiny scrutiny, Report& report)
      : rng_(seed), doubts_(~seed), factory_(factory), scrutiny_(scrutiny), report_(report) {}

  void run();
  [[nodiscard]] const std::string& transcript() const { return transcript_; }

 private:
  void run_execution(MessageBody first);
  bool turn(const Batch& batch);
  void run_other_ways(const TurnOutcome& outcome, const Batch& batch);
  void commit(TurnOutcome outcome, const Batch& batch);
  void follow_up();
  void found(std::string what) {
    if (!report_.finding) report_.finding = std::move(what);
  }
  TurnOutcome run_on(Engine& engine, const std::vector<MessageBody>& messages) const {
    const auto unseen = std::span<const Event>(record_.history).subspan(engine.last_event_id().value);
    return engine.run_turn({unseen, messages, outside_->now(), entropy_});
  }

  Rng rng_;     // what happens
  Rng doubts_;  // what is checked: may not change what happens
  const EngineFactory& factory_;
  const Scrutiny scrutiny_;
  Report& report_;
  std::string transcript_;

  std::shared_ptr<const Program> program_;
  std::optional<ParentLink> parent_;
  KeyValues key_values_;

  // The execution under way.
  Record record_;
  std::optional<Outside> outside_;
  std::unique_ptr<Engine> live_;
  std::unique_ptr<Engine> behind_;
  std::uint64_t entropy_ = 0;
  std::optional<MessageBody> next_;  // the start of the next execution
  std::vector<MessageBody> left_;    // in the queue behind it
  bool over_ = false;
};

void Drive::run() {
  program_ = std::make_shared<const Program>(generate(rng_));
  report_.program = *program_;
  if (rng_.one_in(4)) parent_ = ParentLink{"parent", Incarnation{9}, ExecutionId{1}, EventId{3}};
  std::optional<MessageBody> first = message::StartOrchestration{"subject", Payload::text("go"), {}, parent_};
  for (std::uint64_t execution = 1; first && !report_.finding; ++execution) {
    record_ = Record{};
    record_.subject = {{"i", Incarnation{1}, ExecutionId{execution}}, handler_for(program_), {}};
    record_.subject.options.key_values = key_values_;
    run_execution(std::move(*first));
    first = std::exchange(next_, std::nullopt);
  }
}

void Drive::run_execution(MessageBody first) {
  ++report_.executions;
  over_ = false;
  outside_.emplace(record_.subject.identity, parent_);
  live_ = factory_(record_.subject, Role::live);
  behind_ = factory_(record_.subject, Role::behind);
  Batch batch{{std::move(first)}, false, false};
  for (MessageBody& message : std::exchange(left_, {})) batch.messages.push_back(std::move(message));
  outside_->add_early_messages(rng_, batch.messages);
  bool goes_on = turn(batch);
  for (std::size_t i = 0; goes_on && !over_; ++i) {
    if (i < most_turns) {
      goes_on = turn(outside_->next_batch(rng_));
    } else {
      goes_on = turn({{message::CancelInstance{"too long", CancelMode::terminate, CancelOrigin::client, {}}},
                      true,
                      false});
    }
  }
  if (goes_on) follow_up();
  live_.reset();
  behind_.reset();
}

/// True as long as nothing was found.
bool Drive::turn(const Batch& batch) {
  ++report_.turns;
  entropy_ = rng_.next();
  TurnOutcome outcome = run_on(*live_, batch.messages);
  transcript_ += to_text(outcome);
  if (scrutiny_ == Scrutiny::everything) run_other_ways(outcome, batch);
  commit(std::move(outcome), batch);
  return !report_.finding;
}

void Drive::run_other_ways(const TurnOutcome& outcome, const Batch& batch) {
  const bool at_fault = outcome.failure && (outcome.failure->kind == FailureKind::nondeterminism ||
                                            outcome.failure->kind == FailureKind::limit);
  if (at_fault && !batch.foreign) {
    return found("the engine gave up on code that did not change: " + outcome.failure->message +
                 "\nhistory\n" + to_text(record_.history));
  }
  if (batch.genuine && outcome.ignored_messages != 0) {
    return found("what the execution waits for was ignored\nhistory\n" + to_text(record_.history));
  }
  const auto replayed = factory_(record_.subject, Role::replayed);
  if (auto differs = compare_outcomes(outcome, run_on(*replayed, batch.messages))) {
    return found("replayed from the start, a turn decides otherwise: " + *differs + "history before\n" +
                 to_text(record_.history));
  }
  if (doubts_.one_in(2)) return;  // it misses this turn, and sees it in history later
  if (auto differs = compare_outcomes(outcome, run_on(*behind_, batch.messages))) {
    return found("one that was behind decides otherwise: " + *differs + "history before\n" +
                 to_text(record_.history));
  }
  // It has run ahead of the store. Its successor begins with what is stored before this turn.
  behind_ = factory_(record_.subject, Role::behind);
  const TurnOutcome nothing = run_on(*behind_, {});
  if (!nothing.events.empty() || nothing.failure)
    found("replay alone decided something\n" + to_text(nothing));
}

void Drive::commit(TurnOutcome outcome, const Batch& batch) {
  const bool ended = outcome.ended();
  record_.history.insert(record_.history.end(), outcome.events.begin(), outcome.events.end());
  record_.entropies.resize(record_.history.size(), entropy_);
  report_.events += outcome.events.size();
  if (scrutiny_ == Scrutiny::everything) {
    if (auto wrong = check_shape(outcome, record_.history)) found(*wrong + "\n" + to_text(record_.history));
  }
  if (auto wrong = outside_->take(outcome, batch.messages, record_.history)) {
    found(*wrong + "\nturn\n" + to_text(outcome) + "history\n" + to_text(record_.history));
  }
  for (const KeyValueChange& change : outcome.key_values) {
    if (!change.key) {
      key_values_.clear();
    } else if (change.value) {
      key_values_[*change.key] = {*change.value, change.updated_at};
    } else {
      key_values_.erase(*change.key);
    }
  }
  for (OutboundMessage& message : outcome.messages) {
    if (std::holds_alternative<message::ContinueAsNew>(message.body)) next_ = std::move(message.body);
  }
  if (!ended) return;
  for (std::size_t i = 0; i < batch.messages.size(); ++i) {
    const MessageBody& message = batch.messages[i];
    const bool is_mail = std::holds_alternative<message::ExternalRaised>(message) ||
                         std::holds_alternative<message::QueueMessage>(message) ||
                         std::holds_alternative<message::CancelInstance>(message);
    // Answers are forged at times.
    if (is_mail && !std::ranges::binary_search(outcome.taken, i)) left_.push_back(message);
  }
  over_ = true;
  record_.imposed = batch.foreign && outcome.failure && outcome.failure->kind == FailureKind::nondeterminism;
  if (outcome.status == Status::cancelled) ++report_.cancelled;
}

/// It is over: late messages change nothing, and a replay of its history gives the same story.
void Drive::follow_up() {
  const Batch late = outside_->next_batch(rng_);
  const TurnOutcome after = run_on(*live_, late.messages);
  if (!after.events.empty() || !after.messages.empty())
    found("something happened after the end\n" + to_text(after));
  if (scrutiny_ != Scrutiny::everything) return;
  const auto replayed = factory_(record_.subject, Role::replayed);
  if (auto differs = compare_outcomes(after, run_on(*replayed, late.messages))) {
    found("after the end, a replay decides otherwise: " + *differs);
  }
  if (auto wrong = check_prefixes(record_, factory_)) found(*wrong);
  auto changed = std::make_shared<const Program>(mutate(*program_, doubts_));
  auto wrong = check_change(record_, handler_for(changed), factory_, doubts_, report_.changes_reported);
  if (wrong) found(*wrong + "\nchanged to\n" + to_text(*changed));
}

}  // namespace

Report check_seed(std::uint64_t seed, const EngineFactory& factory) {
  Report report;
  Drive first(seed, factory, Scrutiny::everything, report);
  first.run();
  if (report.finding) return report;
  Report again;
  Drive second(seed, factory, Scrutiny::transcript, again);
  second.run();
  if (first.transcript() != second.transcript()) {
    report.finding =
        "the same seed gives another run\nfirst\n" + first.transcript() + "second\n" + second.transcript();
  }
  return report;
}

std::string describe(std::uint64_t seed, const Report& report) {
  return "seed " + std::to_string(seed) + ": " + report.finding.value_or("nothing found") + "\n" +
         to_text(report.program) + "repeat it with DURAMEN_PROPERTY_SEED=" + std::to_string(seed);
}

}  // namespace duramen::core_test::property
