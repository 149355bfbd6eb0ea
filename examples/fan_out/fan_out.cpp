// Many activities at once, and one result of them all.
#include <duramen/duramen.hpp>

#include <iostream>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace dm = duramen;
using namespace std::chrono_literals;

inline constexpr dm::Activity<int(std::string)> CountWords{"CountWords"};

int count_words(dm::ActivityContext&, std::string page) {
  if (page.empty()) throw std::runtime_error("an empty page");
  std::istringstream words(page);
  int count = 0;
  for (std::string word; words >> word;) ++count;
  return count;
}

// [all]
dm::Task<int> count_all(dm::OrchestrationContext& ctx, std::vector<std::string> pages) {
  std::vector<dm::DurableFuture<int>> counts;
  for (const std::string& page : pages) counts.push_back(ctx.schedule_activity(CountWords, page));

  // The join polls them all, so one commit schedules them all, and they run in parallel.
  const std::vector<int> words = co_await ctx.join(std::move(counts));
  co_return std::accumulate(words.begin(), words.end(), 0);
}
// [/all]

// [some]
/// The same if some pages are bad: each failure is a value, and nothing is thrown.
dm::Task<std::string> count_good_ones(dm::OrchestrationContext& ctx, std::vector<std::string> pages) {
  std::vector<dm::DurableFuture<dm::Result<int, dm::Failure>>> counts;
  for (const std::string& page : pages) counts.push_back(ctx.schedule_activity(CountWords, page).as_result());

  int words = 0;
  int bad = 0;
  for (const dm::Result<int, dm::Failure>& count : co_await ctx.join(std::move(counts))) {
    count ? words += *count : ++bad;
  }
  co_return std::to_string(words) + " words, " + std::to_string(bad) + " bad page";
}
// [/some]

// [window]
/// At most `width` at a time: whenever one ends, the next begins.
dm::Task<int> count_few_at_a_time(dm::OrchestrationContext& ctx, std::vector<std::string> pages) {
  constexpr std::size_t width = 2;
  std::vector<dm::DurableFuture<int>> running;
  int words = 0;
  for (std::size_t next = 0; next < pages.size() || !running.empty();) {
    while (next < pages.size() && running.size() < width) {
      running.push_back(ctx.schedule_activity(CountWords, pages[next++]).start());
    }
    std::vector<dm::DurableFuture<void>> race;  // references: a loser is not cancelled
    for (dm::DurableFuture<int>& count : running) race.push_back(dm::ref(count));
    const auto [first, nothing] = co_await ctx.select(std::move(race));
    const int count = co_await running[first];
    words += count;
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(first));
  }
  co_return words;
}
// [/window]

int main() {
  dm::Store store = dm::sqlite::open(":memory:");
  dm::Registry registry;
  registry.add(CountWords, count_words);
  registry.add("count_all", count_all);
  registry.add("count_good_ones", count_good_ones);
  registry.add("count_few_at_a_time", count_few_at_a_time);
  dm::Runtime runtime{store, registry};
  dm::Client client{store};

  const std::vector<std::string> book = {"It was a dark night.", "Nothing happened.", "The end."};
  client.start("book-1", "count_all", book).value();
  std::cout << "all: " << client.wait("book-1", 30s).value().output_as<int>() << " words\n";

  const std::vector<std::string> draft = {"It was a dark night.", "", "The end."};
  client.start("book-2", "count_good_ones", draft).value();
  std::cout << "some: " << client.wait("book-2", 30s).value().output_as<std::string>() << "\n";

  client.start("book-3", "count_few_at_a_time", book).value();
  std::cout << "two at a time: " << client.wait("book-3", 30s).value().output_as<int>() << " words\n";
}
