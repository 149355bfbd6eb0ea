// The connection between the processes that share a store: tells the others what was committed here, and
// hears what they did. One thread with a connection of its own.
//
// News are sent after their commit, not in it: a NOTIFY inside would make all commits of the database wait
// for each other. What is lost if the process dies in between is found by polling, and by renewals. Whatever
// comes up while a notification is on its way goes with the next one; and what can wait a moment goes a few
// hundred times a second at most, since each notification wakes everybody. As long as nobody else listens,
// nothing is sent: whoever listens holds a lock that the others can see, and says hello.
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

  /// From now on the listeners hear of other processes.
  void start();
  /// Called before listeners, so that who looks after it was called sees what they are told of.
  void on_announcement(std::function<void(const Announcement&)> callback) {
    on_announcement_ = std::move(callback);
  }
  /// Tells other processes, if there may be any. Does not wait.
  void announce(const providers::Notices& notices);
  /// True while nothing that others say is missed.
  [[nodiscard]] bool is_listening() const noexcept { return listening_; }

 private:
  void run();
  void serve(Connection& connection);
  /// True behind a pooler that leads to one session after the other.
  [[nodiscard]] bool shares_sessions(Connection& connection);
  void introduce(Connection& connection);
  void find_other_listeners(Connection& connection);
  /// When to come back for what can wait, if something does.
  std::optional<std::chrono::steady_clock::time_point> send_pending(Connection& connection);
  void receive(Connection& connection);
  void notify(const Announcement& announcement);
  void wake() const;
  /// False if it was woken up before that.
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
  bool listening_unavailable_ =
      false;  // there is no listening here; what is committed is told to the others all the same
  int wake_fd_ = -1;
  // The thread's: before it, what can wait is not sent.
  std::chrono::steady_clock::time_point next_deferred_{};
  std::once_flag started_;
  std::thread thread_;
};

}  // namespace duramen::inline v0::postgres::detail
