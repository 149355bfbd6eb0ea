#include "providers/postgres/empty_fetch_cache.hpp"

namespace duramen::inline v0::postgres::detail {

namespace {

/// Parts with their lengths, so that no two lists look the same.
class Question {
 public:
  explicit Question(char kind) : text_(1, kind) {}
  Question& add(const std::string& part) {
    text_.append(std::to_string(part.size())).append(":").append(part);
    return *this;
  }
  Question& add(std::uint64_t number) {
    text_.append(std::to_string(number)).append(";");
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string cache_key(const TurnFetch& request) {
  Question question{'t'};
  question.add(request.node.value).add(request.min_engine_version).add(request.max_engine_version);
  if (!request.orchestrations) return question.take();
  for (const RegisteredOrchestration& known : *request.orchestrations) {
    question.add(known.name).add(known.versions.size());
    for (const std::string& version : known.versions) question.add(version);
  }
  return question.take();
}

std::string cache_key(const ActivityFetch& request) {
  Question question{'w'};
  question.add(request.node.value).add(request.tags.untagged ? 1u : 0u).add(request.tags.every_tag ? 1u : 0u);
  question.add(request.tags.tags.size());
  for (const std::string& tag : request.tags.tags) question.add(tag);
  question.add(request.names ? 1u : 0u);
  if (request.names) {
    for (const std::string& name : *request.names) question.add(name);
  }
  if (!request.sessions) return question.take();
  question.add(request.sessions->owner).add(request.sessions->max_active);
  for (const std::string& session : request.sessions->active) question.add(session);
  return question.take();
}

}  // namespace duramen::inline v0::postgres::detail
