// Three bookings that belong together: all of them, or none.
#include <duramen/duramen.hpp>

#include <atomic>
#include <iostream>
#include <mutex>
#include <set>
#include <stdexcept>

namespace dm = duramen;
using namespace std::chrono_literals;

struct Trip {
  std::string city;
  bool by_car = false;
};
DURAMEN_JSON(Trip, city, by_car)

inline constexpr dm::Activity<std::string(std::string)> Book{"Book"};
inline constexpr dm::Activity<void(std::string)> Cancel{"Cancel"};

/// The travel agency: another system in a real program.
class Agency {
 public:
  void book(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (booked_.insert(what).second) std::cout << "  booked " << what << std::endl;
  }
  void cancel(const std::string& what) {
    const std::lock_guard lock(mutex_);
    const bool was_booked = booked_.erase(what) > 0;
    std::cout << (was_booked ? "  cancelled " : "  nothing to cancel: ") << what << std::endl;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> booked_;
};

Agency agency;
std::atomic<bool> waits_for_train = false;

std::string book(dm::ActivityContext& ctx, std::string what) {
  if (what == "car") throw dm::ApplicationError("SoldOut", "no cars left", /*retryable=*/false);
  if (what == "slow train") {
    waits_for_train = true;
    waits_for_train.notify_all();
    ctx.wait_for(1min);  // or until a stop request
    if (ctx.is_cancelled()) throw std::runtime_error("told to stop");
  }
  agency.book(what);
  return what;
}

void cancel(dm::ActivityContext&, std::string what) { agency.cancel(what); }

// [saga]
/// Notes every step before it is tried: an interrupted step may have taken effect.
dm::Task<void> book_everything(dm::OrchestrationContext& ctx, Trip trip, std::vector<std::string>& tried) {
  const std::vector<std::string> wanted = {"hotel in " + trip.city, "flight to " + trip.city,
                                           trip.by_car ? "car" : "slow train"};
  for (const std::string& what : wanted) {
    tried.push_back(what);
    co_await ctx.schedule_activity(Book, what);
  }
}

dm::Task<void> undo(dm::OrchestrationContext& ctx, std::vector<std::string> tried) {
  const auto stubborn = dm::RetryPolicy().attempts(10);
  while (!tried.empty()) {
    co_await ctx.schedule_activity(Cancel, tried.back()).with_retry(stubborn);
    tried.pop_back();
  }
}

dm::Task<std::string> travel(dm::OrchestrationContext& ctx, Trip trip) {
  std::vector<std::string> tried;
  // C++ allows no co_await in a catch block, so the failure is taken as a value.
  const auto all = co_await dm::attempt(book_everything(ctx, trip, tried));
  if (!all) {
    // A second cancellation does not interrupt this; the limit does.
    co_await ctx.shield(10min, undo(ctx, tried));
    co_return "stays at home: " + all.error().describe();
  }
  co_return "travels";
}
// [/saga]

int main() {
  dm::Store store = dm::sqlite::open(":memory:");
  dm::Registry registry;
  registry.add(Book, book);
  registry.add(Cancel, cancel);
  // [graceful]
  registry.add("travel", travel, dm::OrchestrationOptions().graceful());
  // [/graceful]
  dm::Runtime runtime{store, registry};
  dm::Client client{store};

  std::cout << "Ann wants a car, and there is none:" << std::endl;
  client.start("ann", "travel", Trip{"Lisbon", true}).value();
  const auto ann = client.wait("ann", 30s).value();
  std::cout << "  Ann " << ann.output_as<std::string>() << std::endl;

  std::cout << "Ben changes his mind while he waits for a train:" << std::endl;
  client.start("ben", "travel", Trip{"Oslo", false}).value();
  waits_for_train.wait(false);
  client.cancel("ben", "too much rain").value();
  const auto ben = client.wait("ben", 30s).value();
  std::cout << "  Ben: " << to_string(ben.status) << std::endl;
}
