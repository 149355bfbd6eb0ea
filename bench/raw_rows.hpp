// SQLite without a provider: the rows of a hello, written directly to a file of the same schema.
//
// The rows are copied column by column from a store that a provider wrote, so that raw and provider write the
// same bytes for any schema. Nothing is read, checked or encoded: this is the least possible cost of the same
// effect.
#pragma once

#include "bench/workloads/hello_turns.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;
struct sqlite3_value;

namespace bench {

/// One row of a table, inserted again with another key.
struct RawRow {
  struct Free {
    void operator()(sqlite3_value* value) const;
  };
  std::string table;
  std::vector<std::string> columns;
  std::vector<std::unique_ptr<sqlite3_value, Free>> values;
};

/// The rows that the turns of a hello write.
struct RawRows {
  /// Creates a store in `parent`, reads its rows, and removes it.
  RawRows(const HelloTurns& turns, const std::filesystem::path& parent);

  RawRow running;    ///< the instance after its first turn
  RawRow completed;  ///< and after its second
  RawRow first_turn;
  RawRow second_turn;
  RawRow work;     ///< leased
  RawRow message;  ///< the end of the activity
};

class RawConnection {
 public:
  /// A file with the schema of a store.
  RawConnection(const std::string& file, const RawRows& rows, bool synced);
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  // Each is one transaction over `count` instances from `number` on.
  void first_turns(std::uint64_t number, std::size_t count);
  void second_turns(std::uint64_t number, std::size_t count);
  void acks(std::uint64_t number, std::size_t count);
  void renewals(std::uint64_t number, std::size_t count, std::int64_t until);
  /// From now on without syncs, like the provider's leases: they need not survive a power failure.
  void sync_no_more();
  /// Ended instances, to make the file large.
  void finished(std::uint64_t number, std::size_t count);

 private:
  class Statement;
  class Insert;

  void execute(const char* sql);
  template <class Body>
  void transaction(Body&& body);

  sqlite3* connection_ = nullptr;
  std::map<std::string, std::unique_ptr<Insert>> inserts_;
  std::map<std::string, std::unique_ptr<Statement>> statements_;
};

/// Creates an empty file with the schema of a store, and closes it.
void make_schema(const std::string& file);

}  // namespace bench
