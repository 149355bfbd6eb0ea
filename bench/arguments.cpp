#include "bench/arguments.hpp"

#include "bench/workload.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace bench {

namespace {

template <class Number>
Number parse_number(std::string_view option, std::string_view text, Number least) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least) {
    throw BadArguments(std::string(option) + " needs a number, not '" + std::string(text) + "'");
  }
  return number;
}

std::string known_workloads() {
  std::string names;
  for (const Workload& workload : all_workloads()) names += " " + workload.name;
  return names;
}

void add_workload(Arguments& arguments, const std::string& name) {
  const auto& all = all_workloads();
  const bool known = name == "all" || std::ranges::any_of(all, [&](const Workload& workload) {
                       return workload.name == name;
                     });
  if (!known) throw BadArguments("no workload '" + name + "'; there are:" + known_workloads() + " all");
  arguments.workloads.push_back(name);
}

void set_store(Arguments& arguments, const std::string& name) {
  if (name.starts_with("postgres://") || name.starts_with("postgresql://")) {
    arguments.store = "postgres";
    arguments.server = name;
    return;
  }
  if (name != "sqlite" && name != "memory" && name != "postgres") {
    throw BadArguments("no store '" + name + "'; there are: sqlite memory postgres postgres://...");
  }
  arguments.store = name;
  arguments.server.clear();
}

bool runs_on(const Workload& workload, const Arguments& arguments) {
  if (arguments.on_postgres()) return workload.stores.postgres;
  return arguments.on_sqlite() || workload.stores.memory;
}

/// The store is known only now. A named workload that does not run on it is an error; with "all" it is left
/// out.
void settle_workloads(Arguments& arguments) {
  std::vector<std::string> settled;
  for (const std::string& name : arguments.workloads) {
    if (name == "all") {
      for (const Workload& workload : all_workloads()) {
        (runs_on(workload, arguments) ? settled : arguments.left_out).push_back(workload.name);
      }
    } else if (!runs_on(find_workload(name), arguments)) {
      throw BadArguments("workload '" + name + "' does not run on " + arguments.store +
                         "; it needs --store sqlite" +
                         (find_workload(name).stores.postgres ? " or postgres" : ""));
    } else {
      settled.push_back(name);
    }
  }
  arguments.workloads = std::move(settled);
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 == words.size()) throw BadArguments(word + " needs a value");
      return words[++i];
    };
    if (word == "--help" || word == "-h") {
      arguments.help = true;
    } else if (word == "--json") {
      arguments.json = true;
    } else if (word == "--store") {
      set_store(arguments, value());
    } else if (word == "--width") {
      arguments.widths.push_back(parse_number<std::size_t>(word, value(), 1));
    } else if (word == "--seconds") {
      arguments.seconds = parse_number<double>(word, value(), 0.01);
    } else if (word == "--count") {
      arguments.count = parse_number<std::uint64_t>(word, value(), 1);
    } else if (word == "--pairs") {
      arguments.pairs = parse_number<std::size_t>(word, value(), 0);
    } else if (word == "--payload") {
      arguments.payload = parse_number<std::size_t>(word, value(), 1);
    } else if (word == "--dir") {
      arguments.directory = value();
    } else if (word.starts_with("-")) {
      throw BadArguments("no option '" + word + "'");
    } else {
      add_workload(arguments, word);
    }
  }
  if (arguments.workloads.empty()) arguments.workloads = {"hello", "chain", "cancel"};
  settle_workloads(arguments);
  return arguments;
}

std::string help_text() {
  std::string text =
      "usage: duramen_bench [WORKLOAD...] [options]\n"
      "\n"
      "Workloads (default: hello chain cancel):\n";
  for (const Workload& workload : all_workloads()) {
    text += "  " + workload.name + std::string(9 - std::min<std::size_t>(8, workload.name.size()), ' ') +
            workload.help + "\n";
  }
  text +=
      "  all      every one that runs on the store\n"
      "\n"
      "Options:\n"
      "  --store S    sqlite (default: a file, synced), memory (no disk: the cost of the engine alone), "
      "postgres (a\n"
      "               server of its own, started and removed) or postgres://... (that server; a schema "
      "each)\n"
      "  --width N    instances in flight, or the batch of `store`; may be given more than once\n"
      "  --seconds S  length of one timed run (default 1)\n"
      "  --count N    instances in one run (cancels, or commits of `store`) instead of a length\n"
      "  --pairs N    timed runs, each followed by its raw counterpart (default 5); 0: one run and no raw\n"
      "  --payload N  hello, latency, fanout: bytes that each instance is given, and gives its activity "
      "(default: a word)\n"
      "  --dir D      where files go (default: a fresh directory next to the program). Not a tmpfs: syncing "
      "is free there\n"
      "  --json       one JSON line per workload and width on standard output, instead of a table\n"
      "\n"
      "raw is the same batches of the same store calls, recorded from such a run and made by one thread on a "
      "fresh\n"
      "file or schema, with nothing else going on. ratio is run per_second / raw per_second, from the "
      "medians of all "
      "pairs; for\n"
      "chain that is raw step time / run step time. So 1.0 means as fast as the store alone, and higher is "
      "better.\n"
      "bench/README.md explains every field.\n"
      "\n"
      "Exit code: 0 done, 1 a run failed, 2 the command line is wrong.\n";
  return text;
}

}  // namespace bench
