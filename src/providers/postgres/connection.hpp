// One connection to the server, and statements on it.
#pragma once

#include "providers/postgres/conninfo.hpp"
#include "providers/postgres/parameters.hpp"
#include "providers/postgres/rows.hpp"
#include <duramen/time.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

struct pg_conn;

namespace duramen::inline v0::postgres::detail {

/// A statement. A connection prepares it under its name when it first needs it.
struct Query {
  std::string name;
  std::string sql;
  /// The server cancels it when this process gives it up. Not for calls that promise something: a cancel ends
  /// the server's wait for a synchronous standby, and the change becomes visible without a copy.
  bool cancellable = false;
};

/// What a new connection learned about the server.
struct ServerInfo {
  std::int64_t server_now = 0;  ///< wall clock of the server during the exchange
  std::int64_t sent = 0;        ///< the exchange, in milliseconds of the boot clock of this machine
  std::int64_t received = 0;
};

/// For one thread at a time. Unusable after a ConnectionError.
class Connection {
 public:
  using NoticeHandler = std::function<void(std::string_view)>;

  /// Throws ConnectionError, StoreError.
  Connection(const ConnInfo& conninfo, Duration call_timeout, bool prepare, NoticeHandler notices);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// One statement, one round trip, one transaction unless BEGIN was run. Fails after the call timeout, or
  /// after `at_most` if that is shorter. Throws SqlError, ConnectionError.
  Rows run(const Query& query, const Parameters& parameters, Duration at_most = Duration::max());
  /// The same for a statement that is not prepared.
  Rows run(const std::string& sql, const Parameters& parameters = {});
  /// Makes the server plan again: it keeps the plans of a session even if an empty table has grown since.
  void forget_plans();
  /// Several statements without parameters.
  void script(const std::string& sql);

  /// Sends a statement and loses the connection before it reads the answer. For tests.
  void send_and_lose(const Query& query, const Parameters& parameters);

  [[nodiscard]] bool usable() const noexcept { return usable_; }
  /// True if the next call may use it: it is usable, in no transaction, and every answer was read completely.
  [[nodiscard]] bool idle() const noexcept;
  /// False if the server has closed this idle connection.
  [[nodiscard]] bool still_there();
  [[nodiscard]] const ServerInfo& server_info() const noexcept { return server_info_; }
  [[nodiscard]] int socket() const;

  struct Notification {
    std::string payload;
    int sender = 0;  ///< the process id of its server session
  };
  /// Reads the input that has arrived, without waiting. Throws ConnectionError.
  void read_input();
  [[nodiscard]] std::optional<Notification> next_notification();
  /// The process id of the server session that answered the greeting: the sender of its notifications. A
  /// pooler in transaction mode may use another session for the next statement.
  [[nodiscard]] int session() const noexcept { return session_; }
  /// True behind a pooler: it has returned a process id that is not that of the session.
  [[nodiscard]] bool goes_through_pooler() const;
  /// False if preparing is off, or if prepared statements turned out to be lost between statements.
  [[nodiscard]] bool prepares() const noexcept { return prepare_; }

 private:
  struct Close {
    void operator()(pg_conn* connection) const noexcept;
  };

  void greet();
  void limit_session();
  void cancel() noexcept;
  Rows exchange(const Query& query, const Parameters& parameters);
  void send(const Query& query, const Parameters& parameters, bool& prepares);
  Rows receive(bool prepares, const Query& query);
  void flush();
  pg_result* next_result();
  void wait(short events);
  [[noreturn]] void lost(std::string_view what);

  std::unique_ptr<pg_conn, Close> connection_;
  Duration call_timeout_;
  Duration limit_ = call_timeout_;  // of the statement under way
  bool prepare_;
  bool usable_ = true;
  bool cancellable_ = false;  // the statement under way
  NoticeHandler notices_;
  ServerInfo server_info_;
  int session_ = 0;
  std::unordered_map<std::string, std::string> prepared_;  // query name to name on the server
  std::int64_t deadline_ = 0;                              // steady milliseconds
  std::int64_t plans_until_ = 0;
  std::int64_t plans_for_ = 1000;
};

}  // namespace duramen::inline v0::postgres::detail
