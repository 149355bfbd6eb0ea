#include "providers/postgres/turn_fetch.hpp"

#include "providers/common/capability.hpp"
#include "providers/common/inbox.hpp"
#include "providers/common/unreadable_messages.hpp"
#include "providers/common/unreadable_row.hpp"
#include "providers/postgres/encoding.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

namespace duramen::inline v0::postgres::detail {

namespace {

// More levels than any node reads.
constexpr std::uint32_t most_levels = 64;
// No limit admits a message of this size.
constexpr std::size_t too_many_bytes = std::size_t{1} << 60u;

}  // namespace

Capabilities::Capabilities(const TurnFetch& request) : all(!request.orchestrations) {
  if (all) return;
  const std::uint32_t first = request.min_engine_version;
  if (request.max_engine_version < first) return;
  const std::uint32_t count = std::min(request.max_engine_version - first, most_levels - 1) + 1;
  for (std::uint32_t level = first; level < first + count; ++level) {
    exact.push_back(providers::capability(level, "", ""));
    for (const RegisteredOrchestration& known : *request.orchestrations) {
      if (known.versions.empty()) {
        prefixes.push_back(providers::capability_prefix(level, known.name));
        continue;
      }
      exact.push_back(providers::capability(level, known.name, ""));
      for (const std::string& version : known.versions) {
        if (!version.empty()) exact.push_back(providers::capability(level, known.name, version));
      }
    }
  }
  const auto make_unique = [](std::vector<std::string>& texts) {
    std::ranges::sort(texts);
    const auto again = std::ranges::unique(texts);
    texts.erase(again.begin(), again.end());
  };
  make_unique(exact);
  make_unique(prefixes);
}

void Capabilities::add_to(Parameters& parameters, std::span<const std::int64_t> floors) const {
  if (all) {
    parameters.no_texts().add(BigintColumn{}).add(TextColumn{});
    return;
  }
  TextColumn texts, beginnings;
  BigintColumn from;
  for (const std::string& capability : exact) texts.add(capability);
  for (const std::int64_t floor : floors) from.add(floor);
  for (const std::string& prefix : prefixes) beginnings.add(prefix);
  parameters.add(std::move(texts)).add(std::move(from)).add(std::move(beginnings));
}

std::int64_t count_or_largest(std::size_t limit) {
  return static_cast<std::int64_t>(std::min<std::size_t>(limit, std::size_t{1} << 40u));
}

FetchedTurns::FetchedTurns(const Rows& rows, const TurnFetch& request) : rows_(rows), request_(request) {
  int row = 0;
  for (; row < rows.count() && !rows.is_null(row, instance_id); ++row) {
    items_.push_back(read_header(row));
  }
  // The timers and messages of one instance stand together; the last row belongs to none.
  const int end = rows.count() - 1;
  std::unordered_map<std::uint64_t, std::pair<int, int>> parts;
  while (row < end) {
    const std::uint64_t owner = rows.number(row, key);
    const int from = row;
    while (row < end && rows.number(row, key) == owner) ++row;
    parts[owner] = {from, row};
  }
  std::size_t total_bytes = request.max_total_bytes;
  for (std::size_t i = 0; i < items_.size(); ++i) {
    const auto part = parts.find(items_[i].incarnation.value);
    if (part != parts.end())
      read_messages(items_[i], static_cast<int>(i), part->second.first, part->second.second, total_bytes);
  }
}

LeasedInstance FetchedTurns::read_header(int row) const {
  LeasedInstance leased{.instance = InstanceId{rows_.text(row, instance_id)},
                        .incarnation = Incarnation{rows_.number(row, key)},
                        .lease = LeaseToken{rows_.number(row, token)},
                        .execution = ExecutionId{rows_.number(row, timer_execution)},
                        .status = providers::status_or_running(rows_.text(row, status)),
                        .name = rows_.string(row, orchestration),
                        .version = rows_.string(row, version),
                        .last_event_id = EventId{rows_.number(row, last_event_id)},
                        .attempt = static_cast<std::uint32_t>(rows_.integer(row, attempt)),
                        .replay_token = CommitToken{rows_.number(row, replay_token)}};
  const auto value_keys = rows_.texts(row, keys);
  const auto value_texts = rows_.texts(row, values);
  const auto value_encodings = rows_.texts(row, encodings);
  const auto value_times = rows_.integers(row, updated_at);
  for (std::size_t i = 0; i < value_keys.size(); ++i) {
    leased.key_values.emplace(value_keys[i],
                              KeyValueEntry{make_payload(value_texts.at(i), value_encodings.at(i)),
                                            from_unix_ms(value_times.at(i))});
  }
  return leased;
}

void FetchedTurns::read_messages(LeasedInstance& leased, int header, int from, int to,
                                 std::size_t& total_bytes) {
  providers::Inbox inbox{request_, total_bytes};
  providers::UnreadableMessages unreadable;
  const auto hand_out = [&](int row) {
    const std::int64_t where = rows_.integer(row, place);
    if (auto body = message_from_json(rows_.text(row, item), leased.instance)) {
      InboxMessage message;
      message.body = std::move(*body);
      message.place = where;
      inbox.messages().push_back(std::move(message));
    } else {
      unreadable.add(where, body.error().message);
      leased.unreadable_places.push_back(where);
    }
  };
  int row = from;
  for (; row < to && rows_.integer(row, place) >= providers::first_timer_place; ++row) {
    inbox.add_timer(
        ExecutionId{rows_.number(row, timer_execution)},
        EventId{static_cast<std::uint64_t>(rows_.integer(row, place) - providers::first_timer_place)},
        from_unix_ms(rows_.integer(row, at)));
  }
  // A cancel never waits behind the limits: it comes last, if they leave it out.
  const bool cancelled = !rows_.is_null(header, cancel_place);
  const std::int64_t cancel = rows_.integer(header, cancel_place);
  const bool cut = !rows_.is_null(header, at);
  const bool beyond_limits =
      cancelled && (rows_.is_null(header, place) || cancel > rows_.integer(header, place) ||
                    (cut && duramen::detail::mutant("the_last_cancel_that_fits_is_beyond_the_limits")));
  std::optional<int> left_out;
  bool accepts = true;
  for (; row < to; ++row) {
    const bool is_cancel = cancelled && rows_.integer(row, place) == cancel;
    accepts = accepts && !(is_cancel && beyond_limits) &&
              inbox.add_message(from_unix_ms(rows_.integer(row, at)), rows_.text(row, item).size());
    if (accepts) {
      hand_out(row);
    } else if (is_cancel) {
      left_out = row;
    }
  }
  if (cut) {
    const bool more = inbox.add_message(from_unix_ms(rows_.integer(header, at)), too_many_bytes);
    static_cast<void>(more);
  } else if (accepts && !inbox.full()) {
    inbox.finish();
  }
  if (left_out) hand_out(*left_out);
  leased.messages = std::move(inbox.messages());
  leased.unreadable = unreadable.description();
  unreadable_ += unreadable.count();
}

Floors::Answer FetchedTurns::floors() const {
  const int row = rows_.count() - 1;
  Floors::Answer answer{.last = rows_.integer(row, last),
                        .time = rows_.integer(row, began),
                        .xmin = rows_.integer(row, xmin),
                        .own_id = {},
                        .lowest = rows_.integers(row, lows)};
  if (!rows_.is_null(row, own_id)) answer.own_id = rows_.integer(row, own_id);
  if (!rows_.is_null(row, low_wake)) answer.lowest_wake = rows_.integer(row, low_wake);
  return answer;
}

}  // namespace duramen::inline v0::postgres::detail
