#include "providers/postgres/empty_fetch_cache.hpp"

namespace duramen::inline v0::postgres::detail {

namespace {

/// Writes parts with their lengths, so that different lists give different keys.
class Key {
 public:
  explicit Key(char kind) : text_(1, kind) {}
  Key& add(const std::string& part) {
    text_.append(std::to_string(part.size())).append(":").append(part);
    return *this;
  }
  Key& add(std::uint64_t number) {
    text_.append(std::to_string(number)).append(";");
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string cache_key(const TurnFetch& request) {
  Key key{'t'};
  key.add(request.node.value).add(request.min_engine_version).add(request.max_engine_version);
  if (!request.orchestrations) return key.take();
  for (const RegisteredOrchestration& known : *request.orchestrations) {
    key.add(known.name).add(known.versions.size());
    for (const std::string& version : known.versions) key.add(version);
  }
  return key.take();
}

std::string cache_key(const ActivityFetch& request) {
  Key key{'w'};
  key.add(request.node.value).add(request.tags.untagged ? 1u : 0u).add(request.tags.every_tag ? 1u : 0u);
  key.add(request.tags.tags.size());
  for (const std::string& tag : request.tags.tags) key.add(tag);
  key.add(request.names ? 1u : 0u);
  if (request.names) {
    for (const std::string& name : *request.names) key.add(name);
  }
  if (!request.sessions) return key.take();
  key.add(request.sessions->owner).add(request.sessions->max_active);
  for (const std::string& session : request.sessions->active) key.add(session);
  return key.take();
}

}  // namespace duramen::inline v0::postgres::detail
