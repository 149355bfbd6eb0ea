// Replays the histories of a file. The core reads a stream; this opens it.
#include <duramen/replay_check.hpp>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace duramen::inline v0 {

namespace {

ReplayReport unreadable(std::string message) {
  ReplayFinding finding;
  finding.kind = ReplayFinding::Kind::unreadable;
  finding.message = std::move(message);
  ReplayReport report;
  report.findings.push_back(std::move(finding));
  return report;
}

}  // namespace

ReplayReport check_replay_file(const Registry& registry, const std::string& path,
                               const ReplayCheckOptions& options) {
  std::error_code error;
  std::ifstream file(path);
  // A directory can be opened, but reading it throws.
  if (!file || std::filesystem::is_directory(path, error)) {
    return unreadable(path + " cannot be opened; write one with `duramen export`");
  }
  ReplayReport report = check_replay(registry, file, path, options);
  if (report.instances == 0 && report.findings.empty()) {
    return unreadable(path + " has no history in it; write one with `duramen export`");
  }
  return report;
}

}  // namespace duramen::inline v0
