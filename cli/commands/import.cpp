// duramen import: stores exported histories of instances that have ended.
#include "commands.hpp"
#include "text.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace duramen::cli {

namespace {

struct ImportReport {
  std::vector<InstanceId> imported;
  std::vector<InstanceId> replaced;  ///< of the imported ones
  std::vector<InstanceId> existing;  ///< left alone
  std::vector<std::pair<InstanceId, std::string>> refused;
};

Result<std::vector<RecordedInstance>> read_all(std::istream& stream, const std::string& name) {
  // Reads everything before storing: a file with a broken end changes nothing.
  std::vector<RecordedInstance> all;
  RecordedHistoryReader reader(stream, name);
  while (true) {
    Result<std::optional<RecordedInstance>> next = reader.next();
    if (!next) {
      Error error = next.error();
      error.code = ErrorCode::invalid_argument;  // the file is wrong, not the store
      error.message += "; nothing was imported";
      return error;
    }
    if (!*next) return all;
    all.push_back(**std::move(next));
  }
}

Result<std::vector<RecordedInstance>> read_file(const std::string& path) {
  if (path == "-") return read_all(std::cin, "standard input");
  const auto cannot = [&](const char* why) {
    return Error{ErrorCode::not_found, "import", path + " cannot be read: " + why, false};
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return cannot("it is a directory");
  std::ifstream file(path, std::ios::binary);
  if (!file) return cannot(std::strerror(errno));
  return read_all(file, path);
}

Result<std::vector<InstanceId>> find_existing(Client& client, const std::vector<RecordedInstance>& all) {
  std::vector<InstanceId> existing;
  for (const RecordedInstance& recorded : all) {
    Result<InstanceInfo> info = client.get_instance(recorded.instance);
    // An unreadable instance also exists.
    const bool unreadable = !info && info.error().code == ErrorCode::corrupt;
    if (!info && !unreadable && info.error().code != ErrorCode::not_found) return info.error();
    if (info || unreadable) existing.push_back(recorded.instance);
  }
  return existing;
}

Result<void> import_one(Client& client, RecordedInstance recorded, const ImportArguments& arguments,
                        ImportReport& report) {
  const InstanceId id = recorded.instance;
  // Checked before anything is replaced.
  if (Result<void> ok = Client::check_import(recorded); !ok) {
    report.refused.emplace_back(id, ok.error().message);
    return {};
  }
  const Result<InstanceInfo> info = client.get_instance(id);
  const bool there = info || info.error().code == ErrorCode::corrupt;
  if (!there && info.error().code != ErrorCode::not_found) return info.error();
  if (there && !arguments.replace) {
    report.existing.push_back(id);
    return {};
  }
  if (arguments.dry_run) {
    report.imported.push_back(id);
    if (there) report.replaced.push_back(id);
    return {};
  }
  if (there) {
    Result<DeleteResult> deleted = client.delete_instance(id, DeleteMode::force);
    if (!deleted && deleted.error().code == ErrorCode::invalid_argument) {
      report.refused.emplace_back(
          id, "\"" + id.value + "\" exists as a child; import the root of its tree as well");
      return {};
    }
    if (!deleted) return deleted.error();
    report.replaced.push_back(id);
  }
  Result<ImportOutcome> outcome = client.import_instance(std::move(recorded));
  if (!outcome) return outcome.error();
  (*outcome == ImportOutcome::imported ? report.imported : report.existing).push_back(id);
  return {};
}

Answer answer_to_import(const ImportReport& report, bool dry_run) {
  Answer answer;
  answer.documents.push_back(
      JsonObject()
          .add("dry_run", dry_run)
          .add("imported", json_array(report.imported))
          .add("replaced", json_array(report.replaced))
          .add("existing", json_array(report.existing))
          .add("refused", json_array(report.refused, [](const auto& entry) -> Json {
                 return JsonObject().add("instance_id", entry.first).add("why", entry.second);
               })));
  std::string text = dry_run ? "would import " : "imported ";
  text += count(report.imported.size(), "instance");
  if (!report.replaced.empty())
    text += ", " + std::to_string(report.replaced.size()) + " in place of another";
  answer.page.emplace_back(Text{std::move(text)});
  if (!report.existing.empty()) {
    answer.page.emplace_back(Text{"left alone, because the id is taken (--replace would replace it): " +
                                  some_of(report.existing)});
  }
  for (const auto& [id, why] : report.refused) {
    answer.page.emplace_back(Text{"not imported: " + why, Tone::warning});
  }
  if (!report.existing.empty() || !report.refused.empty()) answer.exit = ExitCode::no;
  return answer;
}

}  // namespace

Result<Answer> run(Session& session, const ImportArguments& arguments) {
  Result<std::vector<RecordedInstance>> all = read_file(arguments.file);
  if (!all) return all.error();
  if (arguments.replace && !arguments.dry_run) {
    Result<std::vector<InstanceId>> existing = find_existing(session.client, *all);
    if (!existing) return existing.error();
    if (!existing->empty()) {
      Result<bool> sure = confirm(session.context, "Replace " + count(existing->size(), "instance") +
                                                       " with all below them (" + some_of(*existing) + ")?");
      if (!sure) return sure.error();
      if (!*sure) return left_alone();
    }
  }
  ImportReport report;
  for (RecordedInstance& recorded : *all) {
    if (Result<void> done = import_one(session.client, std::move(recorded), arguments, report); !done) {
      return done.error();
    }
  }
  return answer_to_import(report, arguments.dry_run);
}

}  // namespace duramen::cli
