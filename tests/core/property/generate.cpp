#include "core/property/generate.hpp"

#include <algorithm>
#include <utility>

namespace duramen::core_test::property {

namespace {

constexpr int most_depth = 3;

class Generator {
 public:
  explicit Generator(Rng& rng) : rng_(rng), left_(rng.between(8, 52)) {}

  std::vector<Node> statements(int depth, int longest, int shortest = 1) {
    std::vector<Node> block;
    const int count = rng_.between(shortest, longest);
    for (int i = 0; i < count && left_ > 0; ++i) block.push_back(statement(depth));
    return block;
  }
  Node statement(int depth);
  Node expression(int depth);

 private:
  Node leaf();
  Node node(Kind kind, std::vector<Node> parts = {}) {
    return Node{kind, rng_.between(0, 2), rng_.between(0, 2), rng_.one_in(3), std::move(parts)};
  }
  std::vector<Node> expressions(int depth, int count) {
    std::vector<Node> parts;
    for (int i = 0; i < count; ++i) parts.push_back(expression(depth));
    return parts;
  }
  Node limited(Kind kind, std::vector<Node> parts) {
    Node made = node(kind, std::move(parts));
    made.a = rng_.between(0, 4) * 40;
    return made;
  }

  Rng& rng_;
  int left_;  // how many nodes more
};

Node Generator::leaf() {
  --left_;
  static const std::vector<Kind> kinds{Kind::activity, Kind::activity, Kind::activity, Kind::activity,
                                       Kind::timer,    Kind::timer,    Kind::child,    Kind::wait,
                                       Kind::dequeue,  Kind::guid,     Kind::now,      Kind::retry};
  Node made = node(rng_.pick(kinds));
  if (made.kind == Kind::timer) made.a *= 30;
  return made;
}

Node Generator::expression(int depth) {
  if (depth <= 0 || left_ <= 1 || !rng_.one_in(3)) return leaf();
  --left_;
  switch (rng_.below(10)) {
    case 0:
      return node(Kind::select, expressions(depth - 1, rng_.between(1, 3)));
    case 1:
      return node(Kind::select2, expressions(depth - 1, 2));
    case 2:
      return node(Kind::select3, expressions(depth - 1, 3));
    case 3:
      return node(Kind::join, expressions(depth - 1, rng_.between(0, 3)));
    case 4:
      return node(Kind::join2, expressions(depth - 1, 2));
    case 5:
      return limited(Kind::timeout, expressions(depth - 1, 1));
    case 6:
    case 7: {
      Node made = limited(Kind::guarded, statements(depth - 1, 3));
      made.a += 100;  // mostly longer than what is in it
      return made;
    }
    default:
      return node(Kind::nested, statements(depth - 1, 3));
  }
}

Node Generator::statement(int depth) {
  --left_;
  switch (rng_.below(depth > 0 ? 36 : 26)) {
    default:  // the most frequent one
      return node(Kind::await, expressions(depth, 1));
    case 8:
    case 9:
      return node(Kind::start, expressions(depth, 1));
    case 10:
      return node(Kind::keep, expressions(depth, 1));
    case 11:
      return node(Kind::poll);
    case 12:
      return node(Kind::drop);
    case 13:
    case 14:
      return node(Kind::take);
    case 15:
      return node(Kind::race, expressions(depth, 1));
    case 16: {
      static const std::vector<Kind> kinds{Kind::activity, Kind::timer, Kind::child};
      Node what = node(rng_.pick(kinds));
      if (what.kind == Kind::timer) what.a *= 30;
      return node(Kind::detach, {std::move(what)});
    }
    case 17:
      return node(rng_.one_in(3) ? Kind::reset_status : Kind::status);
    case 18:
      return node(rng_.one_in(2) ? Kind::kv_set : Kind::kv_add);
    case 19: {
      static const std::vector<Kind> kinds{Kind::kv_clear, Kind::kv_clear_all, Kind::kv_prune};
      return node(rng_.pick(kinds));
    }
    case 20:
      return node(Kind::chain);
    case 21:
      return node(Kind::trace);
    case 22:
      return node(Kind::guard);
    case 23:
      // Statements that end everything are rare at the top, where most programs would end with them.
      if (depth == most_depth && !rng_.one_in(4)) return node(Kind::await, expressions(depth, 1));
      return node(rng_.one_in(2) ? Kind::give_up : Kind::give_back);
    case 24:
      return node(Kind::again);
    case 25: {
      std::vector<Node> parts = expressions(depth, 1);
      if (depth > 0 && rng_.one_in(2)) {
        for (Node& recovery : statements(depth - 1, 2)) parts.push_back(std::move(recovery));
      }
      return node(Kind::attempt, std::move(parts));
    }
    case 26:
    case 27:
      return node(Kind::attempt_task, statements(depth - 1, 3));
    case 28:
      return node(Kind::call, statements(depth - 1, 3));
    case 29:
    case 30:
      return limited(Kind::shield, statements(depth - 1, 2));
    case 31:
      return node(Kind::catch_all, statements(depth - 1, 3));
    case 32:
      return node(Kind::if_odd, statements(depth - 1, 2));
    case 33:
      return node(Kind::loop, statements(depth - 1, 2));
  }
}

// -- changes --------------------------------------------------------------------------------------

void collect_blocks(std::vector<Node>& block, bool statements, std::vector<std::vector<Node>*>& out) {
  if (statements) out.push_back(&block);
  for (Node& node : block) collect_blocks(node.parts, holds_statements(node.kind), out);
}

void collect_nodes(std::vector<Node>& block, std::vector<Node*>& out) {
  for (Node& node : block) {
    out.push_back(&node);
    collect_nodes(node.parts, out);
  }
}

void change_a_number(Program& program, Rng& rng) {
  std::vector<Node*> nodes;
  collect_nodes(program.body, nodes);
  if (nodes.empty()) return;
  Node& node = *rng.pick(nodes);
  switch (rng.below(4)) {
    case 0:
      node.b = (node.b + 1) % 3;
      break;
    case 1:
      node.flag = !node.flag;
      break;
    default:
      node.a = node.a > 2 ? node.a + 30 : (node.a + 1) % 3;  // a time, or one of three names
      break;
  }
}

void change_an_expression(Program& program, Rng& rng) {
  std::vector<Node*> nodes;
  collect_nodes(program.body, nodes);
  std::erase_if(nodes, [](const Node* node) { return !is_expression(node->kind); });
  if (nodes.empty()) return;
  Generator generator(rng);
  *rng.pick(nodes) = generator.expression(1);
}

void change_a_block(Program& program, Rng& rng) {
  std::vector<std::vector<Node>*> blocks;
  collect_blocks(program.body, true, blocks);
  std::vector<Node>& block = *rng.pick(blocks);
  const auto at = [&] { return block.begin() + static_cast<std::ptrdiff_t>(rng.below(block.size())); };
  Generator generator(rng);
  switch (rng.below(3)) {
    case 0:
      if (!block.empty()) block.erase(at());
      break;
    case 1: {
      Node added = generator.statement(1);
      block.insert(block.empty() ? block.end() : at(), std::move(added));
      break;
    }
    default:
      if (block.size() > 1) std::swap(*at(), *at());
      break;
  }
}

}  // namespace

Program generate(Rng& rng) {
  Generator generator(rng);
  Program program;
  program.graceful = rng.one_in(2);
  program.body = generator.statements(most_depth, 12, 4);
  return program;
}

Program mutate(const Program& program, Rng& rng) {
  Program changed = program;
  const int changes = rng.between(1, 2);
  for (int i = 0; i < changes; ++i) {
    switch (rng.below(3)) {
      case 0:
        change_a_number(changed, rng);
        break;
      case 1:
        change_an_expression(changed, rng);
        break;
      default:
        change_a_block(changed, rng);
        break;
    }
  }
  return changed;
}

}  // namespace duramen::core_test::property
