#include "providers/postgres/pool.hpp"

#include "providers/postgres/error.hpp"
#include <duramen/detail/mutant.hpp>

#include <algorithm>

namespace duramen::inline v0::postgres::detail {

Pool::Pool(const Options& options, ServerClock& clock, CallCounters& counters)
    : options_(options),
      conninfo_(options.conninfo),
      clock_(clock),
      counters_(counters),
      prepare_(options.prepare_statements),
      back_off_(options.first_reconnect_pause, options.longest_reconnect_pause) {}

Pool::Loan Pool::take() {
  const auto patience = Steady::now() + options_.reconnect_patience;
  const auto longest_wait = Steady::now() + options_.call_timeout;
  std::unique_lock lock(mutex_);
  while (true) {
    if (!idle_.empty()) {
      std::unique_ptr<Connection> connection = std::move(idle_.back());
      idle_.pop_back();
      if (!connection->still_there()) continue;
      ++out_;
      return Loan{*this, std::move(connection)};
    }
    if (out_ >= std::max<std::size_t>(options_.max_connections, 1)) {
      if (changed_.wait_until(lock, longest_wait) == std::cv_status::timeout && idle_.empty() &&
          Steady::now() >= longest_wait) {
        throw ConnectionError("all " + std::to_string(options_.max_connections) +
                              " connections are in use; raise max_connections");
      }
      continue;
    }
    const auto now = Steady::now();
    if (now < next_attempt_) {
      if (next_attempt_ > patience) throw ConnectionError(last_failure_);
      changed_.wait_until(lock, next_attempt_);
      continue;
    }
    // Reserves room for every borrowed connection, so that returning one cannot fail.
    idle_.reserve(idle_.size() + out_ + 1);
    ++out_;
    const bool prepare = prepare_;
    lock.unlock();
    std::unique_ptr<Connection> connection;
    std::string failure;
    try {
      try {
        connection = connect(prepare);
      } catch (const ConnectionError& e) {
        failure = e.what();
      } catch (const SqlError& e) {
        failure = e.what();
      }
    } catch (...) {
      lock.lock();
      --out_;
      changed_.notify_all();
      throw;
    }
    lock.lock();
    if (connection) {
      back_off_.succeeded();
      return Loan{*this, std::move(connection)};
    }
    --out_;
    last_failure_ = failure;
    next_attempt_ = Steady::now() + back_off_.failed();
    changed_.notify_all();
    if (options_.log) {
      options_.log({.level = LogLevel::warning, .message = "the store cannot be reached", .fields = {}});
    }
  }
}

std::unique_ptr<Connection> Pool::connect(bool prepare) {
  Connection::NoticeHandler notices;
  if (options_.log) {
    notices = [log = options_.log](std::string_view text) {
      log({.level = LogLevel::debug, .message = text, .fields = {}});
    };
  }
  auto connection =
      std::make_unique<Connection>(conninfo_, options_.call_timeout, prepare, std::move(notices));
  ++counters_.connections_opened;
  clock_.heard(connection->server_info());
  return connection;
}

void Pool::release(std::unique_ptr<Connection> connection) noexcept {
  std::unique_ptr<Connection> lost;
  bool found_out = false;
  {
    const std::lock_guard lock(mutex_);
    --out_;
    found_out = prepare_ && !connection->prepares();
    if (found_out) prepare_ = false;
    if (connection->idle() || duramen::detail::mutant("pool_takes_back_open_transactions")) {
      idle_.push_back(std::move(connection));
    } else {
      // An exception ended its call within a transaction or an answer. Or it was lost: then the idle
      // connections to the same server are probably lost as well; take() checks them.
      lost = std::move(connection);
    }
    changed_.notify_one();
  }
  if (found_out && options_.log) {
    options_.log({.level = LogLevel::warning,
                  .message =
                      "prepared statements are lost between calls, as behind a pooler in transaction mode: "
                      "continuing without them; set prepare_statements = false",
                  .fields = {}});
  }
}

}  // namespace duramen::inline v0::postgres::detail
