// The engine gets any history and any messages. It may report them as invalid; it must not crash, leak or
// hang, and its decisions are well-formed. It must accept a history that it made.
//
// Layout of the input: the program, whether it is known, then commands: messages in batches, damage to the
// history, a dropped execution, an unexpected event.
#include "core/execution.hpp"
#include "core/property/generate.hpp"
#include "core/property/interpret.hpp"
#include "history_from_bytes.hpp"
#include "require.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace {

using namespace duramen;
using core_test::property::Program;
using core_test::property::Rng;
using fuzz::Bytes;
using fuzz::require;

class Subject {
 public:
  explicit Subject(Bytes& bytes) : bytes_(bytes) {
    Rng rng(bytes.byte() + (std::uint64_t{bytes.byte()} << 8u));
    if (bytes.below(8) != 7) handler_ = handler_for(std::make_shared<const Program>(generate(rng)));
    execution_ = make();
  }

  void run() {
    for (std::size_t steps = 0; !bytes_.empty() && steps < 200; ++steps) {
      switch (bytes_.below(10)) {
        case 0:
          history_.push_back(
              fuzz::make_event(bytes_, history_.empty() ? EventId{1} : history_.back().id.next()));
          begin_again(false);
          break;
        case 1:
          damage(bytes_, history_);
          begin_again(false);
          break;
        case 2:
          begin_again(sound_);
          break;
        default:
          turn();
          break;
      }
    }
  }

 private:
  std::unique_ptr<core::Execution> make() {
    core::ExecutionOptions options;
    options.max_actions_per_turn = 200;
    return std::make_unique<core::Execution>(core::ExecutionIdentity{"i", Incarnation{1}, ExecutionId{1}},
                                             handler_, options);
  }

  /// A new execution replays everything; a history of the engine gives no new decisions.
  void begin_again(bool sound) {
    sound_ = sound;
    execution_ = make();
    take(execution_->run_turn({history_, {}, now_, 5}), sound);
  }

  void turn() {
    std::vector<MessageBody> messages;
    const std::size_t count = 1 + bytes_.below(3);
    for (std::size_t i = 0; i < count; ++i) messages.push_back(fuzz::make_message(bytes_));
    now_ += Duration(bytes_.byte());
    take(execution_->run_turn({{}, messages, now_, bytes_.byte()}), false);
  }

  void take(const core::TurnOutcome& turn, bool must_be_empty) {
    require(!must_be_empty || turn.events.empty(), "replaying what the engine wrote decides nothing");
    require(turn.segments.empty() == turn.events.empty(), "events come in segments");
    EventId last = history_.empty() ? EventId{} : history_.back().id;
    for (const Event& event : turn.events) {
      require(event.id == last.next(), "new events are numbered on from the last");
      last = event.id;
    }
    if (!turn.events.empty()) {
      require(turn.ended() == (event_class(turn.events.back()) == EventClass::terminal),
              "an end is an event");
      require(!turn.ended() || turn.activities.empty(), "nothing is sent to a worker at the end");
    }
    history_.insert(history_.end(), turn.events.begin(), turn.events.end());
  }

  Bytes& bytes_;
  std::shared_ptr<const OrchestrationHandler> handler_;
  std::unique_ptr<core::Execution> execution_;
  std::vector<Event> history_;
  TimePoint now_ = from_unix_ms(1'000'000);
  bool sound_ = true;  // the engine made all of this history
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes({data, size});
  Subject(bytes).run();
  return 0;
}
