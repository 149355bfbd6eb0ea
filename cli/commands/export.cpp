// duramen export: histories as JSON lines, one event per line, instance after instance, oldest first.
#include "commands.hpp"
#include "selection.hpp"
#include "text.hpp"
#include <duramen/detail/mutant.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace duramen::cli {

namespace {

struct Written {
  std::size_t instances = 0;
  std::size_t events = 0;
  bool closed = false;  ///< the output has no reader
  Answer rest;          ///< names unreadable instances
};

Result<Written> write_all(Session& session, const std::vector<InstanceId>& ids, std::ostream* file) {
  Written written;
  for (const InstanceId& id : ids) {
    Result<RecordedInstance> recorded = session.client.export_instance(id);
    if (!recorded && recorded.error().code == ErrorCode::not_found) continue;  // deleted meanwhile
    if (!recorded && is_damage(recorded.error()) && !detail::mutant("one_history_fails_the_export")) {
      written.rest.leave_out("\"" + id.value +
                             "\" was left out, as its history cannot be read: " + recorded.error().message);
      continue;
    }
    if (!recorded) return recorded.error();
    ++written.instances;
    for (const RecordedExecution& execution : recorded->executions) written.events += execution.events.size();
    const std::string lines = to_json_lines(*recorded);
    if (file != nullptr) {
      *file << lines;
      continue;
    }
    Answer part;
    part.page.emplace_back(Verbatim{lines});
    if (!lines.empty()) part.documents.push_back(Json::raw(lines.substr(0, lines.size() - 1)));
    written.closed = !session.context.emit(part);
    if (written.closed) break;
  }
  return written;
}

}  // namespace

Result<Answer> run(Session& session, const ExportArguments& arguments) {
  if (Result<void> ok = check_selection(arguments.which, "export"); !ok) return ok.error();
  Result<std::vector<InstanceId>> ids = find_selected(session.client, arguments.which);
  if (!ids) return ids.error();

  const auto cannot = [&](const char* what) {
    return Error{ErrorCode::invalid_argument, "export",
                 arguments.file + " cannot be " + what + ": " + std::strerror(errno), false};
  };
  std::ofstream file;
  if (!arguments.file.empty()) {
    file.open(arguments.file, std::ios::binary | std::ios::trunc);
    if (!file) return cannot("written");
  }
  Result<Written> written = write_all(session, *ids, arguments.file.empty() ? nullptr : &file);
  if (!written) return written.error();
  Answer answer = std::move(written->rest);
  if (!arguments.file.empty()) {
    file.flush();
    if (!file) return cannot("written to its end");
  }
  answer.notes.push_back(count(written->instances, "instance") + ", " + count(written->events, "event"));
  return answer;
}

}  // namespace duramen::cli
