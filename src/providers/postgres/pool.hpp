// Connections for calls. Each call has its own connection; a lost one is replaced, with a pause between
// failed attempts.
#pragma once

#include "providers/postgres/back_off.hpp"
#include "providers/postgres/connection.hpp"
#include "providers/postgres/server_clock.hpp"
#include <duramen/postgres.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace duramen::inline v0::postgres::detail {

/// The values of Counters.
struct CallCounters {
  std::atomic<std::uint64_t> queries = 0;
  std::atomic<std::uint64_t> listener_queries = 0;
  std::atomic<std::uint64_t> connections_opened = 0;
  std::atomic<std::uint64_t> notifications_sent = 0;
  std::atomic<std::uint64_t> notifications_received = 0;
  std::atomic<std::uint64_t> unreadable_messages = 0;
};

class Pool {
 public:
  /// Throws StoreError for a connection string that cannot be read.
  Pool(const Options& options, ServerClock& clock, CallCounters& counters);

  /// A borrowed connection; the destructor returns it. A connection that was lost, or left within a
  /// transaction or an answer, is closed.
  class Loan {
   public:
    Loan(Pool& pool, std::unique_ptr<Connection> connection)
        : pool_(&pool), connection_(std::move(connection)) {}
    Loan(Loan&&) = default;
    Loan& operator=(Loan&&) = delete;
    ~Loan() {
      if (connection_) pool_->release(std::move(connection_));
    }
    Connection* operator->() const noexcept { return connection_.get(); }
    Connection& operator*() const noexcept { return *connection_; }

   private:
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  /// Waits a short time for a free connection, and for the server if it is away. Throws ConnectionError,
  /// StoreError.
  [[nodiscard]] Loan take();

  [[nodiscard]] const ConnInfo& conninfo() const noexcept { return conninfo_; }

 private:
  using Steady = std::chrono::steady_clock;

  void release(std::unique_ptr<Connection> connection) noexcept;
  [[nodiscard]] std::unique_ptr<Connection> connect(bool prepare);

  const Options options_;
  const ConnInfo conninfo_;
  ServerClock& clock_;
  CallCounters& counters_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Connection>> idle_;
  std::size_t out_ = 0;  // borrowed, or being opened
  // False once a connection finds it useless.
  bool prepare_;
  BackOff back_off_;
  Steady::time_point next_attempt_ = {};
  std::string last_failure_;
};

}  // namespace duramen::inline v0::postgres::detail
