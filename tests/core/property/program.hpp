// An orchestration as data: a tree of statements that interpret.cpp runs, generate.cpp invents and a person
// can read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace duramen::core_test::property {

/// The meaning of a node. `a` and `b` are small numbers whose meaning depends on it: which name, which key,
/// how long.
enum class Kind : std::uint8_t {
  // -- something to wait for
  activity,  // a: name; b: 0 a fixed input, 1 one that depends on what happened before; flag: tag and session
  timer,     // a: ms
  child,     // a: name; flag: chooses its id; b: as above
  wait,      // a: name
  dequeue,   // a: queue
  guid,      //
  now,       //
  retry,     // a: name; b: attempts; flag: with limits on time
  timeout,   // a: ms; part 0: what is limited
  select,    // parts: what races, as a list
  select2,   //
  select3,   //
  join,      // parts: what is waited for, as a list
  join2,     //
  nested,    // parts: the statements of a Task that is a branch; flag: it owns all that it uses
  guarded,   // a: ms; parts: the same inside a shield
  // -- statements
  await,         // part 0
  attempt,       // part 0: a future, its failure a value; the other parts run if it fails
  attempt_task,  // parts: the statements of a Task, its failure a value
  call,          // parts: the statements of a Task, awaited
  shield,        // a: ms; parts: statements out of reach of a graceful cancellation
  start,         // a: which of the frame's places the future is kept in; part 0
  keep,          // the same, without a poll
  poll,          // a: starts what is kept there
  drop,          // a: drops what is kept there
  take,          // a: awaits what is kept there
  race,          // a: races what is kept there, by reference, with part 0
  detach,        // part 0: an activity, a timer or a child
  catch_all,     // parts: statements; what they throw is noted and forgotten
  if_odd,        // parts: run if what happened before is odd
  loop,          // a: how often; parts
  give_up,       // throws
  give_back,     // returns
  status,        // a: which text
  reset_status,  //
  kv_set,        // a: key; b: as above
  kv_add,        // a: key: reads, adds one, writes
  kv_clear,      // a: key
  kv_clear_all,  //
  kv_prune,      // a: ms before now
  chain,         // a: a detached start
  trace,         //
  guard,         // a: an object whose destructor sets a key
  again,         // continue as new
};

struct Node {
  Kind kind = Kind::give_back;
  int a = 0;
  int b = 0;
  bool flag = false;
  std::vector<Node> parts = {};
};

struct Program {
  bool graceful = false;
  std::vector<Node> body;
};

[[nodiscard]] std::string_view kind_name(Kind kind);
/// True for expressions: they can be awaited, and stand inside a statement.
[[nodiscard]] bool is_expression(Kind kind);
/// True if its parts are statements.
[[nodiscard]] bool holds_statements(Kind kind);

/// The program in indented lines.
[[nodiscard]] std::string to_text(const Program& program);

}  // namespace duramen::core_test::property
