// The headers of most sources of the libraries. Each source still includes what it uses: without this header,
// or with another one, it must compile as well.
#pragma once

#include <duramen/history.hpp>
#include <duramen/provider.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
