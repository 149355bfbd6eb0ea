// A small shop on one SQLite file, whose worker is killed in the middle of its work.
//
// Two processes share the file. This one is the counter: it takes orders, cancels one and reads their
// outcomes; it needs only a client. The other one, the same program started with --worker, runs the
// orchestrations and activities. It kills itself when it has taken the money for one of the orders; a new
// worker continues from there.
#include "ledger.hpp"
#include "narrator.hpp"
#include "shop.hpp"
#include "summary.hpp"
#include "terminal.hpp"
#include "worker_process.hpp"
#include <duramen/duramen.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
using namespace shop;
using namespace std::chrono_literals;
using Milliseconds = std::chrono::milliseconds;

constexpr int exit_broken = 1;
constexpr int exit_misuse = 2;
constexpr int exit_interrupted = 130;

constexpr std::string_view usage =
    "usage: duramen_demo [--fast] [--keep] [--dir DIR]\n"
    "\n"
    "  --fast     shorter pauses, for machines that watch\n"
    "  --dir DIR  keep the files in DIR, which is made if it does not exist\n"
    "  --keep     keep the files in their temporary directory\n"
    "\n"
    "Exit status: 0 if every promise was kept, 1 if one was broken, 2 if it could not begin.\n";

struct Misuse : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  bool fast = false;
  bool keep = false;
  bool worker = false;  ///< not for people
  bool doomed = false;  ///< nor this: a worker that will be killed
  std::string directory;

  /// The duration of an activity, and the time between two customers.
  [[nodiscard]] Milliseconds step() const { return fast ? 60ms : 350ms; }
  [[nodiscard]] Milliseconds arrival() const { return fast ? 40ms : 250ms; }
  [[nodiscard]] Milliseconds lease() const { return fast ? 1s : 2s; }
};

Options parse(const std::vector<std::string_view>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--fast") {
      options.fast = true;
    } else if (arguments[i] == "--keep") {
      options.keep = true;
    } else if (arguments[i] == "--worker") {
      options.worker = true;
    } else if (arguments[i] == "--doomed") {
      options.doomed = true;
    } else if (arguments[i] == "--dir") {
      if (++i == arguments.size()) throw Misuse("--dir needs the name of a directory");
      options.directory = arguments[i];
    } else {
      throw Misuse("unknown option \"" + std::string(arguments[i]) + "\"; try --help");
    }
  }
  return options;
}

// -- the worker ---------------------------------------------------------------------------------------------

int run_worker(const Options& options) {
  // Ctrl-C is for the other process, which then closes our input.
  std::signal(SIGINT, SIG_IGN);
  const fs::path directory = options.directory;

  dm::Store store = dm::sqlite::open(directory / "shop.db");
  Shop shop(Ledger(directory / "ledger.txt"), options.step());
  dm::RuntimeOptions runtime_options{.poll_interval = 100ms};
  // An activity belongs to its worker until the lease ends; only then may another worker run it again. A
  // short lease is taken over soon; the default of 30 s needs fewer renewals and survives a busy machine.
  if (options.doomed) runtime_options.activity_lease = runtime_options.turn_lease = options.lease();
  dm::Runtime runtime(store, shop.registry(), runtime_options);

  wait_for_end_of_input();
  return EXIT_SUCCESS;
}

// -- the counter --------------------------------------------------------------------------------------------

/// The place of the files: the given directory, or a new one that is removed at the end.
class Workplace {
 public:
  explicit Workplace(const Options& options) : temporary_(options.directory.empty() && !options.keep) {
    if (!options.directory.empty()) {
      path_ = options.directory;
      std::error_code error;
      fs::create_directories(path_, error);
      if (error) throw Misuse("cannot make the directory " + path_.string() + ": " + error.message());
    } else {
      std::string name = (fs::temp_directory_path() / "duramen-demo-XXXXXX").string();
      if (::mkdtemp(name.data()) == nullptr) {
        throw Misuse("cannot make a temporary directory: " + std::generic_category().message(errno));
      }
      path_ = name;
    }
    if (fs::exists(path_ / "shop.db") || fs::exists(path_ / "ledger.txt")) {
      throw Misuse(path_.string() +
                   " has the files of an earlier run; remove them or name another directory");
    }
  }
  ~Workplace() {
    std::error_code ignored;
    if (temporary_) fs::remove_all(path_, ignored);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  [[nodiscard]] const fs::path& path() const { return path_; }
  [[nodiscard]] bool stays() const { return !temporary_; }

 private:
  fs::path path_;
  bool temporary_;
};

Ledger open_ledger(const Workplace& place) {
  try {
    return Ledger(place.path() / "ledger.txt");
  } catch (const std::system_error& error) {
    throw Misuse("cannot write to " + place.path().string() + ": " + error.code().message());
  }
}

/// "[######......]  6 of 12 orders have ended".
std::string progress_bar(std::size_t done, std::size_t all) {
  constexpr std::size_t width = 24;
  const std::size_t filled = width * done / all;
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]  " + std::to_string(done) +
         " of " + std::to_string(all) + " orders have ended";
}

/// Commands that read the store: of our command line if it was built, otherwise of SQLite's.
void print_ways_to_look_around(const Terminal& terminal, const fs::path& directory) {
  std::error_code error;
  const fs::path here = fs::current_path(error);
  const auto shortened = [&](const fs::path& path) {
    const fs::path relative = path.lexically_normal().lexically_relative(here);
    return relative.empty() || *relative.begin() == ".." ? path.lexically_normal().string()
                                                         : relative.string();
  };
  const fs::path command = fs::read_symlink("/proc/self/exe", error).parent_path() / "../../cli/duramen";
  const std::string store = shortened(fs::absolute(directory / "shop.db", error));
  terminal.line();
  terminal.line("Look around:", Colour::bold);
  if (fs::exists(command, error)) {
    terminal.line("  export DURAMEN_STORE=sqlite:" + store);
    const std::string duramen = "  " + shortened(command) + " ";
    terminal.line(duramen + "list");
    terminal.line(duramen + "show " + unlucky_order + "       # paid for, then its worker died");
    terminal.line(duramen + "history " + express_order + "    # who won the race, who was cancelled");
    terminal.line(duramen + "explain " + regretted_order + "    # why it ended");
  } else {
    terminal.line("  ./dev build release duramen_cli    # the command line; then run the demo again");
    terminal.line("  sqlite3 " + store +
                  " 'SELECT instance_id, status, last_event_id FROM duramen_instances'");
  }
  terminal.line("  less " + shortened(fs::absolute(directory / "ledger.txt", error)) +
                "    # what the outside world saw");
}

int run_counter(const Options& options) {
  Terminal terminal;
  const Workplace place(options);
  const Ledger ledger = open_ledger(place);

  std::atomic<std::size_t> ended = 0;
  dm::Store store = dm::sqlite::open(place.path() / "shop.db");
  dm::Client client(store);
  Narrator narrator(terminal, ledger, [&ended] { return progress_bar(ended, orders().size()); });

  const auto start_worker = [&](bool is_doomed) {
    std::vector<std::string> arguments = {"duramen_demo", "--worker", "--dir", place.path()};
    if (options.fast) arguments.emplace_back("--fast");
    if (is_doomed) arguments.emplace_back("--doomed");
    return WorkerProcess(std::move(arguments));
  };
  const auto take_order = [&](const Order& order) {
    client.start(order.id, checkout_name, order).value();  // returns when the order is durable
    client.wait_async(order.id, [&ended](const dm::Result<dm::InstanceState>&) { ++ended; });
    narrator.say_of(order.id, "ordered  " + order.item + ", " + euros(order.cents) +
                                  (order.needs_approval() ? ": waits for the boss" : ""));
    narrator.tell_for(options.arrival());
  };
  const auto has_begun = [&](const std::string& order) {
    const std::vector<Entry> entries = ledger.read();
    return std::ranges::any_of(entries, [&](const Entry& entry) { return entry.order == order; });
  };

  const std::vector<Order>& all = orders();
  constexpr std::size_t before_the_crash = 8;

  terminal.line("A shop on one SQLite file: twelve orders, each charged, packed and shipped.", Colour::bold);
  terminal.line(costly_order + " waits for the boss. " + express_order + " does not wait for its courier. " +
                regretted_order + " is");
  terminal.line("cancelled. And the worker process is killed just after it has taken the money for");
  terminal.line(unlucky_order + ".");
  terminal.line();

  WorkerProcess doomed = start_worker(true);
  narrator.say("worker " + std::to_string(doomed.pid()) + " begins", Colour::bold);
  for (std::size_t i = 0; i < before_the_crash; ++i) take_order(all[i]);
  narrator.tell_until([&] { return doomed.has_ended(); });
  if (!doomed.was_killed()) throw std::runtime_error("the worker ended by itself, not by SIGKILL");
  narrator.say("worker " + std::to_string(doomed.pid()) + " is dead, with " +
                   std::to_string(before_the_crash - ended) + " orders under way (SIGKILL)",
               Colour::red);

  for (std::size_t i = before_the_crash; i < all.size(); ++i) take_order(all[i]);

  WorkerProcess heir = start_worker(false);
  narrator.say("worker " + std::to_string(heir.pid()) + " takes over", Colour::bold);
  narrator.say_of(costly_order, "approved by the boss, who knows nothing of all this");
  client.raise_event(costly_order, approval_event, "the boss").value();
  narrator.tell_until([&] { return has_begun(regretted_order) || heir.has_ended(); });
  narrator.tell_for(2 * options.step());
  narrator.say_of(regretted_order, "cancelled by its customer");
  client.cancel(regretted_order, "the customer changed their mind").value();

  narrator.tell_until([&] { return ended == all.size() || heir.has_ended(); });
  if (heir.has_ended()) throw std::runtime_error("the second worker ended before its work was done");
  terminal.progress({});
  narrator.say("all orders have ended", Colour::bold);
  heir.stop();
  if (!heir.ended_well()) throw std::runtime_error("the second worker did not stop in good order");

  terminal.line();
  const bool kept = print_summary(terminal, client, ledger.read());
  if (place.stays()) print_ways_to_look_around(terminal, place.path());
  return kept ? EXIT_SUCCESS : exit_broken;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (std::ranges::find(arguments, "--help") != arguments.end()) {
    std::cout << usage;
    return EXIT_SUCCESS;
  }
  try {
    const Options options = parse(arguments);
    if (options.worker) return run_worker(options);
    return run_counter(options);
  } catch (const Interrupted&) {
    return exit_interrupted;
  } catch (const Misuse& misuse) {
    std::cerr << "duramen_demo: " << misuse.what() << "\n";
    return exit_misuse;
  } catch (const std::exception& error) {
    std::cerr << "duramen_demo: " << error.what() << "\n";
    return exit_broken;
  }
}
