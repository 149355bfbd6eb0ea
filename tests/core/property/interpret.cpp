#include "core/property/interpret.hpp"

#include <duramen/orchestration.hpp>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

namespace duramen::core_test::property {

namespace {

using Context = OrchestrationContext;
using Text = DurableFuture<std::string>;
using Nothing = DurableFuture<void>;
using AnyFuture = std::variant<Text, Nothing>;
using Statements = std::vector<Node>;
using std::chrono::milliseconds;

constexpr std::size_t places = 3;
constexpr int most_executions = 3;

/// One run of a program from its beginning. All results so far are combined into one number, which influences
/// the next inputs: a result that replay does not repeat shows in every later input.
struct Run : std::enable_shared_from_this<Run> {
  explicit Run(Context& context) : ctx(context) {}
  Context& ctx;
  std::uint32_t so_far = 17;

  void note(const std::string& what) {
    for (const char c : what) so_far = (so_far * 31 + static_cast<unsigned char>(c)) % 9973;
  }
  [[nodiscard]] std::string input(const Node& node) const {
    return node.b == 1 ? std::to_string(so_far) : "in" + std::to_string(node.b);
  }
};

/// Sets a key when it goes: code, if a scope ends; nothing, if the engine tears the frame down.
class Guard {
 public:
  Guard(Context& ctx, int key) : ctx_(&ctx), key_(key) {}
  Guard(Guard&& other) noexcept : ctx_(std::exchange(other.ctx_, nullptr)), key_(other.key_) {}
  Guard& operator=(Guard&&) = delete;
  ~Guard() {
    if (ctx_ != nullptr) ctx_->set_kv_value("guard" + std::to_string(key_), "gone");
  }

 private:
  Context* ctx_;
  int key_;
};

struct Frame {
  std::array<std::optional<AnyFuture>, places> kept;
  std::vector<Guard> guards;

  [[nodiscard]] std::optional<AnyFuture>& place(int number) {
    return kept[static_cast<std::size_t>(number) % places];
  }
};

/// The statements of a program, which outlives its runs: an argument by value, which an engine may keep.
struct Block {
  const Statements* statements;
};

enum class Flow { on, returned };

Task<std::string> run_frame(Run& run, const Statements& statements);
Task<std::string> run_alone(std::shared_ptr<Run> run, Block block);
Task<Flow> run_block(Run& run, Frame& frame, const Statements& statements);
AnyFuture make(Run& run, const Node& node);

// -- every result as text -------------------------------------------------------------------------

template <class T>
std::string text_of(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else {
    return "-";
  }
}

template <class... Ts>
Task<std::string> winner_of(DurableFuture<Either<Ts...>> race) {
  auto won = co_await std::move(race);
  std::string text = std::to_string(won.index());
  if (won.index() == 0) text += text_of(won.template get<0>());
  if (won.index() == 1) text += text_of(won.template get<1>());
  if constexpr (sizeof...(Ts) > 2) {
    if (won.index() == 2) text += text_of(won.template get<2>());
  }
  co_return text;
}
Task<std::string> first_of(DurableFuture<std::pair<std::size_t, std::string>> race) {
  auto won = co_await std::move(race);
  co_return std::to_string(won.first) + won.second;
}
Task<std::string> all_of(DurableFuture<std::vector<std::string>> all) {
  auto values = co_await std::move(all);
  std::string text;
  for (const std::string& value : values) text += value + ",";
  co_return text;
}
template <class A, class B>
Task<std::string> both_of(DurableFuture<std::tuple<A, B>> both) {
  auto values = co_await std::move(both);
  co_return text_of(std::get<0>(values)) + text_of(std::get<1>(values));
}
Task<std::string> time_of(DurableFuture<TimePoint> time) {
  auto value = co_await std::move(time);
  co_return std::to_string(to_unix_ms(value));
}
Task<std::string> nothing_of(Nothing future) {
  co_await std::move(future);
  co_return "-";
}

core::Execution& execution_of(Context& ctx) {
  auto never_polled = ctx.schedule_timer(milliseconds(1));
  return never_polled.operation().execution();
}

/// A Task as a future, the way combinators take it.
Text as_future(Run& run, Task<std::string> task) {
  return detail::as_branch(execution_of(run.ctx), std::move(task));
}

std::vector<Text> texts(Run& run, const Statements& parts) {
  std::vector<Text> branches;
  for (const Node& part : parts) {
    AnyFuture branch = make(run, part);
    if (auto* text = std::get_if<Text>(&branch)) {
      branches.push_back(std::move(*text));
    } else {
      branches.push_back(as_future(run, nothing_of(std::get<Nothing>(std::move(branch)))));
    }
  }
  return branches;
}

// -- expressions ----------------------------------------------------------------------------------

Text make_activity(Run& run, const Node& node) {
  auto activity = run.ctx.schedule_activity("A" + std::to_string(node.a), run.input(node));
  if (node.flag) return std::move(activity).with_tag("gpu").on_session("s" + std::to_string(node.a));
  return activity;
}

Text make_retry(Run& run, const Node& node) {
  RetryPolicy policy;
  policy.attempts(static_cast<std::uint32_t>(node.b) + 1);
  if (node.flag) {
    policy.backoff(Backoff::fixed(milliseconds(20)))
        .attempt_timeout(milliseconds(50))
        .total_timeout(milliseconds(300));
  }
  return run.ctx.schedule_activity("R" + std::to_string(node.a), "again").with_retry(policy);
}

Text make_child(Run& run, const Node& node) {
  ChildOptions options;
  if (node.flag) options.id(InstanceId("kid" + std::to_string(node.a))).version("1.0.0");
  return run.ctx.schedule_sub_orchestration("C" + std::to_string(node.a), run.input(node),
                                            std::move(options));
}

AnyFuture make_select2(Run& run, const Node& node) {
  AnyFuture first = make(run, node.parts[0]);
  AnyFuture second = make(run, node.parts[1]);
  return std::visit(
      [&run](auto& a, auto& b) {
        return as_future(run, winner_of(run.ctx.select2(std::move(a), std::move(b))));
      },
      first, second);
}

AnyFuture make_select3(Run& run, const Node& node) {
  AnyFuture first = make(run, node.parts[0]);
  AnyFuture second = make(run, node.parts[1]);
  AnyFuture third = make(run, node.parts[2]);
  return std::visit(
      [&run](auto& a, auto& b, auto& c) {
        return as_future(run, winner_of(run.ctx.select3(std::move(a), std::move(b), std::move(c))));
      },
      first, second, third);
}

AnyFuture make_join2(Run& run, const Node& node) {
  AnyFuture first = make(run, node.parts[0]);
  AnyFuture second = make(run, node.parts[1]);
  return std::visit(
      [&run](auto& a, auto& b) { return as_future(run, both_of(run.ctx.join2(std::move(a), std::move(b)))); },
      first, second);
}

AnyFuture make_timeout(Run& run, const Node& node) {
  AnyFuture limited = make(run, node.parts[0]);
  return std::visit(
      [&](auto& future) -> AnyFuture {
        return run.ctx.with_timeout(milliseconds(node.a), std::move(future));
      },
      limited);
}

Task<std::string> make_task(Run& run, const Node& node) {
  if (node.flag) return run_alone(run.shared_from_this(), Block{&node.parts});
  return run_frame(run, node.parts);
}

AnyFuture make(Run& run, const Node& node) {
  switch (node.kind) {
    case Kind::activity:
      return make_activity(run, node);
    case Kind::timer:
      return run.ctx.schedule_timer(milliseconds(node.a));
    case Kind::child:
      return make_child(run, node);
    case Kind::wait:
      return run.ctx.schedule_wait("e" + std::to_string(node.a));
    case Kind::dequeue:
      return run.ctx.dequeue_event("q" + std::to_string(node.a));
    case Kind::guid:
      return run.ctx.new_guid();
    case Kind::now:
      return as_future(run, time_of(run.ctx.utc_now()));
    case Kind::retry:
      return make_retry(run, node);
    case Kind::timeout:
      return make_timeout(run, node);
    case Kind::select:
      return as_future(run, first_of(run.ctx.select(texts(run, node.parts))));
    case Kind::select2:
      return make_select2(run, node);
    case Kind::select3:
      return make_select3(run, node);
    case Kind::join:
      return as_future(run, all_of(run.ctx.join(texts(run, node.parts))));
    case Kind::join2:
      return make_join2(run, node);
    case Kind::nested:
      return as_future(run, make_task(run, node));
    case Kind::guarded:
      return as_future(run, run.ctx.shield(milliseconds(node.a), make_task(run, node)));
    default:
      throw std::logic_error("not something to wait for: " + std::string(kind_name(node.kind)));
  }
}

// -- statements -----------------------------------------------------------------------------------

Task<std::string> await_any(AnyFuture future) {
  if (auto* text = std::get_if<Text>(&future)) {
    co_return co_await std::move(*text);
  }
  co_await std::move(std::get<Nothing>(future));
  co_return "-";
}

/// The failure of a future as a value; empty if there is none.
Task<std::string> attempt_any(Run& run, AnyFuture future) {
  if (auto* text = std::get_if<Text>(&future)) {
    auto result = co_await attempt(std::move(*text));
    if (!result) co_return result.error().describe();
    run.note(*result);
  } else {
    auto result = co_await std::move(std::get<Nothing>(future)).as_result();
    if (!result) co_return result.error().describe();
  }
  co_return "";
}

Task<std::string> race_with(Run& run, AnyFuture& kept, const Node& other) {
  auto reference = std::visit([](auto& future) { return ref(future); }, kept);
  AnyFuture rival = make(run, other);
  if (auto* text = std::get_if<Text>(&rival)) {
    auto won = co_await run.ctx.select2(std::move(reference), std::move(*text));
    co_return std::to_string(won.index());
  }
  auto won = co_await run.ctx.select2(std::move(reference), std::move(std::get<Nothing>(rival)));
  co_return std::to_string(won.index());
}

/// Statements that act immediately and wait for nothing.
void act(Run& run, Frame& frame, const Node& node) {
  const std::string key = "k" + std::to_string(node.a);
  switch (node.kind) {
    case Kind::keep:
      frame.place(node.a) = make(run, node.parts[0]);
      break;
    case Kind::start:
      frame.place(node.a) = make(run, node.parts[0]);
      [[fallthrough]];
    case Kind::poll:
      if (auto& kept = frame.place(node.a)) std::visit([](auto& future) { future.start(); }, *kept);
      break;
    case Kind::drop:
      frame.place(node.a).reset();
      break;
    case Kind::detach:
      std::visit([](auto future) { std::move(future).detach(); }, make(run, node.parts[0]));
      break;
    case Kind::status:
      run.ctx.set_custom_status("status " + std::to_string(node.a));
      break;
    case Kind::reset_status:
      run.ctx.reset_custom_status();
      break;
    case Kind::kv_set:
      run.ctx.set_kv_value(key, run.input(node));
      break;
    case Kind::kv_add: {
      const std::string old = run.ctx.get_kv_value(key).value_or("");
      run.ctx.set_kv_value(key, std::to_string(old.size()) + "+");
      break;
    }
    case Kind::kv_clear:
      run.ctx.clear_kv_value(key);
      break;
    case Kind::kv_clear_all:
      run.ctx.clear_all_kv_values();
      break;
    case Kind::chain:
      run.ctx.schedule_orchestration("D" + std::to_string(node.a),
                                     InstanceId("detached" + std::to_string(node.a)), run.input(node));
      break;
    case Kind::trace:
      run.ctx.trace_info("so far " + std::to_string(run.so_far));
      break;
    case Kind::guard:
      frame.guards.emplace_back(run.ctx, node.a);
      break;
    case Kind::give_up:
      throw std::runtime_error("gave up after " + std::to_string(run.so_far));
    default:
      throw std::logic_error("not a statement: " + std::string(kind_name(node.kind)));
  }
}

Task<Flow> run_in_catch(Run& run, Frame& frame, const Statements& statements) {
  try {
    co_return co_await run_block(run, frame, statements);
  } catch (const std::exception& error) {
    run.note(error.what());
  }
  co_return Flow::on;
}

Task<void> prune(Run& run, int age) {
  auto now = co_await run.ctx.utc_now();
  const std::size_t gone = run.ctx.prune_kv_values_updated_before(now - milliseconds(age));
  run.note(std::to_string(gone));
}

Task<void> again(Run& run) {
  const auto execution = run.ctx.execution_id().value;
  if (execution >= most_executions) co_return;
  co_await run.ctx.continue_as_new(std::to_string(run.so_far));
}

Task<Flow> run_block(Run& run, Frame& frame, const Statements& statements) {
  for (const Node& node : statements) {
    switch (node.kind) {
      case Kind::await:
        run.note(co_await await_any(make(run, node.parts[0])));
        break;
      case Kind::attempt: {
        const std::string failure = co_await attempt_any(run, make(run, node.parts[0]));
        run.note(failure);
        if (failure.empty() || node.parts.size() < 2) break;
        const Statements rest(node.parts.begin() + 1, node.parts.end());
        Frame recovery;
        co_await run_block(run, recovery, rest);
        break;
      }
      case Kind::attempt_task: {
        auto result = co_await attempt(run_frame(run, node.parts));
        run.note(result ? *result : result.error().describe());
        break;
      }
      case Kind::call:
        run.note(co_await run_frame(run, node.parts));
        break;
      case Kind::shield:
        run.note(co_await run.ctx.shield(milliseconds(node.a), run_frame(run, node.parts)));
        break;
      case Kind::take: {
        auto kept = std::exchange(frame.place(node.a), std::nullopt);
        if (kept) run.note(co_await await_any(std::move(*kept)));
        break;
      }
      case Kind::race:
        if (auto& kept = frame.place(node.a)) run.note(co_await race_with(run, *kept, node.parts[0]));
        break;
      case Kind::catch_all: {
        const Flow flow = co_await run_in_catch(run, frame, node.parts);
        if (flow == Flow::returned) co_return flow;
        break;
      }
      case Kind::if_odd: {
        if (run.so_far % 2 == 0) break;
        const Flow flow = co_await run_block(run, frame, node.parts);
        if (flow == Flow::returned) co_return flow;
        break;
      }
      case Kind::loop:
        for (int i = 0; i < node.a; ++i) {
          const Flow flow = co_await run_block(run, frame, node.parts);
          if (flow == Flow::returned) co_return flow;
        }
        break;
      case Kind::give_back:
        co_return Flow::returned;
      case Kind::kv_prune:
        co_await prune(run, node.a);
        break;
      case Kind::again:
        co_await again(run);
        break;
      default:
        act(run, frame, node);
        break;
    }
  }
  co_return Flow::on;
}

/// The statements of one Task: what they keep goes with it.
Task<std::string> run_frame(Run& run, const Statements& statements) {
  Frame frame;
  co_await run_block(run, frame, statements);
  co_return std::to_string(run.so_far);
}

/// The same, and it can outlive the Task that began it.
Task<std::string> run_alone(std::shared_ptr<Run> run, Block block) {
  co_return co_await run_frame(*run, *block.statements);
}

Task<Payload> run_program(std::shared_ptr<const Program> program, Context& ctx, Payload input) {
  const auto run = std::make_shared<Run>(ctx);
  run->note(input.data);
  co_return Payload::text(co_await run_frame(*run, program->body));
}

}  // namespace

std::shared_ptr<const OrchestrationHandler> handler_for(std::shared_ptr<const Program> program) {
  OrchestrationHandler handler;
  handler.name = "subject";
  handler.version = "1.0.0";
  handler.graceful = program->graceful;
  handler.invoke = [program](Context& ctx, Payload input) {
    return run_program(program, ctx, std::move(input));
  };
  return std::make_shared<const OrchestrationHandler>(std::move(handler));
}

}  // namespace duramen::core_test::property
