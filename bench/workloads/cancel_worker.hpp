// The other process of cancel2: a runtime that holds the activities, and reports their events through a pipe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// The first word of its command line; not for people.
inline constexpr std::string_view cancel_worker_word = "--cancel-worker";

/// Arguments: the word above, the number of the pipe's descriptor, and "turns" if it also runs
/// orchestrations. The store's address is the first line of standard input; returns at the end of that input.
int cancel_worker(const std::vector<std::string>& words);

}  // namespace bench
