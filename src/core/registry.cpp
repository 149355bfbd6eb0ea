#include <duramen/registry.hpp>

#include "base/name_check.hpp"
#include "base/utf8.hpp"
#include <duramen/limits.hpp>

#include <stdexcept>

namespace duramen::inline v0 {

namespace {

std::array<std::uint32_t, 3> parse_version(std::string_view text) {
  if (const auto problem = base::version_problem(text)) throw std::invalid_argument(problem->message);
  return *base::read_version(text);
}

void require_handler_name(std::string_view name) {
  if (name.empty()) throw std::invalid_argument("a handler needs a name");
  // A handler with a name that no call can use would never run.
  if (name.size() > max_name_bytes || !base::is_text(name)) {
    throw std::invalid_argument("the name of a handler is UTF-8 text without NUL of at most " +
                                std::to_string(max_name_bytes) + " bytes; \"" +
                                base::to_text(base::excerpt(name, 40)) + "\" is not");
  }
}

}  // namespace

Registry& Registry::add_orchestration(std::string_view name, const OrchestrationOptions& options,
                                      std::function<Task<Payload>(OrchestrationContext&, Payload)> invoke) {
  require_handler_name(name);
  const std::string& version = options.get_version();
  auto handler = std::make_shared<OrchestrationHandler>(
      OrchestrationHandler{std::string(name), version, options.is_graceful(), std::move(invoke)});
  auto& versions = orchestrations_[std::string(name)];
  if (!versions.emplace(parse_version(version), std::move(handler)).second) {
    throw std::invalid_argument("orchestration \"" + std::string(name) + "\" " + version +
                                " is registered already");
  }
  return *this;
}

Registry& Registry::add_activity(std::string_view name,
                                 std::variant<ActivityHandler::Function, ActivityHandler::Coroutine> run) {
  require_handler_name(name);
  auto handler = std::make_shared<ActivityHandler>(ActivityHandler{std::string(name), std::move(run)});
  if (!activities_.emplace(std::string(name), std::move(handler)).second) {
    throw std::invalid_argument("activity \"" + std::string(name) + "\" is registered already");
  }
  return *this;
}

std::shared_ptr<const OrchestrationHandler> Registry::find_orchestration(
    std::string_view name, const std::optional<std::string>& version) const {
  const auto versions = orchestrations_.find(name);
  if (versions == orchestrations_.end() || versions->second.empty()) return nullptr;
  if (!version || version->empty()) return versions->second.rbegin()->second;
  for (const auto& [number, handler] : versions->second) {
    if (handler->version == *version) return handler;
  }
  return nullptr;
}

std::shared_ptr<const ActivityHandler> Registry::find_activity(std::string_view name) const {
  const auto found = activities_.find(name);
  return found == activities_.end() ? nullptr : found->second;
}

std::map<std::string, std::vector<std::string>> Registry::orchestrations() const {
  std::map<std::string, std::vector<std::string>> all;
  for (const auto& [name, versions] : orchestrations_) {
    for (const auto& [number, handler] : versions) all[name].push_back(handler->version);
  }
  return all;
}

std::vector<std::string> Registry::activity_names() const {
  std::vector<std::string> names;
  for (const auto& [name, handler] : activities_) names.push_back(name);
  return names;
}

}  // namespace duramen::inline v0
