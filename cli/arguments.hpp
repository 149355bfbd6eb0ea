// The parsed command line: one struct per command. Code after parse() never sees an argument as text.
#pragma once

#include "terminal.hpp"
#include <duramen/bulk.hpp>
#include <duramen/explanation.hpp>
#include <duramen/ids.hpp>
#include <duramen/log.hpp>
#include <duramen/management.hpp>
#include <duramen/provider.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace duramen::cli {

/// Options of every command.
struct Globals {
  std::string store;  ///< empty: none was named
  bool json = false;
  bool yes = false;
  ColorChoice color = ColorChoice::automatic;
};

/// The source of a payload: the value itself, "@FILE", or "-" for standard input.
struct PayloadSource {
  std::optional<std::string> json;
  std::optional<std::string> text;
};

/// The chosen instances: by name, or by filter.
struct Selection {
  std::vector<InstanceId> ids;
  InstanceFilter filter;
  bool all = false;
  bool filtered = false;  ///< an option of `filter` was given
};

struct ListArguments {
  InstanceQuery query;
  bool every_page = false;
  bool ids_only = false;
};
struct ShowArguments {
  InstanceId instance;
};
struct HistoryArguments {
  InstanceId instance;
  std::optional<ExecutionId> execution;
  bool every_execution = false;
  bool follow = false;
};
struct TreeArguments {
  InstanceId instance;
};
struct ExplainArguments {
  std::vector<InstanceId> instances;
  ExplainOptions options;
};
struct StartArguments {
  std::string orchestration;
  InstanceId instance;  ///< empty: generate one
  std::optional<std::string> version;
  PayloadSource input;
  bool replace = false;
  bool create_store = false;
  bool wait = false;
  std::optional<std::string> by;  ///< absent: the user
  std::optional<Duration> timeout;
};
struct WaitArguments {
  std::vector<InstanceId> instances;
  std::optional<Duration> timeout;
};
struct CancelArguments {
  Selection which;
  std::string reason;
  CancelMode mode = CancelMode::graceful;
  std::optional<std::string> by;  ///< absent: the user
  BulkOptions bulk;
};
struct RaiseArguments {
  InstanceId instance;
  std::string event;
  PayloadSource data;
  std::optional<std::string> message_id;
  std::optional<std::string> by;  ///< absent: the user
};
struct EnqueueArguments {
  InstanceId instance;
  std::string queue;
  PayloadSource data;
  std::optional<std::string> message_id;
  std::optional<std::string> by;  ///< absent: the user
};
struct KvArguments {
  InstanceId instance;
  std::optional<std::string> key;
  bool wait = false;
  std::optional<Duration> timeout;
};
struct DeleteArguments {
  Selection which;
  DeleteMode mode = DeleteMode::finished;
  BulkOptions bulk;
};
struct PruneArguments {
  Selection which;
  PruneOptions options;
  BulkOptions bulk;
};
struct StatsArguments {};
struct NodesArguments {};
struct UpgradeArguments {
  bool finish = false;
};
struct TopArguments {
  Duration interval = std::chrono::seconds{2};
  std::optional<std::uint64_t> rounds;
  std::size_t rows = 10;
};
struct DoctorArguments {
  ExplainOptions options;
  std::size_t limit = 1000;
};
struct ExportArguments {
  Selection which;
  std::string file;  ///< empty: standard output
};
struct ImportArguments {
  std::string file;  ///< "-": standard input
  bool replace = false;
  bool dry_run = false;
  bool create_store = false;
};
struct ReplayArguments {
  std::string module;
  std::vector<std::string> files;  ///< empty: the instances of the store
  Selection which;
  bool tolerate_inputs = false;
};
struct RunArguments {
  std::string module;
  NodeId node;
  std::size_t threads = 0;
  std::vector<std::string> tags;
  Duration deadline = std::chrono::seconds{10};
  LogLevel log_level = LogLevel::info;
  bool create_store = false;
};
struct VersionArguments {};
struct CompletionArguments {
  std::string shell;
};

using Command =
    std::variant<ListArguments, ShowArguments, HistoryArguments, TreeArguments, ExplainArguments,
                 StartArguments, WaitArguments, CancelArguments, RaiseArguments, EnqueueArguments,
                 KvArguments, DeleteArguments, PruneArguments, StatsArguments, NodesArguments, TopArguments,
                 UpgradeArguments, DoctorArguments, ExportArguments, ImportArguments, ReplayArguments,
                 RunArguments, VersionArguments, CompletionArguments>;

struct Invocation {
  Globals globals;
  Command command;
};

/// There is nothing to run: a request for help, or a wrong command line.
struct Spoken {
  enum class Kind : std::uint8_t {
    help,       ///< requested
    reminder,   ///< help, because there is no command
    complaint,  ///< one line with the error
  };
  std::string text;
  Kind kind = Kind::help;
};

[[nodiscard]] std::variant<Invocation, Spoken> parse(int argc, const char* const* argv);

}  // namespace duramen::cli
