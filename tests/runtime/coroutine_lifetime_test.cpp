// Coroutine activities that wait in awaitables of the user's: resumed on any thread, at any time, also after
// the Runtime.
#include "runtime/world.hpp"

#include <atomic>
#include <coroutine>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>

namespace duramen::test {
namespace {

/// Stands for the user's own I/O: coroutines wait here until a test resumes them.
class Elsewhere {
 public:
  class Awaiter {
   public:
    explicit Awaiter(Elsewhere& at) noexcept : at_(at) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) {
      Elsewhere& at = at_;  // as soon as it is in the list, the frame may be gone
      std::lock_guard lock(at.mutex_);
      at.waiting_.push_back(handle);
      at.count_ = at.waiting_.size();
    }
    void await_resume() const noexcept {}

   private:
    Elsewhere& at_;
  };
  Awaiter operator co_await() noexcept { return Awaiter(*this); }

  [[nodiscard]] std::size_t waiting() const noexcept { return count_; }
  /// On the calling thread.
  std::size_t resume_all() {
    std::vector<std::coroutine_handle<>> all;
    {
      std::lock_guard lock(mutex_);
      all.swap(waiting_);
      count_ = 0;
    }
    for (const std::coroutine_handle<> handle : all) handle.resume();
    return all.size();
  }

 private:
  std::mutex mutex_;
  std::vector<std::coroutine_handle<>> waiting_;
  std::atomic<std::size_t> count_{0};
};

/// A thread of the user's that resumes whatever waits, until it is stopped.
class IoThread {
 public:
  explicit IoThread(Elsewhere& elsewhere)
      : thread_([&elsewhere](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            if (elsewhere.resume_all() == 0) std::this_thread::yield();
          }
          elsewhere.resume_all();
        }) {}

 private:
  std::jthread thread_;
};

/// Counts what is alive.
class Alive {
 public:
  explicit Alive(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Alive() { --count_; }
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;

 private:
  std::atomic<int>& count_;
};

class CoroutineLifetime : public ::testing::Test {
 protected:
  CoroutineLifetime() {
    options.cancel_grace = Duration{0};
    options.max_abandoned = 10'000;
    options.log = [this](const LogRecord& record) {
      if (ended) ++lines_after_the_end;
      if (record.source == LogSource::activity) ++traced;
      if (record.message.find("the runtime leaves coroutine activities behind") == std::string_view::npos)
        return;
      std::lock_guard lock(mutex);
      left_behind.emplace_back(record.message);
    };
    world->registry.add("all", [](OrchestrationContext& ctx, int count) -> Task<int> {
      std::vector<DurableFuture<int>> futures;
      for (int i = 0; i < count; ++i) futures.push_back(ctx.schedule_activity<int>("Work", i));
      int sum = 0;
      for (int value : co_await ctx.join(std::move(futures))) sum += value;
      co_return sum;
    });
  }
  /// Ends the runtime and the store, and everything else that the runtime knew.
  void end_the_world() {
    world->runtimes.at(0)->shutdown(Duration{0});
    world.reset();
    ended = true;
  }
  std::optional<World> world{std::in_place};
  RuntimeOptions options;
  Elsewhere elsewhere;
  std::atomic<int> alive{0};
  std::atomic<bool> ended{false};
  std::atomic<int> traced{0};
  std::atomic<int> lines_after_the_end{0};
  std::mutex mutex;
  std::vector<std::string> left_behind;
};

// The end of the coroutine gave its frame to the activity thread, and then read from it.
TEST_F(CoroutineLifetime, ACoroutineMayEndOnAThreadOfTheUsers) {
  world->registry.add("Work", [this](ActivityContext&, int value) -> ActivityTask<int> {
    co_await elsewhere;
    co_return value;
  });
  world->run(options);
  const IoThread io(elsewhere);
  EXPECT_EQ(world->finish("a", "all", 500).output_as<int>(), 500 * 499 / 2);
}

}  // namespace
}  // namespace duramen::test
