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

/// A statement by its name, under which connections prepare it when they first need it.
struct Query {
  std::string name;
  std::string sql;
};

/// What a connection learned when it was made.
struct ServerInfo {
  std::int64_t server_now = 0;  ///< wall clock of the server, when half of the exchange was over
  std::int64_t here_now = 0;    ///< that of this machine
};

/// Not for use by two threads at a time. After a ConnectionError it is of no use any more.
class Connection {
 public:
  using NoticeHandler = std::function<void(std::string_view)>;

  /// Throws ConnectionError, StoreError.
  Connection(const ConnInfo& conninfo, Duration call_timeout, bool prepare, NoticeHandler notices);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// One statement, one round trip, one transaction unless BEGIN was run. Throws SqlError, ConnectionError.
  Rows run(const Query& query, const Parameters& parameters);
  /// The same for a statement that is not kept.
  Rows run(const std::string& sql, const Parameters& parameters = {});
  /// The server keeps the plans of a session, also when a table that was empty has grown since. Makes it plan
  /// anew.
  void forget_plans();
  /// Several statements without parameters.
  void script(const std::string& sql);

  /// Sends a statement and lets the connection die before its answer is read: what a lost answer is like. For
  /// tests.
  void send_and_lose(const Query& query, const Parameters& parameters);

  [[nodiscard]] bool usable() const noexcept { return usable_; }
  /// True if the next call may have it: it is usable, in no transaction, and every answer was read to its
  /// end.
  [[nodiscard]] bool idle() const noexcept;
  /// For one that was idle: has the server hung up meanwhile?
  [[nodiscard]] bool still_there();
  [[nodiscard]] const ServerInfo& server_info() const noexcept { return server_info_; }
  [[nodiscard]] int socket() const;

  struct Notification {
    std::string payload;
    int sender = 0;  ///< the process id of its server session
  };
  /// Reads what has arrived without waiting. Throws ConnectionError.
  void read_input();
  [[nodiscard]] std::optional<Notification> next_notification();
  /// The process id of the server session that the greeting was answered in: what notifications have as their
  /// sender. A pooler in transaction mode may lead to another one the next time.
  [[nodiscard]] int session() const noexcept { return session_; }
  /// True if somebody stands between us and the server: it has given us another process id than the
  /// session's.
  [[nodiscard]] bool goes_through_pooler() const;
  /// False if it was not asked to prepare statements, or has found that they do not stay where they were
  /// prepared.
  [[nodiscard]] bool prepares() const noexcept { return prepare_; }

 private:
  struct Close {
    void operator()(pg_conn* connection) const noexcept;
  };

  void greet();
  Rows exchange(const Query& query, const Parameters& parameters);
  void send(const Query& query, const Parameters& parameters, bool& prepares);
  Rows receive(bool prepares, const Query& query);
  void flush();
  pg_result* next_result();
  void wait(short events);
  [[noreturn]] void lost(std::string_view what);

  std::unique_ptr<pg_conn, Close> connection_;
  Duration call_timeout_;
  bool prepare_;
  bool usable_ = true;
  NoticeHandler notices_;
  ServerInfo server_info_;
  int session_ = 0;
  std::unordered_map<std::string, std::string> prepared_;  // by the names of queries: those on the server
  std::int64_t deadline_ = 0;                              // steady milliseconds
  std::int64_t plans_until_ = 0;
  std::int64_t plans_for_ = 1000;
};

}  // namespace duramen::inline v0::postgres::detail
