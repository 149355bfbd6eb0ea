#include "runtime/node_record.hpp"

#include <duramen/detail/mutant.hpp>
#include <duramen/version.hpp>

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <unistd.h>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// The identity that the linker gave this program, in hexadecimal digits; empty if it gave none.
std::string build_id() {
  std::string id;
  dl_iterate_phdr(
      [](dl_phdr_info* program, std::size_t, void* out) {
        for (int i = 0; i < program->dlpi_phnum; ++i) {
          const auto& part = program->dlpi_phdr[i];
          if (part.p_type != PT_NOTE) continue;
          // NOLINTNEXTLINE: the loader gives addresses as numbers
          const auto* at = reinterpret_cast<const char*>(program->dlpi_addr + part.p_vaddr);
          for (const char* end = at + part.p_memsz; at + sizeof(ElfW(Nhdr)) <= end;) {
            ElfW(Nhdr) note;
            std::memcpy(&note, at, sizeof note);
            const char* name = at + sizeof note;
            const char* content = name + ((note.n_namesz + 3u) & ~3u);
            if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
              for (std::size_t byte = 0; byte < note.n_descsz; ++byte) {
                constexpr const char* digits = "0123456789abcdef";
                const auto value = static_cast<unsigned char>(content[byte]);
                *static_cast<std::string*>(out) += {digits[value >> 4u], digits[value & 0xFu]};
              }
              return 1;
            }
            at = content + ((note.n_descsz + 3u) & ~3u);
          }
        }
        return 1;  // only the program itself, which is the first
      },
      &id);
  return id;
}

/// The host and the process; the start, because process ids are used again; and the place among the runtimes
/// of the process.
std::string unique_run(const NodeRecord& record) {
  static std::atomic<std::uint64_t> runtimes = 0;
  return record.host + "/" + std::to_string(record.pid) + "/" +
         std::to_string(to_unix_ms(record.started_at)) + "/" + std::to_string(++runtimes);
}

std::string names_of(const std::vector<NodeId>& nodes) {
  std::string names;
  for (const NodeId& node : nodes) names += (names.empty() ? "" : ", ") + node.value;
  return names;
}

}  // namespace

NodeReporter::NodeReporter(Provider& provider, const RuntimeOptions& options,
                           std::vector<RegisteredOrchestration> orchestrations,
                           std::vector<std::string> activities, const Log& log)
    : provider_(provider), raises_(options.raise_write_level), log_(log) {
  record_.node = options.node;
  record_.host = host_name();
  record_.pid = getpid();
  record_.version = version();
  record_.build = build_id();
  record_.min_engine_version = options.min_engine_version;
  record_.max_engine_version = options.max_engine_version;
  record_.orchestrations = std::move(orchestrations);
  record_.activities = std::move(activities);
  record_.tags = options.tags;
  record_.capacity = options.max_activities;
  record_.started_at = provider.clock().now();
  record_.run = unique_run(record_);
}

void NodeReporter::begin() {
  const std::lock_guard lock(mutex_);
  // The record first: a raise that comes after the level was read finds this node.
  if (!detail::mutant("a_node_works_before_it_is_listed") && !write_record()) return;
  follow_write_level();
  listed_ = true;
}

void NodeReporter::follow_write_level() {
  if (raises_ && !raised_) raise();
  std::uint32_t stored = 0;
  if (!read_write_level(stored) || std::exchange(compared_, true)) return;
  const std::uint32_t newest = std::min(engine_version, record_.max_engine_version);
  if (stored < newest) {
    log_(LogLevel::warning,
         "new executions begin at an older engine version than this build knows; when every node is "
         "upgraded, run `duramen upgrade --finish`",
         {{"write_level", std::to_string(stored)}, {"newest", std::to_string(newest)}});
  } else if (stored > newest) {
    log_(LogLevel::warning,
         "the store's write level is above the engine versions that this node reads: it takes only older "
         "executions; upgrade it",
         {{"write_level", std::to_string(stored)}, {"newest", std::to_string(newest)}});
  }
}

/// Tried with each report until it succeeds: a process that was killed counts as live for a while.
void NodeReporter::raise() {
  raised_ = detail::mutant("the_write_level_is_raised_once");
  const std::uint32_t newest = std::min(engine_version, record_.max_engine_version);
  const auto raised = provider_.raise_write_level(newest, node_live_within);
  if (!raised) {
    log_(LogLevel::warning, "raising the write level failed; retrying with the next report",
         {{"error", raised.error().describe()}});
  } else if (raised->held_back_by.empty()) {
    raised_ = true;
  } else if (std::string names = names_of(raised->held_back_by); names != held_back_by_) {
    held_back_by_ = std::move(names);
    log_(LogLevel::warning, "the write level was not raised: nodes read less; retrying with each report",
         {{"nodes", held_back_by_}});
  }
}

bool NodeReporter::read_write_level(std::uint32_t& stored) {
  const auto level = provider_.get_write_level();
  if (!level) {
    log_(LogLevel::warning,
         "reading the write level failed; until the next report, new executions begin at the level read "
         "before",
         {{"error", level.error().describe()}});
    return false;
  }
  stored = *level;
  reads_write_level_.store(stored >= record_.min_engine_version &&
                           stored <= std::min(engine_version, record_.max_engine_version));
  write_level_.store(std::max(1u, std::min({stored, engine_version, record_.max_engine_version})));
  return true;
}

void NodeReporter::report(std::size_t running, std::size_t resident, std::size_t abandoned) {
  const std::lock_guard lock(mutex_);
  if (removed_ || stopping_) return;
  record_.running = running;
  record_.resident = resident;
  record_.abandoned = abandoned;
  if (!write_record()) return;
  follow_write_level();
  listed_ = true;
}

bool NodeReporter::write_record() {
  if (const auto written = provider_.write_node(record_); !written) {
    log_(LogLevel::warning, "reporting this node failed; retrying later",
         {{"error", written.error().describe()}});
    return false;
  }
  return true;
}

void NodeReporter::remove() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(removed_, true) || detail::mutant("a_stopped_node_stays_listed")) return;
  if (const auto removed = provider_.remove_node(record_.node, record_.run); !removed) {
    log_(LogLevel::warning, "removing the record of this node failed; it looks alive for a while",
         {{"error", removed.error().describe()}});
  }
}

}  // namespace duramen::inline v0::runtime
