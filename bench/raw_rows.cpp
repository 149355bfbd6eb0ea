#include "bench/raw_rows.hpp"

#include "bench/file_stores.hpp"
#include <duramen/sqlite.hpp>

#include <sqlite3.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace bench {

namespace dm = duramen;

namespace {

void require(sqlite3* connection, int code) {
  if (code == SQLITE_OK || code == SQLITE_DONE || code == SQLITE_ROW) return;
  throw std::runtime_error(std::string("raw SQLite: ") + sqlite3_errmsg(connection));
}

/// The last row of a table.
RawRow read_row(const std::string& file, const std::string& table) {
  RawRow row;
  row.table = table;
  sqlite3* connection = nullptr;
  require(connection, sqlite3_open(file.c_str(), &connection));
  sqlite3_stmt* statement = nullptr;
  require(connection,
          sqlite3_prepare_v2(connection, ("SELECT * FROM " + table).c_str(), -1, &statement, nullptr));
  while (sqlite3_step(statement) == SQLITE_ROW) {
    row.columns.clear();
    row.values.clear();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      row.columns.emplace_back(sqlite3_column_name(statement, i));
      row.values.emplace_back(sqlite3_value_dup(sqlite3_column_value(statement, i)));
    }
  }
  sqlite3_finalize(statement);
  sqlite3_close(connection);
  if (row.columns.empty()) throw std::runtime_error("no row in " + table);
  return row;
}

std::uint64_t key_of(std::uint64_t number) { return number + 1; }

}  // namespace

void RawRow::Free::operator()(sqlite3_value* value) const { sqlite3_value_free(value); }

RawRows::RawRows(const HelloTurns& turns, const std::filesystem::path& parent) {
  const SqliteStore store(parent);
  const auto created = commit_all(*store.provider(), {turns.first(0)});
  running = read_row(store.file(), "duramen_instances");
  first_turn = read_row(store.file(), "duramen_history");
  work = read_row(store.file(), "duramen_worker_queue");
  (void)commit_all(*store.provider(), {turns.second(0, created[0].incarnation)});
  completed = read_row(store.file(), "duramen_instances");
  second_turn = read_row(store.file(), "duramen_history");
  const auto other = commit_all(*store.provider(), {turns.first(1)});
  const dm::ActivityAck ack = turns.ack(1, other[0].incarnation);
  (void)store.provider()->ack_activities({&ack, 1}).value();
  message = read_row(store.file(), "duramen_queue");
}

/// Values stay bound from one run to the next.
class RawConnection::Statement {
 public:
  Statement(sqlite3* connection, const std::string& sql) : connection_(connection) {
    require(connection,
            sqlite3_prepare_v3(connection, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(int index, std::uint64_t value) {
    if (index > 0) sqlite3_bind_int64(statement_, index, static_cast<std::int64_t>(value));
  }
  void bind(int index, const std::string& value) {
    if (index > 0) sqlite3_bind_text(statement_, index, value.c_str(), -1, SQLITE_TRANSIENT);
  }
  void bind(int index, const sqlite3_value* value) { sqlite3_bind_value(statement_, index, value); }
  void run() {
    const int code = sqlite3_step(statement_);
    sqlite3_reset(statement_);
    require(connection_, code);
  }

 private:
  sqlite3* connection_;
  sqlite3_stmt* statement_ = nullptr;
};

class RawConnection::Insert {
 public:
  Insert(sqlite3* connection, const RawRow& row) : row_(row), statement_(connection, sql(row)) {
    for (std::size_t i = 0; i < row.values.size(); ++i)
      statement_.bind(static_cast<int>(i) + 1, row.values[i].get());
    key_ = row.table == "duramen_instances" ? index("key") : index("instance_key");
    position_ = index("position");
    token_ = row.table == "duramen_instances" ? index("commit_token") : index("lease_token");
    name_ = index("instance_id");
  }
  void run(std::uint64_t number) {
    statement_.bind(key_, key_of(number));
    statement_.bind(position_, number);
    statement_.bind(token_, number + 1);
    if (name_ > 0) statement_.bind(name_, HelloTurns::name(number));
    statement_.run();
  }

 private:
  static std::string sql(const RawRow& row) {
    std::string columns;
    std::string marks;
    for (const std::string& column : row.columns) {
      columns += (columns.empty() ? "" : ", ") + column;
      marks += marks.empty() ? "?" : ", ?";
    }
    return "INSERT INTO " + row.table + " (" + columns + ") VALUES (" + marks + ")";
  }
  /// Zero if there is none.
  [[nodiscard]] int index(const std::string& column) const {
    const auto found = std::ranges::find(row_.columns, column);
    return found == row_.columns.end() ? 0 : static_cast<int>(found - row_.columns.begin()) + 1;
  }

  const RawRow& row_;
  Statement statement_;
  int key_ = 0;
  int position_ = 0;
  int token_ = 0;
  int name_ = 0;
};

void make_schema(const std::string& file) { (void)dm::sqlite::open_provider({.path = file}).value(); }

RawConnection::RawConnection(const std::string& file, const RawRows& rows, bool synced) {
  make_schema(file);
  require(nullptr,
          sqlite3_open_v2(file.c_str(), &connection_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr));
  execute("PRAGMA secure_delete=OFF; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16384;");
  execute(synced ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=OFF");
  const auto insert = [&](const char* name, const RawRow& row) {
    inserts_[name] = std::make_unique<Insert>(connection_, row);
  };
  insert("running", rows.running);
  insert("completed", rows.completed);
  insert("first turn", rows.first_turn);
  insert("second turn", rows.second_turn);
  insert("work", rows.work);
  insert("message", rows.message);
  const auto prepare = [&](const char* name, const char* sql) {
    statements_[name] = std::make_unique<Statement>(connection_, sql);
  };
  prepare("begin", "BEGIN IMMEDIATE");
  prepare("commit", "COMMIT");
  prepare("finish",
          "DELETE FROM duramen_worker_queue WHERE instance_key = ? AND execution = 1 AND activity = 2");
  prepare("renew",
          "UPDATE duramen_worker_queue SET lease_until = ?2 WHERE instance_key = ?1 AND execution = 1 AND "
          "activity = 2");
  prepare("end",
          "UPDATE duramen_instances SET status = ?2, last_event_id = ?3, updated_at = ?4, commit_token = ?5, "
          "output = ?6, output_encoding = ?7, ended_at = ?8, replay_token = ?9 WHERE key = ?1");
  const char* changed[] = {"status", "last_event_id",   "updated_at", "commit_token",
                           "output", "output_encoding", "ended_at",   "replay_token"};
  for (int i = 0; i < 8; ++i) {
    const auto found = std::ranges::find(rows.completed.columns, changed[i]);
    const auto at = static_cast<std::size_t>(found - rows.completed.columns.begin());
    statements_["end"]->bind(i + 2, rows.completed.values.at(at).get());
  }
}

RawConnection::~RawConnection() {
  inserts_.clear();
  statements_.clear();
  sqlite3_close(connection_);
}

void RawConnection::execute(const char* sql) {
  require(connection_, sqlite3_exec(connection_, sql, nullptr, nullptr, nullptr));
}

template <class Body>
void RawConnection::transaction(Body&& body) {
  statements_["begin"]->run();
  std::forward<Body>(body)();
  statements_["commit"]->run();
}

void RawConnection::first_turns(std::uint64_t number, std::size_t count) {
  Insert& instance = *inserts_["running"];
  Insert& history = *inserts_["first turn"];
  Insert& work = *inserts_["work"];
  transaction([&] {
    for (std::uint64_t i = number; i < number + count; ++i) {
      instance.run(i);
      history.run(i);
      work.run(i);
    }
  });
}

void RawConnection::second_turns(std::uint64_t number, std::size_t count) {
  Statement& finish = *statements_["finish"];
  Statement& end = *statements_["end"];
  Insert& history = *inserts_["second turn"];
  transaction([&] {
    for (std::uint64_t i = number; i < number + count; ++i) {
      finish.bind(1, key_of(i));
      finish.run();
      end.bind(1, key_of(i));
      end.run();
      history.run(i);
    }
  });
}

void RawConnection::acks(std::uint64_t number, std::size_t count) {
  Statement& finish = *statements_["finish"];
  Insert& message = *inserts_["message"];
  transaction([&] {
    for (std::uint64_t i = number; i < number + count; ++i) {
      finish.bind(1, key_of(i));
      finish.run();
      message.run(i);
    }
  });
}

void RawConnection::renewals(std::uint64_t number, std::size_t count, std::int64_t until) {
  Statement& renew = *statements_["renew"];
  transaction([&] {
    for (std::uint64_t i = number; i < number + count; ++i) {
      renew.bind(1, key_of(i));
      renew.bind(2, static_cast<std::uint64_t>(until));
      renew.run();
    }
  });
}

void RawConnection::sync_no_more() { execute("PRAGMA synchronous=NORMAL"); }

void RawConnection::finished(std::uint64_t number, std::size_t count) {
  Insert& instance = *inserts_["completed"];
  Insert& first = *inserts_["first turn"];
  Insert& second = *inserts_["second turn"];
  transaction([&] {
    for (std::uint64_t i = number; i < number + count; ++i) {
      instance.run(i);
      first.run(i);
      second.run(i);
    }
    // The numbers are used: the store continues after them.
    execute(("UPDATE duramen_counters SET value = max(value, " + std::to_string(key_of(number + count) + 1) +
             ") WHERE name = 'next_number'")
                .c_str());
  });
}

}  // namespace bench
