// Would this build still replay these recorded histories?
//
// Changing an orchestration's code while instances of it run is safe only if the new code, fed the old
// history, asks for the same things in the same order. Export histories from production once, keep the file
// beside the tests, and let CI answer before a deployment does:
//
//   dm::Registry registry = my_orchestrations();
//   const dm::ReplayReport report = dm::check_replay_file(registry, "histories.jsonl");
//   std::cout << report.text();
//   return report.ok() ? 0 : 1;
//
// `duramen export` writes such files; `duramen replay MODULE.so` does the same for a module. Only
// orchestration code runs: no activity, no timer, no store.
#pragma once

#include <duramen/ids.hpp>
#include <duramen/recorded_history.hpp>
#include <duramen/registry.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace duramen::inline v0 {

/// One history that this build would not continue as it was, or would with a difference.
struct ReplayFinding {
  enum class Kind : std::uint8_t {
    nondeterminism,  ///< the code does something else than history says it did
    no_code,         ///< the orchestration, or this version of it, is not registered
    unreadable,      ///< the history itself cannot be read or replayed by this build
    tolerated,       ///< a difference that stops no instance: a changed result, or an input that was to be
                     ///< tolerated
  };
  Kind kind = Kind::nondeterminism;
  InstanceId instance;  ///< empty if the history could not be read so far
  ExecutionId execution;
  std::string orchestration;
  std::string version;
  std::string message;  ///< for nondeterminism: recorded against now, the source line, and what to do

  /// One paragraph that names the instance and what is wrong.
  [[nodiscard]] std::string describe() const;
};

/// What was looked at, and what was found.
struct ReplayReport {
  std::size_t instances = 0;
  std::size_t executions = 0;
  std::size_t events = 0;
  std::vector<ReplayFinding> findings;

  /// Every history can be replayed: there are no findings, or only tolerated ones.
  [[nodiscard]] bool ok() const noexcept;
  /// The findings and a last line that sums up, for people.
  [[nodiscard]] std::string text() const;
};

struct ReplayCheckOptions {
  /// An activity or child that gets another input than it was recorded with is tolerated, not an error.
  bool tolerate_inputs = false;
};

/// Replays one instance, execution by execution. An execution that has ended must also end the same way.
[[nodiscard]] ReplayReport check_replay(const Registry& registry, const RecordedInstance& recorded,
                                        const ReplayCheckOptions& options = {});
/// The same for every instance in a stream of JSON lines; `name` is what messages call it.
[[nodiscard]] ReplayReport check_replay(const Registry& registry, std::istream& histories,
                                        const std::string& name, const ReplayCheckOptions& options = {});
/// The same for a file. One that cannot be opened, or has no history in it, is a finding.
[[nodiscard]] ReplayReport check_replay_file(const Registry& registry, const std::string& path,
                                             const ReplayCheckOptions& options = {});

/// Adds what `part` found to `to`.
void append(ReplayReport& to, ReplayReport part);

}  // namespace duramen::inline v0
