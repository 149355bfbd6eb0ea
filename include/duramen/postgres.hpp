// A PostgreSQL database as the store: many machines share it.
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
  /// Any libpq connection string or URI: TLS, several hosts and every other option of libpq included. With
  /// several hosts and no target_session_attrs, the one that can be written to is looked for.
  std::string conninfo;
  /// The schema that holds the tables; made if it does not exist. Stores with different schemas in one
  /// database know nothing of each other.
  std::string schema = "duramen";
  /// Where to listen for what other processes do, if not at `conninfo`: behind a pgbouncer in transaction
  /// mode, the server itself.
  std::string listen_conninfo = {};
  /// Where the time comes from; the server's clock unless a test says otherwise. Must outlive the store.
  const Clock* clock = nullptr;
  /// Connections for calls, at most; opened when they are needed. One more listens.
  std::size_t max_connections = 4;
  /// False behind a pgbouncer in transaction mode before 1.21, where a prepared statement may be on another
  /// server connection the next time.
  bool prepare_statements = true;
  /// False: the schema must be there, at a version this Duramen can work with. For a role that may not make
  /// tables.
  bool migrate = true;

  /// A call that takes longer is given up as lost with its connection.
  Duration call_timeout = std::chrono::seconds{30};
  /// How long a call waits for a lost connection to come back before it fails, to be tried again.
  Duration reconnect_patience = std::chrono::seconds{1};
  /// Pauses between attempts to connect: the first, and the longest. Each is about twice the one before.
  Duration first_reconnect_pause = std::chrono::milliseconds{50};
  Duration longest_reconnect_pause = std::chrono::seconds{5};

  /// Told of lost connections. Never of passwords or payloads.
  LogSink log = {};
};

/// What a store has done since it was opened; for benchmarks and tests.
struct Counters {
  std::uint64_t queries = 0;  ///< statements sent on connections for calls
  std::uint64_t listener_queries =
      0;  ///< statements sent on the connection that listens, notifications included
  std::uint64_t connections_opened = 0;  ///< for calls and for listening
  std::uint64_t notifications_sent = 0;
  std::uint64_t notifications_received = 0;  ///< from other processes
  std::uint64_t unreadable_messages = 0;     ///< found by fetches that could not read them
};

/// Connects, and brings the schema to this version if it may. The error says what is wrong and what to do.
[[nodiscard]] Result<std::shared_ptr<Provider>> open_provider(const Options& options);

/// The same as a Store; throws BadResult with the error's text.
[[nodiscard]] Store open(const std::string& conninfo, Options options = {});
[[nodiscard]] Store open(const Options& options);

/// Counters of a provider made by this header; zero for any other.
[[nodiscard]] Counters counters(const Provider& provider);

/// The schema of a provider made by this header, as its database has it now; nothing for any other.
[[nodiscard]] Result<std::optional<SchemaVersion>> schema_version(Provider& provider);

}  // namespace postgres
}  // namespace duramen::inline v0
