// Backlogs of mail, as a part of the workload scale.
#pragma once

#include "bench/scene.hpp"
#include "bench/workloads/hello_turns.hpp"

#include <cstddef>

namespace bench {

/// At most `most` messages in a backlog. Throws if a message is lost, taken twice or out of its order.
void take_backlogs(Scene& scene, const HelloTurns& turns, std::size_t most);

}  // namespace bench
