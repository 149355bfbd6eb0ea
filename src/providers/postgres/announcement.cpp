#include "providers/postgres/announcement.hpp"

namespace duramen::inline v0::postgres::detail {

namespace {

// The server accepts less than 8000 bytes.
constexpr std::size_t longest_payload = 7000;

bool may_be_listed(const std::string& node) { return node.find('\t') == std::string::npos; }

}  // namespace

void Announcement::add(const providers::Notices& notices) {
  turns_ready |= notices.turns_ready;
  activities_ready |= notices.activities_ready;
  instances |= !notices.instances.empty();
  for (const StolenLease& lease : notices.stolen) stolen_from.insert(lease.owner.value);
}

std::string Announcement::to_payload() const {
  std::string kinds;
  if (turns_ready) kinds += 'o';
  if (activities_ready) kinds += 'w';
  if (instances) kinds += 'i';
  if (listener_joined) kinds += 'h';
  if (stolen_from_all) return kinds + 'a';
  std::string nodes;
  for (const std::string& node : stolen_from) {
    nodes.append("\t").append(node);
    if (nodes.size() > longest_payload || !may_be_listed(node)) return kinds + 'a';
  }
  return kinds + nodes;
}

Announcement Announcement::from_payload(std::string_view payload) {
  Announcement announcement;
  const std::size_t end = payload.find('\t');
  for (const char kind : payload.substr(0, end)) {
    // Ignores an unknown letter: it is for newer versions.
    if (kind == 'o') announcement.turns_ready = true;
    if (kind == 'w') announcement.activities_ready = true;
    if (kind == 'i') announcement.instances = true;
    if (kind == 'h') announcement.listener_joined = true;
    if (kind == 'a') announcement.stolen_from_all = true;
  }
  while (payload.find('\t') != std::string_view::npos) {
    payload.remove_prefix(payload.find('\t') + 1);
    announcement.stolen_from.emplace(payload.substr(0, payload.find('\t')));
  }
  return announcement;
}

Announcement Announcement::of_everything() {
  return {.turns_ready = true, .activities_ready = true, .instances = true, .stolen_from_all = true};
}

}  // namespace duramen::inline v0::postgres::detail
