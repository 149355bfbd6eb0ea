#include "summary.hpp"

#include "shop.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace shop {

namespace {

constexpr std::array activities = {"charge", "reserve", "ship"};

/// One order with all its records.
struct Record {
  Order order;
  dm::InstanceInfo instance;
  std::vector<dm::Event> history;
  std::vector<Entry> entries;

  [[nodiscard]] bool completed() const { return instance.status == dm::Status::completed; }
  [[nodiscard]] std::string result() const {
    if (instance.output) return instance.output->data;
    return instance.failure ? instance.failure->message : "";
  }
  /// The number of times an activity was handed out.
  [[nodiscard]] unsigned attempts(std::string_view activity) const {
    unsigned most = 0;
    for (const Entry& entry : entries) {
      if (entry.activity == activity) most = std::max(most, entry.attempt);
    }
    return most;
  }
  [[nodiscard]] auto count(std::string_view activity, What what) const {
    return std::ranges::count_if(
        entries, [&](const Entry& entry) { return entry.activity == activity && entry.what == what; });
  }
  [[nodiscard]] bool ended_once() const {
    const auto terminal = [](const dm::Event& event) {
      return event_class(event) == dm::EventClass::terminal;
    };
    return std::ranges::count_if(history, terminal) == 1 && terminal(history.back());
  }
};

std::vector<Record> collect(dm::Client& client, const std::vector<Entry>& ledger) {
  std::vector<Record> records;
  for (const Order& order : orders()) {
    Record record{order, client.get_instance(order.id).value(), client.read_history(order.id).value(), {}};
    std::ranges::copy_if(ledger, std::back_inserter(record.entries),
                         [&](const Entry& entry) { return entry.order == order.id; });
    records.push_back(std::move(record));
  }
  return records;
}

const Record& find(const std::vector<Record>& records, std::string_view id) {
  return *std::ranges::find_if(records, [&](const Record& record) { return record.order.id == id; });
}

// -- the table ----------------------------------------------------------------------------------------------

Colour colour_of(dm::Status status) {
  switch (status) {
    case dm::Status::completed:
      return Colour::green;
    case dm::Status::cancelled:
      return Colour::yellow;
    default:
      return Colour::red;
  }
}

/// "2+1+1": the attempts of charge, reserve and ship.
std::string attempts(const Record& record) {
  std::string text;
  for (const char* activity : activities) {
    if (const unsigned count = record.attempts(activity); count > 0) {
      text += (text.empty() ? "" : "+") + std::to_string(count);
    }
  }
  return text;
}

void print_table(const Terminal& terminal, const std::vector<Record>& records) {
  terminal.line("order     status     result                                              attempts",
                Colour::bold);
  for (const Record& record : records) {
    const dm::Status status = record.instance.status;
    const std::string tries = attempts(record);
    const bool again = tries.find_first_not_of("1+") != std::string::npos;
    terminal.line(
        padded(record.order.id, 10) + terminal.paint(colour_of(status), padded(to_string(status), 11)) +
        padded(record.result(), 52) + terminal.paint(again ? Colour::yellow : Colour::plain, tries));
  }
  terminal.line("attempts are those of charge + reserve + ship", Colour::dim);
}

// -- the cancellations --------------------------------------------------------------------------------------

/// The stop of an activity: its reason, and the delay after the orchestration's decision.
struct Stop {
  std::string activity;
  std::string reason;
  std::chrono::milliseconds delay{};
};

std::optional<Stop> find_stop(const Record& record) {
  const auto decided = std::ranges::find_if(record.history, [](const dm::Event& event) {
    return std::holds_alternative<dm::event::ActivityCancelRequested>(event.body);
  });
  // The last one, if a busy machine made it begin twice.
  const auto stopped = std::ranges::find_if(record.entries.rbegin(), record.entries.rend(),
                                            [](const Entry& entry) { return entry.what == What::stopped; });
  if (decided == record.history.end() || stopped == record.entries.rend()) return std::nullopt;
  return Stop{stopped->activity, stopped->note, stopped->time - decided->timestamp.time_since_epoch()};
}

bool print_stop(const Terminal& terminal, const Record& record, dm::CancelReason expected) {
  const std::optional<Stop> stop = find_stop(record);
  if (!stop) {
    terminal.line(record.order.id + ": no activity was told to stop", Colour::red);
    return false;
  }
  terminal.line(padded(record.order.id, 10) + stop->activity + " saw " +
                terminal.paint(Colour::yellow, stop->reason) + " " + std::to_string(stop->delay.count()) +
                " ms after the decision");
  return stop->reason == to_string(expected);
}

// -- the approval -------------------------------------------------------------------------------------------

/// True if the wait began before the worker died and the answer came after.
bool waited_across(const Record& patient, const Record& unlucky) {
  const auto killed = std::ranges::find_if(unlucky.entries, [](const Entry& entry) {
    return entry.activity == "charge" && entry.what == What::done;
  });
  if (killed == unlucky.entries.end()) return false;
  const auto time_of = [&]<class Body>(std::type_identity<Body>) -> std::optional<std::chrono::milliseconds> {
    for (const dm::Event& event : patient.history) {
      if (std::holds_alternative<Body>(event.body)) return event.timestamp.time_since_epoch();
    }
    return std::nullopt;
  };
  const auto asked = time_of(std::type_identity<dm::event::ExternalSubscribed>{});
  const auto answered = time_of(std::type_identity<dm::event::ExternalEvent>{});
  return asked && answered && *asked < killed->time && killed->time < *answered;
}

// -- the promises -------------------------------------------------------------------------------------------

bool took_effect_once(const Record& record) {
  const auto expected = record.completed() ? 1 : 0;
  return std::ranges::all_of(
      activities, [&](const char* activity) { return record.count(activity, What::done) == expected; });
}

bool every_key_is_done_once(const std::vector<Entry>& ledger) {
  std::map<std::string, int> done;
  for (const Entry& entry : ledger) {
    if (entry.what == What::done) ++done[entry.key];
  }
  return std::ranges::all_of(done, [](const auto& key) { return key.second == 1; });
}

/// The amount that the bank was asked to move, in cents.
int money_taken(const std::vector<Record>& records) {
  int cents = 0;
  for (const Record& record : records) {
    cents += static_cast<int>(record.count("charge", What::done)) * record.order.cents;
  }
  return cents;
}

int money_due(const std::vector<Record>& records) {
  int cents = 0;
  for (const Record& record : records) cents += record.completed() ? record.order.cents : 0;
  return cents;
}

}  // namespace

bool print_summary(const Terminal& terminal, dm::Client& client, const std::vector<Entry>& ledger) {
  const std::vector<Record> records = collect(client, ledger);
  bool all = true;
  const auto check = [&](bool holds, const std::string& promise) {
    const std::string verdict = padded(holds ? "ok" : "BROKEN", 8);
    terminal.line(terminal.paint(holds ? Colour::green : Colour::red, verdict) + promise);
    all = all && holds;
  };

  print_table(terminal, records);
  terminal.line();
  const bool loser = print_stop(terminal, find(records, express_order), dm::CancelReason::select_loser);
  const bool regret = print_stop(terminal, find(records, regretted_order),
                                 dm::CancelReason::orchestration_terminal_cancelled);
  terminal.line();

  const auto completed = std::ranges::count_if(records, &Record::completed);
  const Record& unlucky = find(records, unlucky_order);
  check(completed == std::ssize(records) - 1 &&
            find(records, regretted_order).instance.status == dm::Status::cancelled,
        std::to_string(completed) + " orders completed, one cancelled by its customer");
  check(std::ranges::all_of(records, &Record::ended_once),
        "every history has one terminal event, at its end");
  check(every_key_is_done_once(ledger), "every idempotency key took effect once");
  check(std::ranges::all_of(records, took_effect_once),
        "every completed order was charged, packed and sent once");
  check(unlucky.count("charge", What::repeated) > 0,
        unlucky.order.id + " was paid for before the kill; asked again, its key was known");
  check(money_taken(records) == money_due(records),
        euros(money_taken(records)) + " taken, " + euros(money_due(records)) + " due");
  check(loser && regret, "cancelled activities were told why");
  check(waited_across(find(records, costly_order), unlucky),
        costly_order + " waited for the boss while its worker died and another took over");

  terminal.line();
  terminal.line(all ? "Every order ended exactly once." : "A promise was broken: please report this.",
                all ? Colour::green : Colour::red);
  return all;
}

}  // namespace shop
