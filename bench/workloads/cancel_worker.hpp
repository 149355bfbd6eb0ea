// The other process of cancel2: a runtime that holds the activities, and tells through a pipe what becomes of
// them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// The first word of its command line; not for people.
inline constexpr std::string_view cancel_worker_word = "--cancel-worker";

/// Words: the above, the number of the pipe's descriptor, and "turns" if it runs orchestrations too. The
/// store's address is the first line of standard input; returns when that ends.
int cancel_worker(const std::vector<std::string>& words);

}  // namespace bench
