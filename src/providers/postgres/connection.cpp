#include "providers/postgres/connection.hpp"

#include "providers/postgres/error.hpp"
#include <duramen/detail/mutant.hpp>
#include <duramen/store.hpp>

#include <libpq-fe.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <functional>
#include <poll.h>
#include <system_error>
#include <thread>
#include <vector>

namespace duramen::inline v0::postgres::detail {

namespace {

constexpr int oldest_server = 150000;
// Plans are discarded after a second, then less often.
constexpr std::int64_t longest_plans_ms = 60'000;

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// A message of libpq or the server for logs and errors: one line, without secrets. libpq writes its advice,
/// and each further host, on a separate line.
std::string fit_to_show(std::string_view text) {
  std::string line;
  for (const char c : text.substr(0, text.find_last_not_of(" \t\r\n") + 1)) {
    if (c == '\n' && !duramen::detail::mutant("errors_of_libpq_keep_their_lines")) {
      line += "; ";
    } else if (c != '\t' && c != '\r') {
      line += c;
    }
  }
  return without_secrets(line);
}

void hear_notice(void* connection, const pg_result* result) {
  const auto& handler = *static_cast<const Connection::NoticeHandler*>(connection);
  const char* text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (handler && text != nullptr) handler(text);
}

SqlError error_of(const pg_result* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  // Details of an error may quote values, which must not appear in logs.
  return SqlError(state != nullptr ? state : "XX000",
                  message != nullptr ? fit_to_show(message) : fit_to_show(PQresultErrorMessage(result)));
}

/// The name of a statement on the server. Behind a pooler, several stores and versions of Duramen share a
/// session: equal names must mean equal statements.
std::string name_on_server(const Query& query) {
  char hash[24];
  std::snprintf(hash, sizeof hash, "_%016llx",
                static_cast<unsigned long long>(std::hash<std::string>{}(query.sql)));
  return query.name + hash;
}

/// A prepared statement is missing, or another client has prepared it: the session has changed.
bool is_of_another_session(const SqlError& error) {
  return error.state() == "26000" || error.state() == "42P05";
}

/// The arrays in which libpq takes parameters. They point into `parameters`.
struct Arguments {
  explicit Arguments(const Parameters& parameters) {
    for (const Parameters::Value& value : parameters.values()) {
      types.push_back(value.type);
      values.push_back(value.bytes ? value.bytes->data() : nullptr);
      lengths.push_back(value.bytes ? static_cast<int>(value.bytes->size()) : 0);
      formats.push_back(1);
    }
  }
  [[nodiscard]] int count() const { return static_cast<int>(types.size()); }

  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths;
  std::vector<int> formats;
};

}  // namespace

void Connection::Close::operator()(pg_conn* connection) const noexcept { PQfinish(connection); }

Connection::Connection(const ConnInfo& conninfo, Duration call_timeout, bool prepare, NoticeHandler notices)
    : call_timeout_(call_timeout), prepare_(prepare), notices_(std::move(notices)) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : conninfo.values()) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  connection_.reset(PQconnectdbParams(keywords.data(), values.data(), 0));
  if (!connection_) throw std::bad_alloc();
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    throw ConnectionError("cannot connect to " + conninfo.description() + ": " +
                          fit_to_show(PQerrorMessage(connection_.get())));
  }
  PQsetNoticeReceiver(connection_.get(), hear_notice, &notices_);
  if (PQserverVersion(connection_.get()) < oldest_server) {
    throw StoreError({ErrorCode::wrong_version, "",
                      "the server is PostgreSQL " +
                          std::to_string(PQserverVersion(connection_.get()) / 10000) +
                          "; Duramen needs 15 or newer",
                      false});
  }
  if (PQsetnonblocking(connection_.get(), 1) != 0 || PQenterPipelineMode(connection_.get()) != 1) {
    throw ConnectionError(fit_to_show(PQerrorMessage(connection_.get())));
  }
  greet();
  limit_session();
}

/// A statement that this process has abandoned must not wait on the server, and lease work to no node. The
/// timeout is longer than ours, so that it only counts where a cancel does not arrive. Behind a pooler the
/// session belongs to others as well; and settings of the user stay.
void Connection::limit_session() {
  if (goes_through_pooler() || duramen::detail::mutant("abandoned_calls_wait_on_the_server")) return;
  Parameters timeout;
  timeout.text(std::to_string((call_timeout_ + std::chrono::seconds{1}).count()));
  try {
    run("SELECT set_config('statement_timeout', $1, false) WHERE current_setting('statement_timeout') = '0'",
        timeout);
    run("SELECT set_config('client_connection_check_interval', '1000', false) "
        "WHERE current_setting('client_connection_check_interval') = '0'");
  } catch (const SqlError&) {
    // The system of the server cannot check connections.
  }
}

/// On a thread of its own: libpq connects to the server for this, and may wait for it.
void Connection::cancel() noexcept {
  if (!cancellable_ || duramen::detail::mutant("abandoned_calls_wait_on_the_server")) return;
  pg_cancel* const handle = PQgetCancel(connection_.get());
  if (handle == nullptr) return;
  try {
    std::thread([handle] {
      char why[256];
      PQcancel(handle, why, sizeof why);
      PQfreeCancel(handle);
    }).detach();
  } catch (const std::system_error&) {
    PQfreeCancel(handle);  // the server notices that the connection is closed
  }
}

void Connection::greet() {
  const auto here = [] { return system_clock().lease_now().time_since_epoch().count(); };
  const std::int64_t sent = here();
  const Rows rows =
      run("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, "
          "current_setting('server_encoding'), "
          "pg_backend_pid()::bigint");
  session_ = static_cast<int>(rows.integer(0, 2));
  server_info_ = {.server_now = rows.integer(0, 0), .sent = sent, .received = here()};
  if (rows.text(0, 1) != "UTF8") {
    throw StoreError({ErrorCode::invalid_argument, "",
                      "the database has the encoding " + rows.string(0, 1) +
                          "; Duramen stores Unicode and needs a database created with ENCODING 'UTF8'",
                      false});
  }
}

void Connection::lost(std::string_view what) {
  usable_ = false;
  throw ConnectionError(std::string(what) + "; the last statement may or may not have been executed");
}

void Connection::wait(short events) {
  while (true) {
    const std::int64_t left = deadline_ - steady_ms();
    if (left <= 0) {
      cancel();
      lost("the server did not answer in time");
    }
    pollfd entry{.fd = PQsocket(connection_.get()), .events = events, .revents = 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::min<std::int64_t>(left, 1'000'000)));
    if (ready > 0) return;
    if (ready < 0 && errno != EINTR) lost("waiting for the connection failed");
  }
}

void Connection::flush() {
  while (true) {
    const int left = PQflush(connection_.get());
    if (left == 0) return;
    if (left < 0)
      lost("the connection to the server was lost: " + fit_to_show(PQerrorMessage(connection_.get())));
    wait(POLLIN | POLLOUT);
    // The server may need to send before it reads more.
    if (PQconsumeInput(connection_.get()) != 1) {
      lost("the connection to the server was lost: " + fit_to_show(PQerrorMessage(connection_.get())));
    }
  }
}

pg_result* Connection::next_result() {
  while (PQisBusy(connection_.get()) != 0) {
    wait(POLLIN);
    if (PQconsumeInput(connection_.get()) != 1) {
      lost("the connection to the server was lost: " + fit_to_show(PQerrorMessage(connection_.get())));
    }
  }
  return PQgetResult(connection_.get());
}

void Connection::send(const Query& query, const Parameters& parameters, bool& prepares) {
  deadline_ = steady_ms() + limit_.count();
  cancellable_ = query.cancellable || duramen::detail::mutant("every_abandoned_call_is_cancelled");
  const Arguments arguments{parameters};
  const bool named = prepare_ && !query.name.empty();
  const auto known = named ? prepared_.find(query.name) : prepared_.end();
  prepares = named && known == prepared_.end();
  const std::string name = prepares ? name_on_server(query) : named ? known->second : std::string();
  pg_conn* const c = connection_.get();
  bool sent = true;
  if (prepares) {
    sent = PQsendPrepare(c, name.c_str(), query.sql.c_str(), arguments.count(), arguments.types.data()) == 1;
  }
  if (named) {
    sent = sent && PQsendQueryPrepared(c, name.c_str(), arguments.count(), arguments.values.data(),
                                       arguments.lengths.data(), arguments.formats.data(), 1) == 1;
  } else {
    sent = sent && PQsendQueryParams(c, query.sql.c_str(), arguments.count(), arguments.types.data(),
                                     arguments.values.data(), arguments.lengths.data(),
                                     arguments.formats.data(), 1) == 1;
  }
  sent = sent && PQpipelineSync(c) == 1;
  if (!sent) lost("the connection to the server was lost: " + fit_to_show(PQerrorMessage(c)));
  flush();
}

Rows Connection::receive(bool prepares, const Query& query) {
  Rows rows;
  std::optional<SqlError> error;
  for (int empty = 0;;) {
    pg_result* const result = next_result();
    if (result == nullptr) {
      // One for each statement; more mean that the connection is dead.
      if (++empty > 4 || PQstatus(connection_.get()) != CONNECTION_OK) {
        lost("the connection to the server was lost: " + fit_to_show(PQerrorMessage(connection_.get())));
      }
      continue;
    }
    Rows answer{result};
    const ExecStatusType status = PQresultStatus(result);
    if (status == PGRES_PIPELINE_SYNC) break;
    if (status == PGRES_TUPLES_OK) {
      rows = std::move(answer);
    } else if (status == PGRES_COMMAND_OK) {
      if (prepares) {
        prepared_.emplace(query.name, name_on_server(query));
        prepares = false;
      }
    } else if (status == PGRES_FATAL_ERROR) {
      if (PQstatus(connection_.get()) != CONNECTION_OK) {
        const std::string why = fit_to_show(PQresultErrorMessage(result));
        lost("the connection to the server was lost: " + why);
      }
      if (!error) error = error_of(result);
      if (ends_session(*error)) usable_ = false;
      if (!usable_) break;
    }
  }
  if (error) throw *error;
  return rows;
}

void Connection::forget_plans() {
  plans_until_ = steady_ms() + plans_for_;
  run(std::string("DISCARD PLANS"));
}

Rows Connection::run(const Query& query, const Parameters& parameters, Duration at_most) {
  if (!query.name.empty() && steady_ms() >= plans_until_) {
    if (plans_until_ != 0) plans_for_ = std::min(plans_for_ * 4, longest_plans_ms);
    forget_plans();
  }
  limit_ = std::min(call_timeout_, at_most);
  try {
    return exchange(query, parameters);
  } catch (const SqlError& e) {
    if (!prepare_ || !is_of_another_session(e)) throw;
    // A pooler uses another session. The statement was not executed; without a name it works in every
    // session.
    prepare_ = false;
    if (PQtransactionStatus(connection_.get()) != PQTRANS_IDLE) throw;
    return exchange(query, parameters);
  }
}

Rows Connection::exchange(const Query& query, const Parameters& parameters) {
  bool prepares = false;
  send(query, parameters, prepares);
  return receive(prepares, query);
}

Rows Connection::run(const std::string& sql, const Parameters& parameters) {
  return run(Query{{}, sql}, parameters);
}

void Connection::send_and_lose(const Query& query, const Parameters& parameters) {
  bool prepares = false;
  send(query, parameters, prepares);
  usable_ = false;
}

void Connection::script(const std::string& sql) {
  pg_conn* const c = connection_.get();
  if (PQexitPipelineMode(c) != 1 || PQsetnonblocking(c, 0) != 0) lost(fit_to_show(PQerrorMessage(c)));
  pg_result* const result = PQexec(c, sql.c_str());
  const Rows kept{result};
  const ExecStatusType status = PQresultStatus(result);
  if (PQstatus(c) != CONNECTION_OK) lost(fit_to_show(PQerrorMessage(c)));
  if (PQsetnonblocking(c, 1) != 0 || PQenterPipelineMode(c) != 1) lost(fit_to_show(PQerrorMessage(c)));
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY)
    throw error_of(result);
}

bool Connection::idle() const noexcept {
  const pg_conn* const c = connection_.get();
  return usable_ && PQtransactionStatus(c) == PQTRANS_IDLE && PQpipelineStatus(c) == PQ_PIPELINE_ON;
}

bool Connection::still_there() {
  if (!usable_) return false;
  // An idle connection receives only its end, or rarely a changed setting: in both cases a new one is better.
  pollfd entry{.fd = PQsocket(connection_.get()), .events = POLLIN, .revents = 0};
  if (::poll(&entry, 1, 0) > 0) usable_ = false;
  return usable_;
}

int Connection::socket() const { return PQsocket(connection_.get()); }

bool Connection::goes_through_pooler() const { return PQbackendPID(connection_.get()) != session_; }

void Connection::read_input() {
  if (PQconsumeInput(connection_.get()) != 1) {
    lost("the connection to the server was lost: " + fit_to_show(PQerrorMessage(connection_.get())));
  }
}

std::optional<Connection::Notification> Connection::next_notification() {
  PGnotify* const notify = PQnotifies(connection_.get());
  if (notify == nullptr) return std::nullopt;
  Notification notification{notify->extra, notify->be_pid};
  PQfreemem(notify);
  return notification;
}

}  // namespace duramen::inline v0::postgres::detail
