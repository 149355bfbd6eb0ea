// The common parts of the two coroutine types: the result and the frame.
#include <duramen/detail/coroutine.hpp>

#include <gtest/gtest.h>

#include <coroutine>
#include <stdexcept>
#include <string>
#include <utility>

namespace duramen {
namespace {

template <class T>
class Probe;

template <class T>
class ProbePromise final : public detail::CoroutineResult<T> {
 public:
  ProbePromise() noexcept {}  // NOLINT: declared, so that no compiler initialises it from the arguments
  [[nodiscard]] Probe<T> get_return_object() noexcept { return Probe<T>(*this); }
  [[nodiscard]] std::suspend_never initial_suspend() const noexcept { return {}; }
  [[nodiscard]] std::suspend_always final_suspend() const noexcept { return {}; }
};

template <class T>
class Probe {
 public:
  using promise_type = ProbePromise<T>;
  explicit Probe(promise_type& promise) noexcept : frame(promise) {}
  detail::OwnedFrame<promise_type> frame;
};

class CountsItsEnd {
 public:
  explicit CountsItsEnd(int& ends) : ends_(ends) {}
  CountsItsEnd(const CountsItsEnd&) = delete;
  CountsItsEnd& operator=(const CountsItsEnd&) = delete;
  ~CountsItsEnd() { ++ends_; }

 private:
  int& ends_;
};

Probe<std::string> returns(std::string text) { co_return text; }
Probe<void> ends() { co_return; }
template <class T>
Probe<T> throws() {
  throw std::runtime_error("no");
  co_return T();
}
Probe<void> waits(int& ends) {
  const CountsItsEnd guard(ends);
  co_await std::suspend_always{};
}

TEST(CoroutineResult, IsTheReturnedValue) {
  const Probe<std::string> probe = returns("yes");
  EXPECT_EQ(probe.frame.promise().take(), "yes");
  const Probe<void> nothing = ends();
  EXPECT_NO_THROW(nothing.frame.promise().take());
}

TEST(CoroutineResult, IsTheThrownException) {
  const Probe<std::string> probe = throws<std::string>();
  EXPECT_THROW((void)probe.frame.promise().take(), std::runtime_error);
}

TEST(OwnedFrame, DestroysItsFrameOnce) {
  int ended = 0;
  {
    Probe<void> first = waits(ended);
    Probe<void> second = std::move(first);
    EXPECT_FALSE(first.frame.handle());  // NOLINT: empty by contract
    EXPECT_TRUE(second.frame.handle());
    EXPECT_EQ(ended, 0);
  }
  EXPECT_EQ(ended, 1);
}

TEST(OwnedFrame, DestroysItsFrameBeforeItTakesAnother) {
  int old_ends = 0;
  int new_ends = 0;
  Probe<void> probe = waits(old_ends);
  probe = waits(new_ends);
  EXPECT_EQ(old_ends, 1);
  EXPECT_EQ(new_ends, 0);
  probe.frame.reset();
  EXPECT_EQ(new_ends, 1);
}

}  // namespace
}  // namespace duramen
