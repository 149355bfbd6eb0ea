#include "core/property/program.hpp"

#include <array>

namespace duramen::core_test::property {

namespace {

constexpr std::array names{
    "activity",  "timer",   "child",        "wait",    "dequeue",   "guid",     "now",          "retry",
    "timeout",   "select",  "select2",      "select3", "join",      "join2",    "nested",       "guarded",
    "await",     "attempt", "attempt_task", "call",    "shield",    "start",    "keep",         "poll",
    "drop",      "take",    "race",         "detach",  "catch_all", "if_odd",   "loop",         "give_up",
    "give_back", "status",  "reset_status", "kv_set",  "kv_add",    "kv_clear", "kv_clear_all", "kv_prune",
    "chain",     "trace",   "guard",        "again",
};
static_assert(names.size() == static_cast<std::size_t>(Kind::again) + 1);

void write(const Node& node, std::size_t depth, std::string& out) {
  out.append(depth * 2, ' ');
  out += kind_name(node.kind);
  out += ' ' + std::to_string(node.a) + ' ' + std::to_string(node.b) + (node.flag ? " flag" : "");
  out += '\n';
  for (const Node& part : node.parts) write(part, depth + 1, out);
}

}  // namespace

std::string_view kind_name(Kind kind) { return names[static_cast<std::size_t>(kind)]; }

bool is_expression(Kind kind) { return kind <= Kind::guarded; }

bool holds_statements(Kind kind) {
  switch (kind) {
    case Kind::nested:
    case Kind::guarded:
    case Kind::attempt_task:
    case Kind::call:
    case Kind::shield:
    case Kind::catch_all:
    case Kind::if_odd:
    case Kind::loop:
      return true;
    default:
      return false;
  }
}

std::string to_text(const Program& program) {
  std::string out = program.graceful ? "graceful program\n" : "program\n";
  for (const Node& node : program.body) write(node, 1, out);
  return out;
}

}  // namespace duramen::core_test::property
