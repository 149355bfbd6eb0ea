// Checks that this build can still replay recorded histories.
//
// Changing an orchestration's code while instances of it run is safe only if the new code, given the old
// history, requests the same operations in the same order. Export histories from production once, keep the
// file with the tests, and let CI check it before each deployment:
//
//   dm::Registry registry = my_orchestrations();
//   const dm::ReplayReport report = dm::check_replay_file(registry, "histories.jsonl");
//   std::cout << report.text();
//   return report.ok() ? 0 : 1;
//
// `duramen export` writes such files; `duramen replay MODULE.so` runs the same check for a module. Only
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

/// A history that this build cannot replay, or replays with a difference.
struct ReplayFinding {
  enum class Kind : std::uint8_t {
    /// The code does something other than history records.
    nondeterminism,
    /// The orchestration, or this version of it, is not registered.
    no_code,
    /// This build cannot read or replay the history itself.
    unreadable,
    /// A difference that stops no instance: a changed result, or an input that the options tolerate.
    tolerated,
  };
  Kind kind = Kind::nondeterminism;
  InstanceId instance;  ///< empty if it could not be read
  ExecutionId execution;
  std::string orchestration;
  std::string version;
  /// With nondeterminism: the recorded and the new action, the source line, and what to do.
  std::string message;

  /// One paragraph that names the instance and the problem.
  [[nodiscard]] std::string describe() const;
};

/// The number of histories checked, and the findings.
struct ReplayReport {
  std::size_t instances = 0;
  std::size_t executions = 0;
  std::size_t events = 0;
  std::vector<ReplayFinding> findings;

  /// True if every history can be replayed: all findings are tolerated ones.
  [[nodiscard]] bool ok() const noexcept;
  /// The findings and a summary line, for people.
  [[nodiscard]] std::string text() const;
};

struct ReplayCheckOptions {
  /// Tolerates an activity or child whose input differs from the recorded one; by default that is an error.
  bool tolerate_inputs = false;
};

/// Replays one instance, execution by execution. An execution that has ended must end in the same way.
[[nodiscard]] ReplayReport check_replay(const Registry& registry, const RecordedInstance& recorded,
                                        const ReplayCheckOptions& options = {});
/// Like check_replay(), for every instance in a stream of JSON lines; `name` is the name of the stream in
/// messages.
[[nodiscard]] ReplayReport check_replay(const Registry& registry, std::istream& histories,
                                        const std::string& name, const ReplayCheckOptions& options = {});
/// Like check_replay(), for a file. A file that cannot be opened, or contains no history, is a finding.
[[nodiscard]] ReplayReport check_replay_file(const Registry& registry, const std::string& path,
                                             const ReplayCheckOptions& options = {});

/// Adds the findings of `part` to `to`.
void append(ReplayReport& to, ReplayReport part);

}  // namespace duramen::inline v0
