// Finds out whether a compiler can be trusted with coroutines.
//
// Some compilers destroy a temporary twice when it lives in a full expression that contains co_await; g++ 12
// does so for aggregates, closures and conditional expressions. Users write these shapes without a second
// thought, so a build with such a compiler corrupts memory in correct code. Each shape below runs once,
// counting every construction against every destruction. The program prints one line per shape that comes out
// wrong and returns 1 if there is any.
//
// Nothing here owns memory, so that a wrong compiler is counted and named instead of crashing. Runs at
// configure time: see coroutine_probe.cmake. One known fault is left out because clang 19 has it too: a
// promise type without a constructor of its own is initialised from the coroutine's parameters. Ours declare
// one.

#include <coroutine>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <utility>

namespace {

int alive = 0;

/// Counts its own life. `value` tells whether what arrived is what was sent.
class Counted {
 public:
  explicit Counted(int v = 7) : value{v} { ++alive; }
  Counted(const Counted& other) : value{other.value} { ++alive; }
  Counted(Counted&& other) noexcept : value{other.value} { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }

  int value;
};

/// A lazy coroutine that resumes its awaiter when it ends.
template <class T>
class Task {
 public:
  struct promise_type {
    promise_type() = default;
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct Resume {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> h) noexcept {
          auto next = h.promise().awaiting;
          if (next) return next;
          return std::noop_coroutine();
        }
        void await_resume() noexcept {}
      };
      return Resume{};
    }
    void return_value(T v) { result.emplace(std::move(v)); }
    void unhandled_exception() { std::terminate(); }

    std::coroutine_handle<> awaiting;
    std::optional<T> result;
  };

  explicit Task(std::coroutine_handle<promise_type> h) : frame_{h} {}
  Task(Task&& other) noexcept : frame_{std::exchange(other.frame_, {})} {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (frame_) frame_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    frame_.promise().awaiting = awaiting;
    return frame_;
  }
  T await_resume() { return std::move(*frame_.promise().result); }

  T run() {
    frame_.resume();
    return std::move(*frame_.promise().result);
  }

 private:
  std::coroutine_handle<promise_type> frame_;
};

/// What users pass without a constructor of its own.
struct Order {
  int cents = 0;
  Counted id{};

  Task<int> charge() const {
    return [](int c) -> Task<int> { co_return c; }(cents);
  }
};

struct AggregateAwaiter {
  Counted held{};
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<>) noexcept { return false; }
  int await_resume() const noexcept { return held.value; }
};

Task<int> take(Order order) { co_return order.cents; }
Task<int> take_reference(const Order& order) { co_return order.cents; }
Task<Counted> make(int v) { co_return Counted{v}; }
Task<int> call(std::function<int()> f) { co_return f(); }

template <class F>
Task<int> call_any(F f) {
  co_return f();
}

Task<int> aggregate_argument() { co_return co_await take(Order{3, Counted{}}); }
Task<int> aggregate_by_reference() { co_return co_await take_reference(Order{3, Counted{}}); }
Task<int> designated_initialiser() { co_return co_await take({.cents = 3, .id = Counted{}}); }

Task<int> capturing_lambda() {
  Counted c{3};
  co_return co_await call_any([c] { return c.value; });
}

Task<int> capturing_lambda_in_function_object() {
  Counted c{3};
  co_return co_await call(std::function<int()>{[c] { return c.value; }});
}

Task<int> capturing_coroutine_lambda() {
  Counted c{3};
  co_return co_await [c]() -> Task<int> { co_return c.value; }();
}

Task<int> conditional_of_class_type() {
  bool yes = alive >= 0;
  Counted c = yes ? co_await make(3) : Counted{9};
  co_return c.value;
}

Task<int> aggregate_awaiter() { co_return co_await AggregateAwaiter{Counted{3}}; }
Task<int> method_of_aggregate_temporary() { co_return co_await Order{3, Counted{}}.charge(); }

Task<int> await_inside_aggregate_initialisation() {
  Order order{3, co_await make(3)};
  co_return order.id.value;
}

Task<int> await_in_condition() {
  if ((co_await make(3)).value == 3) co_return 3;
  co_return 0;
}

Task<int> temporaries_with_constructors() {
  co_return (co_await make(Counted{2}.value + Counted{1}.value)).value;
}

int wrong = 0;

void report(const char* shape, const char* what) {
  std::printf("  %s: %s\n", shape, what);
  std::fflush(stdout);
  ++wrong;
}

void check(const char* shape, Task<int> (*coroutine)()) {
  alive = 0;
  int got = coroutine().run();
  if (alive < 0) report(shape, "destroyed more often than constructed");
  if (alive > 0) report(shape, "constructed more often than destroyed");
  if (got != 3) report(shape, "the value arrived changed");
}

}  // namespace

int main() {
  check("temporaries with constructors in a co_await expression", temporaries_with_constructors);
  check("aggregate temporary as an argument in a co_await expression", aggregate_argument);
  check("aggregate temporary bound to a reference in a co_await expression", aggregate_by_reference);
  check("designated initialiser as an argument in a co_await expression", designated_initialiser);
  check("capturing lambda in a co_await expression", capturing_lambda);
  check("capturing lambda in a std::function in a co_await expression", capturing_lambda_in_function_object);
  check("capturing coroutine lambda, awaited where it is written", capturing_coroutine_lambda);
  check("conditional operator of class type with co_await in a branch", conditional_of_class_type);
  check("awaiter that is an aggregate", aggregate_awaiter);
  check("co_await on a method of an aggregate temporary", method_of_aggregate_temporary);
  check("co_await inside aggregate initialisation", await_inside_aggregate_initialisation);
  check("co_await in a condition", await_in_condition);
  if (wrong == 0) std::puts("every shape is right");
  return wrong == 0 ? 0 : 1;
}
