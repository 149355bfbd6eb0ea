#include "providers/sqlite/turn_fetcher.hpp"

#include "providers/common/inbox.hpp"
#include "providers/common/unreadable_messages.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

using providers::first_timer_place;

// One call marks at most this many timers that it cannot take, and moves at most this many entries.
constexpr std::size_t most_marked = 1000;

}  // namespace

/// A row by which a fetch may take an instance.
struct TurnFetcher::Found {
  std::int64_t ready_at = 0;
  std::int64_t ready_no = 0;
  Incarnation key;
  std::int64_t place = 0;
};

/// The entries of one capability, or the due timers and starts, longest waiting first.
class TurnFetcher::Source {
 public:
  /// The entries of a capability.
  Source(Statement& entries, std::string capability)
      : capability_(std::move(capability)), run_(entries.run(capability_)) {
    advance();
  }
  /// Timers and delayed starts that are due on the wall clock; their times in lease time.
  Source(Statement& due, const TransactionTime& time)
      : is_due_(true), now_(time.now), offset_(time.lease_now - time.now), run_(due.run()) {
    advance();
  }

  void advance() {
    if (!run_.step()) {
      current_.reset();
    } else if (is_due_ && run_.integer(0) > now_) {
      current_.reset();
      next_due_ = run_.integer(0);
    } else if (is_due_) {
      current_ = Found{run_.integer(0) + offset_, 0, Incarnation{run_.number(1)}, run_.integer(2)};
    } else {
      current_ = Found{run_.integer(0), run_.integer(1), Incarnation{run_.number(2)}, run_.integer(3)};
    }
  }
  [[nodiscard]] const std::optional<Found>& current() const noexcept { return current_; }
  [[nodiscard]] bool is_due() const noexcept { return is_due_; }
  /// Once there is no current one: the time of the first that is not due.
  [[nodiscard]] std::optional<std::int64_t> next_due() const noexcept { return next_due_; }
  [[nodiscard]] const std::string& capability() const noexcept { return capability_; }
  [[nodiscard]] bool before(const Source& other) const noexcept {
    const Found& a = *current_;
    const Found& b = *other.current_;
    return a.ready_at != b.ready_at ? a.ready_at < b.ready_at : a.ready_no < b.ready_no;
  }

 private:
  const std::string capability_;
  const bool is_due_ = false;
  const std::int64_t now_ = 0;
  const std::int64_t offset_ = 0;
  std::optional<std::int64_t> next_due_;
  Cursor run_;
  std::optional<Found> current_;
};

/// One call of fetch. It reads first and writes afterwards: its cursors are open while it reads.
struct TurnFetcher::Search {
  struct Taken {
    Found by;
    std::string capability;  ///< of an instance that has had no entry
  };
  struct NewEntry {
    Found found;
    std::string capability;
  };
  const TransactionTime& time;
  const TurnFetch& request;
  std::size_t total_bytes;
  TurnBatch batch = {};
  std::vector<std::unique_ptr<Source>> sources = {};
  std::vector<Taken> taken = {};                ///< one per item of the batch
  std::unordered_set<std::uint64_t> seen = {};  ///< instances taken, or given an entry
  std::vector<Found> noticed = {};              ///< timers of instances that have an entry
  std::vector<NewEntry> new_entries = {};       ///< timers of instances that it cannot take
  std::vector<NewEntry> renamed = {};           ///< entries with another capability than their row
  std::vector<std::pair<Found, std::int64_t>> leased = {};  ///< entries whose lease was renewed
  std::vector<Found> not_due = {};                          ///< entries of timers that are no longer due

  [[nodiscard]] std::size_t marked() const {
    return noticed.size() + new_entries.size() + renamed.size() + leased.size() + not_due.size();
  }
};

TurnFetcher::TurnFetcher(Connection& connection, NumberAllocator& numbers, Instances& instances,
                         OrchestratorQueue& queue, KeyValueTable& key_values)
    : numbers_(numbers),
      instances_(instances),
      queue_(queue),
      key_values_(key_values),
      connection_(connection),
      next_capability_(connection,
                       "SELECT capability, ready_at FROM duramen_queue INDEXED BY duramen_queue_entries "
                       "WHERE capability >= ? ORDER BY capability, ready_at, ready_no LIMIT 1"),
      first_due_(connection,
                 "SELECT due_at FROM duramen_queue INDEXED BY duramen_queue_due "
                 "WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1"),
      next_due_(connection,
                "SELECT due_at FROM duramen_queue INDEXED BY duramen_queue_due WHERE due_at > ? "
                "ORDER BY due_at LIMIT 1"),
      due_(connection,
           "SELECT due_at, instance_key, place FROM duramen_queue INDEXED BY duramen_queue_due "
           "WHERE due_at IS NOT NULL ORDER BY due_at"),
      instance_(connection, "SELECT " + std::string(row_columns) +
                                ", i.instance_id FROM duramen_instances i WHERE i.key = ?"),
      has_message_(connection,
                   "SELECT 1 FROM duramen_queue WHERE instance_key = ? AND place < ? AND place <> ? LIMIT 1"),
      timers_(connection,
              "SELECT place, fire_at, execution FROM duramen_queue INDEXED BY duramen_queue_timers "
              "WHERE instance_key = ? AND fire_at <= ? ORDER BY fire_at, place LIMIT ?"),
      messages_(connection,
                "SELECT place, sent_at, item FROM duramen_queue WHERE instance_key = ? AND place < ? "
                "ORDER BY place"),
      move_entry_(connection,
                  "UPDATE duramen_queue SET ready_at = ?3 WHERE instance_key = ?1 AND place = ?2"),
      make_entry_(connection,
                  "UPDATE duramen_queue SET capability = ?3, ready_at = ?4, ready_no = ?5, due_at = NULL "
                  "WHERE instance_key = ?1 AND place = ?2"),
      notice_(connection, "UPDATE duramen_queue SET due_at = NULL WHERE instance_key = ? AND place = ?"),
      forget_entry_(connection,
                    "UPDATE duramen_queue SET capability = NULL, ready_at = NULL, ready_no = NULL, "
                    "due_at = fire_at WHERE instance_key = ? AND place = ?") {}

template <class Visit>
void TurnFetcher::each_capability(Visit visit) {
  auto from = wanted_.next("");
  while (from) {
    std::string capability;
    std::int64_t ready_at = 0;
    {
      Cursor run = next_capability_.run(*from);
      if (!run.step()) return;
      capability = run.string(0);
      ready_at = run.integer(1);
    }
    if (wanted_.contains(capability)) {
      if (!visit(capability, ready_at)) return;
      capability.push_back('\0');  // the first text after it
    }
    from = wanted_.next(capability);
  }
}

std::optional<std::int64_t> TurnFetcher::next_timer(const TransactionTime& time) {
  Cursor run = next_due_.run(time.now);
  return run.step() ? std::optional(run.integer(0)) : std::nullopt;
}

bool TurnFetcher::any_ready(const TransactionTime& time, const TurnFetch& request,
                            std::optional<TimePoint>& next_due) {
  wanted_.prepare(request);
  std::optional<std::int64_t> due_at;
  {
    Cursor run = first_due_.run();
    if (run.step()) due_at = run.integer(0);
  }
  if (due_at && *due_at <= time.now) return true;
  bool any = false;
  std::optional<std::int64_t> next_ready;
  each_capability([&](const std::string&, std::int64_t ready_at) {
    any = ready_at <= time.lease_now;
    if (!next_ready || ready_at < *next_ready) next_ready = ready_at;
    return !any;
  });
  if (any) return true;
  queue_.report_due(due_at);
  if (due_at) next_due = from_unix_ms(*due_at);
  if (next_ready) next_due = earlier(next_due, time.wall_time(*next_ready));
  return false;
}

void TurnFetcher::open_sources(Search& search) {
  std::vector<std::string> ready;
  each_capability([&](const std::string& capability, std::int64_t ready_at) {
    if (ready_at <= search.time.lease_now) {
      ready.push_back(capability);
    } else {
      search.batch.next_due = earlier(search.batch.next_due, search.time.wall_time(ready_at));
    }
    return true;
  });
  while (entries_.size() < ready.size()) {
    entries_.push_back(std::make_unique<Statement>(
        connection_,
        "SELECT ready_at, ready_no, instance_key, place FROM duramen_queue "
        "INDEXED BY duramen_queue_entries WHERE capability = ? ORDER BY ready_at, ready_no"));
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    search.sources.push_back(std::make_unique<Source>(*entries_[i], std::move(ready[i])));
  }
  search.sources.push_back(std::make_unique<Source>(due_, search.time));
}

TurnFetcher::Source* TurnFetcher::longest_waiting(Search& search) {
  Source* longest = nullptr;
  for (const auto& source : search.sources) {
    if (source->current() && (longest == nullptr || source->before(*longest))) longest = source.get();
  }
  if (longest == nullptr || longest->is_due() || longest->current()->ready_at <= search.time.lease_now)
    return longest;
  search.batch.next_due = earlier(search.batch.next_due, search.time.wall_time(longest->current()->ready_at));
  return nullptr;
}

TurnBatch TurnFetcher::fetch(const TransactionTime& time, const TurnFetch& request,
                             const std::function<LeaseToken()>& new_token) {
  wanted_.prepare(request);
  Search search{.time = time, .request = request, .total_bytes = request.max_total_bytes};
  std::optional<std::int64_t> next;
  if (request.limit == 0) {
    next = next_timer(time);
  } else {
    open_sources(search);
    while (search.marked() < most_marked) {
      Source* source = longest_waiting(search);
      if (source == nullptr || !consider(search, *source)) break;
      source->advance();
    }
    const Source& due = *search.sources.back();
    next = due.current() ? next_timer(time) : due.next_due();
    search.sources.clear();
    // There may be more to find behind what this call marks.
    if (search.marked() >= most_marked) search.batch.next_due = from_unix_ms(time.now);
  }
  queue_.report_due(next);
  if (next) search.batch.next_due = earlier(search.batch.next_due, from_unix_ms(*next));
  store(search, new_token);
  return std::move(search.batch);
}

bool TurnFetcher::consider(Search& search, const Source& source) {
  const Found found = *source.current();
  if (search.seen.contains(found.key.value)) {
    // The timers of an instance that was given an entry wait behind it; those of one that is taken are part
    // of its inbox.
    return true;
  }
  InstanceRow row;
  LeasedInstance item;
  {
    Cursor run = instance_.run(found.key.value);
    if (!run.step()) return true;
    row = read_row(run);
    item.instance = InstanceId{run.text(row_column_count)};
  }
  if (source.is_due()) {
    if (!notice(search, row, found)) return true;
  } else {
    if (row.leased(search.time)) {
      search.leased.emplace_back(found, row.lease_until);
      search.batch.next_due = earlier(search.batch.next_due, search.time.wall_time(row.lease_until));
      return true;
    }
    if (std::string capability = row.capability(); capability != source.capability()) {
      search.renamed.push_back({found, std::move(capability)});
      return true;
    }
    if (!wanted_.can_take(row)) return true;
  }
  // An instance that was handed out before and not finished may have crashed its node. It is handed out
  // alone, when it is the longest waiting; until then the instances behind it go first.
  const bool retried = row.attempt > 0;
  if (retried && !search.batch.items.empty()) return true;
  if (search.total_bytes == 0 && !search.batch.items.empty()) return false;
  if (!load(search, row, item)) {
    search.not_due.push_back(found);
    return true;
  }
  search.seen.insert(found.key.value);
  search.taken.push_back({found, source.is_due() ? row.capability() : std::string{}});
  search.batch.items.push_back(std::move(item));
  return !retried && search.batch.items.size() < search.request.limit;
}

bool TurnFetcher::notice(Search& search, const InstanceRow& row, const Found& found) {
  const bool has_entry = row.entry_place || row.leased(search.time) ||
                         (found.place >= first_timer_place &&
                          has_message_.run(found.key.value, first_timer_place, found.place).step());
  if (has_entry) {
    search.noticed.push_back(found);
    return false;
  }
  if (wanted_.can_take(row)) return true;
  search.seen.insert(found.key.value);
  search.new_entries.push_back({found, row.capability()});
  return false;
}

/// Reads what the instance has to take. False: nothing, because the wall clock was set back.
bool TurnFetcher::load(Search& search, const InstanceRow& row, LeasedInstance& item) {
  providers::Inbox inbox{search.request, search.total_bytes};
  providers::UnreadableMessages unreadable;
  {
    Cursor run = timers_.run(row.key.value, search.time.now, search.request.max_messages);
    while (run.step()) {
      const EventId event{static_cast<std::uint64_t>(run.integer(0) - first_timer_place)};
      inbox.add_timer(ExecutionId{run.number(2)}, event, from_unix_ms(run.integer(1)));
    }
  }
  bool has_cancel = false;
  const auto read = [&](std::int64_t place, std::string_view json) {
    has_cancel |= place == row.cancel_place;
    auto body = message_from_json(json, item.instance);
    if (body) {
      InboxMessage& message = inbox.messages().emplace_back();
      message.body = std::move(*body);
      message.place = place;
    } else {
      unreadable.add(place, body.error().message);
      item.unreadable_places.push_back(place);
    }
  };
  {
    Cursor run = messages_.run(row.key.value, first_timer_place);
    while (run.step()) {
      if (!inbox.add_message(from_unix_ms(run.integer(1)), run.text(2).size())) break;
      read(run.integer(0), run.text(2));
    }
  }
  inbox.finish();
  if (row.cancel_place && !has_cancel) {
    // A cancel does not wait behind what the limits leave.
    if (const auto cancel = queue_.item_at(row.key, *row.cancel_place)) read(*row.cancel_place, *cancel);
  }
  if (inbox.messages().empty() && unreadable.count() == 0) return false;
  item.incarnation = row.key;
  item.execution = row.execution;
  item.status = row.status;
  item.name = row.name;
  item.version = row.version;
  item.last_event_id = row.last_event_id;
  item.replay_token = row.replay_token;
  item.attempt = row.attempt + 1;
  item.messages = std::move(inbox.messages());
  item.unreadable = unreadable.description();
  unreadable_ += unreadable.count();
  if (row.has_key_values) item.key_values = key_values_.settled(row.key);
  return true;
}

void TurnFetcher::store(Search& search, const std::function<LeaseToken()>& new_token) {
  const TransactionTime& time = search.time;
  const std::int64_t until = time.lease_end(search.request.lease);
  for (std::size_t i = 0; i < search.taken.size(); ++i) {
    LeasedInstance& item = search.batch.items[i];
    const Search::Taken& taken = search.taken[i];
    item.lease = new_token();
    item.lease_until = TransactionTime::lease_time(until);
    instances_.take_lease(item.incarnation, item.lease, until, taken.by.place);
    if (taken.capability.empty()) {
      move_entry_.execute(taken.by.key.value, taken.by.place, until);
    } else {
      make_entry_.execute(taken.by.key.value, taken.by.place, taken.capability, until, numbers_.next());
    }
  }
  for (const Found& found : search.noticed) notice_.execute(found.key.value, found.place);
  for (const Search::NewEntry& entry : search.new_entries) {
    make_entry_.execute(entry.found.key.value, entry.found.place, entry.capability, time.lease_now,
                        numbers_.next());
    instances_.set_entry(entry.found.key, entry.found.place);
  }
  for (const Search::NewEntry& entry : search.renamed) {
    make_entry_.execute(entry.found.key.value, entry.found.place, entry.capability, entry.found.ready_at,
                        entry.found.ready_no);
  }
  for (const auto& [found, lease_until] : search.leased) {
    move_entry_.execute(found.key.value, found.place, lease_until);
  }
  for (const Found& found : search.not_due) {
    forget_entry_.execute(found.key.value, found.place);
    instances_.set_entry(found.key, std::nullopt);
  }
}

}  // namespace duramen::inline v0::sqlite::detail
