// A PostgreSQL database as the store, shared by many machines.
#pragma once

#include <duramen/log.hpp>
#include <duramen/management.hpp>
#include <duramen/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace duramen::inline v0 {
namespace postgres {

struct Options {
  /// Any libpq connection string or URI, with TLS, several hosts and every other option of libpq. With
  /// several hosts and no target_session_attrs, the store connects to the one that accepts writes.
  std::string conninfo;
  /// The schema that holds the tables; created if it does not exist. Stores with different schemas in one
  /// database are independent.
  std::string schema = "duramen";
  /// The connection string for notifications from other processes, if it differs from `conninfo`: behind a
  /// pgbouncer in transaction mode, the server itself.
  std::string listen_conninfo = {};
  /// The source of time; the server's clock by default, another one in tests. Must outlive the store.
  const Clock* clock = nullptr;
  /// Maximum number of connections for calls; opened on demand. One more connection listens.
  std::size_t max_connections = 4;
  /// False behind a pgbouncer in transaction mode before 1.21, where the next call may use another server
  /// connection without the prepared statement.
  bool prepare_statements = true;
  /// False: the schema must exist, at a version this Duramen supports. Use this for a role that may not
  /// create tables.
  bool migrate = true;

  /// A call that takes longer fails, its statement is cancelled on the server, and its connection is treated
  /// as lost. A renewal of leases fails after a third of the lease if that is shorter (but not under a
  /// second).
  Duration call_timeout = std::chrono::seconds{30};
  /// The time a call waits for a lost connection to be restored. After that the call fails and can be
  /// retried.
  Duration reconnect_patience = std::chrono::seconds{1};
  /// The first and the longest pause between attempts to connect. Each pause is about twice the previous one.
  Duration first_reconnect_pause = std::chrono::milliseconds{50};
  Duration longest_reconnect_pause = std::chrono::seconds{5};

  /// Receives a record for every lost connection. Records contain no passwords or payloads.
  LogSink log = {};
};

/// Counters of a store since it was opened; for benchmarks and tests.
struct Counters {
  std::uint64_t queries = 0;  ///< statements sent on connections for calls
  /// Statements sent on the connection that listens, including notifications.
  std::uint64_t listener_queries = 0;
  std::uint64_t connections_opened = 0;  ///< for calls and for listening
  std::uint64_t notifications_sent = 0;
  std::uint64_t notifications_received = 0;  ///< from other processes
  /// Messages that fetches found but could not read.
  std::uint64_t unreadable_messages = 0;
};

/// Connects, and brings the schema to this version if permitted. The error names the problem and what to do.
[[nodiscard]] Result<std::shared_ptr<Provider>> open_provider(const Options& options);

/// The same as a Store; throws BadResult with the error's text.
[[nodiscard]] Store open(const std::string& conninfo, Options options = {});
[[nodiscard]] Store open(const Options& options);

/// Counters of a provider made by this header; zero for any other.
[[nodiscard]] Counters counters(const Provider& provider);

/// The current schema version of a provider made by this header; nothing for any other.
[[nodiscard]] Result<std::optional<SchemaVersion>> schema_version(Provider& provider);

}  // namespace postgres
}  // namespace duramen::inline v0
