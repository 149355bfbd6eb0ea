// Announces the commits of this process to the other processes on the same store, and receives theirs. One
// thread with a connection of its own.
//
// An announcement is sent after its commit, not in it: a NOTIFY inside would make all commits of the database
// wait for each other. If the process dies in between, polling and lease renewals find the change. Notices
// that arrive during a send share the next one. Announcements that can wait are sent at most a few hundred
// times a second, because each one wakes every process. Each listening process holds a lock that the others
// can see and announces that it joined; an announcer that sees no such lock sends nothing.
#pragma once

#include "providers/common/listeners.hpp"
#include "providers/postgres/announcement.hpp"
#include "providers/postgres/back_off.hpp"
#include "providers/postgres/connection.hpp"
#include "providers/postgres/pool.hpp"
#include <duramen/postgres.hpp>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace duramen::inline v0::postgres::detail {

class Announcer {
 public:
  /// Throws StoreError for a connection string that cannot be read. Starts no thread yet.
  Announcer(const Options& options, providers::Listeners& listeners, ServerClock& clock,
            CallCounters& counters);
  ~Announcer();
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  /// From now on the listeners are notified of commits by other processes.
  void start();
  /// `callback` runs before the listeners are notified.
  void on_announcement(std::function<void(const Announcement&)> callback) {
    on_announcement_ = std::move(callback);
  }
  /// Announces to other processes, if there may be any. Does not wait.
  void announce(const providers::Notices& notices);
  /// True while this process receives every announcement.
  [[nodiscard]] bool is_listening() const noexcept { return listening_; }

 private:
  void run();
  void serve(Connection& connection);
  /// True behind a pooler that changes the session between statements.
  [[nodiscard]] bool shares_sessions(Connection& connection);
  void introduce(Connection& connection);
  void find_other_listeners(Connection& connection);
  /// The time at which a deferred announcement is due, if there is one.
  std::optional<std::chrono::steady_clock::time_point> send_pending(Connection& connection);
  void receive(Connection& connection);
  void notify(const Announcement& announcement);
  void wake() const;
  /// Returns early only if the announcer stops.
  void pause(Duration length);

  const Options options_;
  const ConnInfo conninfo_;
  const std::string channel_;
  const std::int64_t presence_lock_;
  providers::Listeners& listeners_;
  ServerClock& clock_;
  CallCounters& counters_;
  std::function<void(const Announcement&)> on_announcement_;

  std::mutex mutex_;
  Announcement pending_;
  std::atomic<bool> others_ = true;  // until it is known
  std::atomic<bool> listening_ = false;
  std::atomic<bool> stopping_ = false;
  // A pooler prevents LISTEN; announcements of this process are sent nevertheless.
  bool listening_unavailable_ = false;
  int wake_fd_ = -1;
  // Used by the thread only: deferred announcements wait until then.
  std::chrono::steady_clock::time_point next_deferred_{};
  std::once_flag started_;
  std::thread thread_;
};

}  // namespace duramen::inline v0::postgres::detail
