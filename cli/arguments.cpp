// The command line. The only file that knows the parser, which is slow to compile.
#include "arguments.hpp"

#include "values.hpp"
#include <duramen/time.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <functional>
#include <map>
#include <memory>
#include <sstream>

namespace duramen::cli {

namespace {

using App = ::CLI::App;

[[noreturn]] void wrong(const std::string& what) { throw ::CLI::ValidationError(what); }

/// For options that are counts. (The parser's own check would appear in the help.)
std::string at_least_one(const std::string& text) {
  return text.find_first_not_of('0') == std::string::npos || text.front() == '-' ? "must be at least 1" : "";
}

/// For an id that is made up if it is absent: an empty one is a mistake, often of a script.
std::string not_empty(const std::string& text) {
  return text.empty() ? "must not be empty; leave it out, and an id is made up" : "";
}

/// One parse: the options write into `globals` and into the command that is chosen.
class Parser {
 public:
  Parser() : app_("Inspect and manage durable instances in a Duramen store.", "duramen") {
    app_.get_formatter()->column_width(26);
    app_.get_formatter()->label("REQUIRED", "");
    app_.require_subcommand(0, 1);
    app_.fallthrough();
    app_.set_help_flag("-h,--help", "Show this help");
    app_.add_flag("--version", show_version_, "Show the version");
    app_.add_option("--store", globals_.store, "sqlite:FILE or postgres://...")
        ->envname("DURAMEN_STORE")
        ->type_name("ADDRESS");
    app_.add_flag("--json", globals_.json, "Answer in JSON, for programs");
    app_.add_flag("-y,--yes", globals_.yes, "Do not ask before something is destroyed");
    app_.add_option_function<std::string>(
            "--color", [this](const std::string& when) { globals_.color = color(when); },
            "auto, always or never")
        ->type_name("WHEN");
    add_looking();
    add_acting();
    add_looking_after();
    add_moving();
    add_code();
  }

  std::variant<Invocation, Spoken> parse(int argc, const char* const* argv) {
    try {
      app_.parse(argc, argv);
    } catch (const ::CLI::CallForHelp&) {
      return Spoken{chosen_app()->help(chosen_app() == &app_ ? "" : "duramen"), Spoken::Kind::help};
    } catch (const ::CLI::ParseError& error) {
      return Spoken{explain(error), Spoken::Kind::complaint};
    }
    if (show_version_) command_ = VersionArguments{};
    if (app_.get_subcommands().empty() && !show_version_) return Spoken{app_.help(), Spoken::Kind::reminder};
    if (finish_) finish_();
    return Invocation{std::move(globals_), std::move(command_)};
  }

 private:
  // -- help ---------------------------------------------------------------------------------------

  App* chosen_app() {
    const auto chosen = app_.get_subcommands();
    return chosen.empty() ? &app_ : chosen.front();
  }

  std::string explain(const ::CLI::ParseError& error) {
    const App* chosen = chosen_app();
    std::string text = error.what();
    if (chosen == &app_ && dynamic_cast<const ::CLI::ExtrasError*>(&error) != nullptr) {
      // "The following argument was not expected: lst": the first word without a dash was meant as a command.
      std::istringstream words(text.substr(text.rfind(": ") + 2));
      for (std::string word; words >> word;) {
        if (word.front() == '-') continue;
        text = "there is no command \"" + word + "\"";
        break;
      }
    }
    if (dynamic_cast<const ::CLI::ConversionError*>(&error) != nullptr) text = not_a_number(text);
    return text + "; try: duramen " + (chosen == &app_ ? "" : chosen->get_name() + " ") + "--help";
  }

  /// "Could not convert: --limit = many": every option that the parser converts is a count.
  static std::string not_a_number(const std::string& text) {
    const std::size_t name = text.find(": ");
    const std::size_t value = text.find(" = ");
    if (name == std::string::npos || value == std::string::npos) return text;
    return text.substr(name + 2, value - name - 2) + ": \"" + text.substr(value + 3) +
           "\" is not a count; write a whole number like 10";
  }

  // -- parts that several commands share ----------------------------------------------------------

  /// A command whose arguments are collected in a T.
  template <class T>
  std::pair<App*, std::shared_ptr<T>> command(const std::string& name, const std::string& what) {
    App* app = app_.add_subcommand(name, what);
    app->set_help_flag("-h,--help", "Show this help");
    app->footer(
        "Every command also takes --store ADDRESS (or $DURAMEN_STORE), --json,\n--color WHEN and --yes.");
    auto arguments = std::make_shared<T>();
    app->callback([this, app, arguments] {
      for (const auto& check : checks_[app]) check();
      finish_ = [this, arguments] { command_ = std::move(*arguments); };
    });
    return {app, arguments};
  }

  static ColorChoice color(const std::string& when) {
    if (when == "always") return ColorChoice::always;
    if (when == "never") return ColorChoice::never;
    if (when != "auto") wrong("--color is auto, always or never, not \"" + when + "\"");
    return ColorChoice::automatic;
  }

  static ::CLI::Option* add_instance(App* app, InstanceId& to) {
    return app->add_option("ID", to.value, "The instance")->required()->type_name("");
  }
  static ::CLI::Option* add_instances(App* app, std::vector<InstanceId>& to) {
    return app
        ->add_option_function<std::vector<std::string>>(
            "ID", [&to](const std::vector<std::string>& ids) { to.assign(ids.begin(), ids.end()); },
            "The instances")
        ->type_name("");
  }

  static void add_moment(App* app, const std::string& name, std::optional<TimePoint>& to,
                         const std::string& what, std::function<void()> then = {}) {
    app->add_option_function<std::string>(
           name,
           [&to, name, then = std::move(then)](const std::string& text) {
             to = parse_moment(text, system_clock().now());
             if (!to)
               wrong(name + ": \"" + text + "\" is no time; write 2026-11-16, 2026-11-16T03:30 or 2h (ago)");
             if (then) then();
           },
           what)
        ->type_name("TIME");
  }
  template <class To>
  static void add_duration(App* app, const std::string& name, To& to, const std::string& what) {
    app->add_option_function<std::string>(
           name,
           [&to, name](const std::string& text) {
             const auto length = parse_duration(text);
             if (!length)
               wrong(name + ": \"" + text + "\" is no length of time; write 500ms, 30s, 5min, 2h or 7d");
             to = *length;
           },
           what)
        ->type_name("TIME");
  }

  /// `mark` is called when an option of the filter is given.
  static void add_filter(App* app, InstanceFilter& to, const std::function<void()>& mark) {
    const auto text = [&](const std::string& name, std::optional<std::string>& member,
                          const std::string& type, const std::string& what) {
      app->add_option_function<std::string>(
             name,
             [&member, mark](const std::string& value) {
               member = value;
               mark();
             },
             what)
          ->type_name(type);
    };
    app->add_option_function<std::vector<std::string>>(
           "--status",
           [&to, mark](const std::vector<std::string>& words) {
             for (const std::string& word : words) {
               const auto statuses = parse_statuses(word);
               if (statuses.empty()) {
                 wrong("--status: there is no status \"" + word +
                       "\"; there are pending, running, cancelling, completed, failed, cancelled, "
                       "continued-as-new, open "
                       "and ended");
               }
               to.statuses.insert(to.statuses.end(), statuses.begin(), statuses.end());
             }
             mark();
           },
           "Only these; also: open, ended")
        ->delimiter(',')
        ->type_name("STATUS");
    text("--name", to.name, "NAME", "Only this orchestration");
    text("--version", to.version, "VERSION", "Only this version of it");
    text("--prefix", to.id_prefix, "TEXT", "Only ids with this prefix");
    app->add_option_function<std::string>(
           "--parent",
           [&to, mark](const std::string& id) {
             to.parent = InstanceId(id);
             mark();
           },
           "Only direct children of this instance")
        ->type_name("ID");
    app->add_flag_callback(
        "--roots",
        [&to, mark] {
          to.roots_only = true;
          mark();
        },
        "Only instances without a parent");
    add_moment(app, "--since", to.created_from, "Only created at or after", mark);
    add_moment(app, "--before", to.created_before, "Only created before", mark);
    add_moment(app, "--ended-before", to.ended_before, "Only ended before", mark);
  }

  static void add_selection(App* app, Selection& to) {
    add_instances(app, to.ids);
    add_filter(app, to.filter, [&to] { to.filtered = true; });
    app->add_flag("--all", to.all, "Every instance in the store");
  }

  static void add_bulk(App* app, BulkOptions& to) {
    app->add_flag("--dry-run", to.dry_run, "Only show what would be done");
    app->add_option("--limit", to.limit, "Process at most N")->type_name("N")->check(at_least_one);
  }

  void add_payload(App* app, PayloadSource& to, const std::string& name, const std::string& what) {
    app->add_option(name, to.json, what + " as JSON; @FILE or - for standard input")->type_name("JSON");
    app->add_option("--text", to.text, what + " as plain text; @FILE or -")->type_name("TEXT");
    checks_[app].emplace_back([&to, name] {
      if (to.json && to.text) wrong(name + " or --text, not both");
    });
  }

  static void add_by(App* app, std::optional<std::string>& to) {
    app->add_option("--by", to, "The requester; default: your login name")
        ->envname("DURAMEN_BY")
        ->type_name("NAME");
  }

  // -- the commands -------------------------------------------------------------------------------

  void add_looking() {
    {
      auto [app, to] = command<ListArguments>("list", "List instances");
      to->query.limit = 50;
      add_filter(app, to->query.filter, [] {});
      app->add_option("--limit", to->query.limit, "At most N; default 50")
          ->type_name("N")
          ->check(at_least_one);
      app->add_option("--after", to->query.after.value, "The next page, as printed by the last one")
          ->type_name("CURSOR");
      app->add_flag("--all", to->every_page, "Every page");
      app->add_option_function<std::string>(
             "--sort",
             [target = to](const std::string& order) {
               if (order != "newest" && order != "oldest")
                 wrong("--sort is newest or oldest, not \"" + order + "\"");
               target->query.order =
                   order == "newest" ? InstanceOrder::newest_first : InstanceOrder::oldest_first;
             },
             "newest (default) or oldest first")
          ->type_name("ORDER");
      app->add_flag("--results", to->query.with_results, "With outputs and failures");
      app->add_flag("--ids", to->ids_only, "Only the ids, one per line");
    }
    {
      auto [app, to] = command<ShowArguments>("show", "Show everything about one instance");
      add_instance(app, to->instance);
    }
    {
      auto [app, to] = command<HistoryArguments>("history", "Show the events of an instance");
      add_instance(app, to->instance);
      app->add_option_function<std::uint64_t>(
             "--execution", [target = to](std::uint64_t n) { target->execution = ExecutionId{n}; },
             "Not the current one")
          ->type_name("N");
      app->add_flag("--all", to->every_execution, "Every execution");
      app->add_flag("-f,--follow", to->follow, "Go on until the instance has ended");
      checks_[app].emplace_back([target = to] {
        if (target->execution.has_value() + target->every_execution + target->follow > 1) {
          wrong("--execution, --all or --follow, not more than one of them");
        }
      });
    }
    {
      auto [app, to] = command<TreeArguments>("tree", "Show an instance and everything below it");
      add_instance(app, to->instance);
    }
    {
      auto [app, to] = command<ExplainArguments>("explain", "Show what an instance waits for, and why");
      add_instances(app, to->instances)->required();
      add_explain_options(app, to->options);
    }
    {
      auto [app, to] = command<KvArguments>("kv", "Show the key-values of an instance, or one of them");
      add_instance(app, to->instance);
      app->add_option("KEY", to->key, "Only this one")->type_name("");
      app->add_flag("--wait", to->wait, "Wait until the key has a value");
      add_duration(app, "--timeout", to->timeout, "Wait at most TIME");
    }
  }

  static void add_explain_options(App* app, ExplainOptions& to) {
    add_duration(app, "--stuck-after", to.long_time, "Stuck after TIME without progress; default 30s");
    app->add_option("--attempts", to.many_attempts, "Stuck after N attempts without an end; default 3")
        ->type_name("N")
        ->check(at_least_one);
  }

  void add_acting() {
    {
      auto [app, to] = command<StartArguments>("start", "Start an instance");
      app->add_option("NAME", to->orchestration, "The orchestration")->required()->type_name("");
      app->add_option("--id", to->instance.value, "The instance's id; made up if absent")
          ->type_name("ID")
          ->check(not_empty);
      add_payload(app, to->input, "--input", "Its input");
      app->add_option("--version", to->version, "A version; default: the highest")->type_name("VERSION");
      app->add_flag("--replace", to->replace, "Replace an instance of that id that has ended");
      app->add_flag("--create", to->create_store, "Make the store if there is none");
      add_by(app, to->by);
      app->add_flag("--wait", to->wait, "Wait until it has ended");
      add_duration(app, "--timeout", to->timeout, "Wait at most TIME");
    }
    {
      auto [app, to] = command<WaitArguments>("wait", "Wait until instances have ended");
      add_instances(app, to->instances)->required();
      add_duration(app, "--timeout", to->timeout, "At most TIME; default: no limit");
    }
    {
      auto [app, to] = command<CancelArguments>("cancel", "Ask instances to end");
      add_selection(app, to->which);
      app->add_option("--reason", to->reason, "Shown to code and people")->type_name("TEXT");
      add_by(app, to->by);
      app->add_option_function<std::string>(
             "--mode",
             [target = to](const std::string& mode) {
               if (mode != "graceful" && mode != "terminate") {
                 wrong("--mode is graceful or terminate, not \"" + mode + "\"");
               }
               target->mode = mode == "graceful" ? CancelMode::graceful : CancelMode::terminate;
             },
             "graceful (default) or terminate")
          ->type_name("MODE");
      add_bulk(app, to->bulk);
    }
    {
      auto [app, to] = command<RaiseArguments>("raise", "Send an event to an instance");
      add_instance(app, to->instance);
      app->add_option("EVENT", to->event, "Its name")->required()->type_name("");
      add_payload(app, to->data, "--data", "What it carries");
      app->add_option("--message-id", to->message_id, "Sending it again changes nothing")->type_name("TEXT");
      add_by(app, to->by);
    }
    {
      auto [app, to] = command<EnqueueArguments>("enqueue", "Send a message to a queue of an instance");
      add_instance(app, to->instance);
      app->add_option("QUEUE", to->queue, "Its name")->required()->type_name("");
      add_payload(app, to->data, "--data", "The message");
      app->add_option("--message-id", to->message_id, "Sending it again changes nothing")->type_name("TEXT");
      add_by(app, to->by);
    }
  }

  void add_looking_after() {
    {
      auto [app, to] = command<DeleteArguments>("delete", "Delete instances with everything below them");
      add_selection(app, to->which);
      app->add_flag_callback(
          "--force", [target = to] { target->mode = DeleteMode::force; }, "Also delete running instances");
      add_bulk(app, to->bulk);
    }
    {
      auto [app, to] = command<PruneArguments>("prune", "Remove old executions, never the current one");
      add_selection(app, to->which);
      app->add_option("--keep-last", to->options.keep_last, "Keep N, the current one included")
          ->type_name("N");
      add_moment(app, "--older-than", to->options.ended_before, "Only executions that ended before");
      add_bulk(app, to->bulk);
    }
    command<StatsArguments>("stats", "Count instances and queued work");
    command<NodesArguments>("nodes", "List the runtimes that work on the store");
    {
      auto [app, to] = command<TopArguments>("top", "Watch the store, live");
      add_duration(app, "--interval", to->interval, "Refresh every TIME; default 2s");
      app->add_option("--rounds", to->rounds, "Stop after N")->type_name("N")->check(at_least_one);
      app->add_option("--rows", to->rows, "Show N instances; default 10")->type_name("N");
    }
    {
      auto [app, to] = command<DoctorArguments>("doctor", "Find problems of the store");
      add_explain_options(app, to->options);
      app->add_option("--limit", to->limit, "Check N open instances; default 1000")
          ->type_name("N")
          ->check(at_least_one);
    }
    {
      auto [app, to] = command<UpgradeArguments>("upgrade", "Show or end the upgrade of the nodes");
      app->add_flag("--finish", to->finish, "Begin new executions at the newest engine version");
    }
  }

  void add_moving() {
    {
      auto [app, to] = command<ExportArguments>("export", "Write histories as JSON lines");
      add_selection(app, to->which);
      app->add_option("-o,--output", to->file, "A file; default: standard output")->type_name("FILE");
    }
    {
      auto [app, to] = command<ImportArguments>("import", "Store exported histories of ended instances");
      to->file = "-";
      app->add_option("FILE", to->file, "What to read; default: standard input")->type_name("");
      app->add_flag("--replace", to->replace, "Replace instances that have the same id");
      app->add_flag("--dry-run", to->dry_run, "Only show what would be done");
      app->add_flag("--create", to->create_store, "Make the store if there is none");
    }
  }

  void add_code() {
    {
      auto [app, to] =
          command<ReplayArguments>("replay", "Check that a module's code replays recorded histories");
      app->add_option("MODULE", to->module, "A shared object")->required()->type_name("");
      app->add_option("FILE", to->files, "Exported histories; default: those of the store")->type_name("");
      add_filter(app, to->which.filter, [target = to] { target->which.filtered = true; });
      app->add_flag("--tolerate-inputs", to->tolerate_inputs, "A changed input is no problem");
    }
    {
      auto [app, to] = command<RunArguments>("run", "Serve the orchestrations and activities of a module");
      app->add_option("MODULE", to->module, "A shared object")->required()->type_name("");
      app->add_option("--node", to->node.value, "This node's id; made up if absent")->type_name("ID");
      app->add_option("--threads", to->threads, "For activities; default: one per core")->type_name("N");
      app->add_option("--tag", to->tags, "Also take activities with this tag")
          ->delimiter(',')
          ->type_name("TAG");
      add_duration(app, "--deadline", to->deadline, "Time to end running activities; default 10s");
      app->add_option_function<std::string>(
             "--log",
             [target = to](const std::string& level) {
               for (const LogLevel known :
                    {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
                 if (level != to_string(known)) continue;
                 target->log_level = known;
                 return;
               }
               wrong("--log is debug, info, warning or error, not \"" + level + "\"");
             },
             "debug, info (default), warning or error")
          ->type_name("LEVEL");
      app->add_flag("--create", to->create_store, "Make the store if there is none");
    }
    command<VersionArguments>("version", "Show the version, and what modules must match");
    {
      auto [app, to] = command<CompletionArguments>("completion", "Print a completion script");
      app->add_option("SHELL", to->shell, "bash or zsh")->required()->type_name("");
    }
  }

  App app_;
  Globals globals_;
  Command command_;
  std::function<void()> finish_;
  std::map<App*, std::vector<std::function<void()>>> checks_;  // checks of several options together
  bool show_version_ = false;
};

}  // namespace

std::variant<Invocation, Spoken> parse(int argc, const char* const* argv) {
  return Parser().parse(argc, argv);
}

}  // namespace duramen::cli
