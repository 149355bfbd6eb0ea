// duramen run: loads a module and serves its code until it is stopped.
#include "commands.hpp"
#include "module.hpp"
#include "stop_signal.hpp"
#include "store.hpp"
#include "text.hpp"
#include "values.hpp"
#include <duramen/runtime.hpp>

#include <stdexcept>

namespace duramen::cli {

namespace {

std::string names_of(const Registry& registry) {
  std::string text;
  for (const auto& [name, versions] : registry.orchestrations()) {
    for (const std::string& version : versions) text += (text.empty() ? "" : ", ") + name + " " + version;
  }
  const auto activities = registry.activity_names();
  if (!activities.empty()) text += text.empty() ? "" : "; ";
  for (std::size_t i = 0; i < activities.size(); ++i) text += (i == 0 ? "activities " : ", ") + activities[i];
  return text;
}

Answer begun(const Session& session, const Runtime& runtime, const Registry& registry) {
  Answer answer;
  answer.documents.push_back(JsonObject()
                                 .add("state", "serving")
                                 .add("node", runtime.node())
                                 .add("store", shown_address(session.context.globals.store))
                                 .add("activities", json_array(registry.activity_names())));
  answer.page.emplace_back(Text{"node " + runtime.node().value + " serves " +
                                shown_address(session.context.globals.store) + ": " + names_of(registry)});
  return answer;
}

}  // namespace

Result<Answer> run(Session& session, const RunArguments& arguments) {
  Result<Registry> registry = load_module(arguments.module);
  if (!registry) return registry.error();
  RuntimeOptions options;
  options.node = arguments.node;
  options.activity_threads = arguments.threads;
  if (!arguments.tags.empty()) options.tags = TagFilter::default_and(arguments.tags);
  options.log = session.context.globals.json ? json_log(arguments.log_level) : text_log(arguments.log_level);

  // Before the runtime: a signal during its start is not lost.
  StopSignal stop;
  try {
    Runtime runtime(session.store, *registry, options);
    if (!session.context.emit(begun(session, runtime, *registry))) return Answer{};
    stop.wait();
    Answer stopping;
    stopping.documents.push_back(JsonObject().add("state", "stopping").add("node", runtime.node()));
    stopping.page.emplace_back(Text{"stopping: what runs has " + roughly(arguments.deadline) +
                                    " to end; once more to stop at once"});
    (void)session.context.emit(stopping);
    runtime.shutdown(arguments.deadline);
  } catch (const std::invalid_argument& wrong) {
    return Error{ErrorCode::invalid_argument, "run", wrong.what(), false};
  }
  Answer stopped;
  stopped.documents.push_back(JsonObject().add("state", "stopped"));
  stopped.page.emplace_back(Text{"stopped"});
  return stopped;
}

}  // namespace duramen::cli
