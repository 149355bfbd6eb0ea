// A session of a test that keeps its transaction open.
#pragma once

#include "store.hpp"

#include <string>

namespace duramen::test {

/// A session with an open transaction.
class Holder {
 public:
  explicit Holder(const PostgresSchema& schema)
      : schema_('"' + schema.name() + '"'),
        connection_(postgres::detail::ConnInfo{schema.conninfo() + " application_name=duramen-test"}, 30s,
                    false, nullptr) {
    connection_.script("SET search_path TO " + schema_ + "; BEGIN");
  }
  void run(const std::string& sql) { connection_.run(sql); }
  void lock(const std::string& id) {
    run("SELECT 1 FROM instances WHERE instance_id = '" + id + "' FOR UPDATE");
  }
  [[nodiscard]] std::int64_t number(const std::string& sql) { return connection_.run(sql).integer(0, 0); }
  void release() { run("COMMIT"); }

 private:
  std::string schema_;
  postgres::detail::Connection connection_;
};

}  // namespace duramen::test
