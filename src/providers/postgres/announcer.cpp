#include "providers/postgres/announcer.hpp"

#include "base/fnv1a.hpp"
#include "providers/postgres/error.hpp"
#include "providers/postgres/identifier.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <poll.h>
#include <pthread.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <unistd.h>

namespace duramen::inline v0::postgres::detail {

namespace {

using Steady = std::chrono::steady_clock;

// The interval between checks of the connection and of other listeners.
constexpr Duration check_interval = std::chrono::seconds{30};
constexpr Duration deferred_interval{5};
// For the test whether a pooler changes sessions.
constexpr Duration longest_comparison = std::chrono::seconds{5};
constexpr int comparisons = 3;

std::uint64_t hash_of(std::string_view text) { return base::Fnv1a{}.add(text).value(); }

/// Channels belong to the database: each schema has its own.
std::string channel_of(const std::string& schema) {
  char name[40];
  std::snprintf(name, sizeof name, "duramen_%016llx", static_cast<unsigned long long>(hash_of(schema)));
  return name;
}

/// A LISTEN in one session has no effect in the next one, so listening is impossible.
class SharedSession : public std::runtime_error {
 public:
  SharedSession() : std::runtime_error("a pooler changes the session between statements") {}
};

void stay_in_session(const Connection& connection, std::int64_t session) {
  if (session != connection.session()) throw SharedSession();
}

std::int64_t session_now(Connection& connection) {
  return connection.run("SELECT pg_backend_pid()::bigint").integer(0, 0);
}

}  // namespace

Announcer::Announcer(const Options& options, providers::Listeners& listeners, ServerClock& clock,
                     CallCounters& counters)
    : options_(options),
      conninfo_(options.listen_conninfo.empty() ? options.conninfo : options.listen_conninfo),
      channel_(channel_of(options.schema)),
      presence_lock_(static_cast<std::int64_t>(hash_of("duramen listens in " + options.schema))),
      listeners_(listeners),
      clock_(clock),
      counters_(counters),
      wake_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Announcer::~Announcer() {
  stopping_ = true;
  wake();
  if (thread_.joinable()) thread_.join();
  if (wake_fd_ >= 0) ::close(wake_fd_);
}

void Announcer::start() {
  std::call_once(started_, [this] {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::exception&) {
      // No thread is available. Listeners are notified of commits by this store; polling finds the others.
    }
  });
}

void Announcer::announce(const providers::Notices& notices) {
  if (!others_ || !notices.any()) return;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    const bool was_empty = pending_.empty();
    const bool could_wait = pending_.can_wait();
    pending_.add(notices);
    first = was_empty || (could_wait && !pending_.can_wait());
  }
  if (!first) return;  // the thread is already awake
  start();
  wake();
}

void Announcer::wake() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_fd_, &one, sizeof one);
}

void Announcer::pause(Duration length) {
  const auto end = Steady::now() + length;
  while (!stopping_) {
    const auto left = std::chrono::ceil<Duration>(end - Steady::now());
    if (left <= Duration::zero()) return;
    pollfd entry{.fd = wake_fd_, .events = POLLIN, .revents = 0};
    ::poll(&entry, 1, static_cast<int>(left.count()));
    std::uint64_t ignored = 0;
    [[maybe_unused]] const ssize_t count = ::read(wake_fd_, &ignored, sizeof ignored);
  }
}

void Announcer::run() {
  ::pthread_setname_np(::pthread_self(), "dm-postgres");
  BackOff back_off{options_.first_reconnect_pause, options_.longest_reconnect_pause};
  bool before = false;
  while (!stopping_) {
    try {
      Connection::NoticeHandler ignore = [](std::string_view) {};
      Connection connection{conninfo_, options_.call_timeout, false, std::move(ignore)};
      ++counters_.connections_opened;
      clock_.heard(connection.server_info());
      if (!listening_unavailable_ && shares_sessions(connection)) throw SharedSession();
      if (!listening_unavailable_) introduce(connection);
      back_off.succeeded();
      listening_ = !listening_unavailable_;
      // Announcements may have been lost while nothing listened.
      if (before) notify(Announcement::of_everything());
      before = true;
      serve(connection);
    } catch (const SharedSession&) {
      listening_unavailable_ = true;
      others_ = true;  // unknown
      if (options_.log) {
        options_.log({.level = LogLevel::warning,
                      .message =
                          "commits of other nodes are found by polling only: a pooler in transaction mode "
                          "prevents listening; set listen_conninfo to connect to the server directly",
                      .fields = {}});
      }
    } catch (const std::exception&) {
      listening_ = false;
      others_ = true;  // unknown
      if (options_.log && !stopping_) {
        options_.log(
            {.level = LogLevel::warning,
             .message =
                 "commits of other nodes are found by polling for now: the listening connection was lost",
             .fields = {}});
      }
    }
    listening_ = false;
    if (!stopping_) pause(back_off.failed());
  }
}

bool Announcer::shares_sessions(Connection& connection) {
  if (!connection.goes_through_pooler()) return false;
  try {
    // If each client has its own session, two clients never share one, and none changes.
    Connection other{conninfo_, std::min<Duration>(options_.call_timeout, longest_comparison), false,
                     nullptr};
    ++counters_.connections_opened;
    if (other.session() == connection.session()) return true;
    for (int i = 0; i < comparisons; ++i) {
      counters_.listener_queries += 2;
      if (session_now(other) != other.session() || session_now(connection) != connection.session())
        return true;
    }
  } catch (const ConnectionError&) {
    if (!connection.usable()) throw;
    // No second session is available. Later statements return their session and show a change.
  }
  return false;
}

void Announcer::introduce(Connection& connection) {
  const auto run = [&](const std::string& sql) {
    ++counters_.listener_queries;
    connection.run(sql);
  };
  run("LISTEN " + quoted_identifier(channel_));
  run("SELECT pg_advisory_lock_shared(" + std::to_string(presence_lock_) + ")");
  find_other_listeners(connection);
  if (!others_) return;
  const std::lock_guard lock(mutex_);
  pending_.listener_joined = true;
  wake();
}

void Announcer::find_other_listeners(Connection& connection) {
  Parameters lock;
  lock.number(presence_lock_);
  ++counters_.listener_queries;
  const Rows rows = connection.run(
      "SELECT count(*), pg_backend_pid()::bigint FROM pg_catalog.pg_locks l "
      "WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 "
      "AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database()) "
      "AND l.classid::bigint = ($1 >> 32) & 4294967295 AND l.objid::bigint = $1 & 4294967295",
      lock);
  stay_in_session(connection, rows.integer(0, 1));
  others_ = rows.integer(0, 0) > 1;
}

void Announcer::serve(Connection& connection) {
  auto next_check = Steady::now() + check_interval;
  while (!stopping_) {
    const auto send_again = send_pending(connection);
    receive(connection);
    if (Steady::now() >= next_check) {
      if (!listening_unavailable_) find_other_listeners(connection);
      next_check = Steady::now() + check_interval;
    }
    const auto left =
        std::chrono::ceil<Duration>(std::min(next_check, send_again.value_or(next_check)) - Steady::now());
    pollfd entries[2] = {{.fd = wake_fd_, .events = POLLIN, .revents = 0},
                         {.fd = connection.socket(), .events = POLLIN, .revents = 0}};
    ::poll(entries, 2, static_cast<int>(std::max<Duration::rep>(left.count(), 0)));
    if (entries[0].revents != 0) {
      std::uint64_t ignored = 0;
      [[maybe_unused]] const ssize_t count = ::read(wake_fd_, &ignored, sizeof ignored);
    }
    if (entries[1].revents != 0) connection.read_input();
  }
  // Sends deferred announcements before the end.
  next_deferred_ = {};
  send_pending(connection);
}

std::optional<Steady::time_point> Announcer::send_pending(Connection& connection) {
  Announcement announcement;
  {
    const std::lock_guard lock(mutex_);
    if (pending_.can_wait() && !pending_.empty() && Steady::now() < next_deferred_) return next_deferred_;
    std::swap(announcement, pending_);
  }
  if (announcement.empty() || !others_) return std::nullopt;
  next_deferred_ = Steady::now() + deferred_interval;
  Parameters parameters;
  parameters.text(channel_).text(announcement.to_payload());
  ++counters_.listener_queries;
  ++counters_.notifications_sent;
  try {
    // A notification need not survive a crash of the server. Set for this statement only: a pooler may give
    // the session to another client after it.
    const Rows rows = connection.run(
        "SELECT pg_backend_pid()::bigint, pg_notify($1, $2), set_config('synchronous_commit', 'off', true)",
        parameters);
    if (!listening_unavailable_) stay_in_session(connection, rows.integer(0, 0));
  } catch (...) {
    // The next connection announces all topics; receiving an announcement twice does no harm.
    const std::lock_guard lock(mutex_);
    pending_ = Announcement::of_everything();
    throw;
  }
  return std::nullopt;
}

void Announcer::receive(Connection& connection) {
  while (auto notification = connection.next_notification()) {
    if (notification->sender == connection.session()) continue;
    ++counters_.notifications_received;
    const Announcement announcement = Announcement::from_payload(notification->payload);
    others_ = true;
    notify(announcement);
  }
}

void Announcer::notify(const Announcement& announcement) {
  if (on_announcement_) on_announcement_(announcement);
  listeners_.each([&](const NodeId& node, ProviderListener& listener) {
    if (announcement.concerns(node)) listener.stolen_leases_pending();
    if (announcement.turns_ready) listener.turns_ready();
    if (announcement.activities_ready) listener.activities_ready();
    if (announcement.instances) listener.unknown_instances_changed();
  });
}

}  // namespace duramen::inline v0::postgres::detail
