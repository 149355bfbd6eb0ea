// The headers of most sources of the command line and of the benchmarks. JSON is left out: few need it, and
// every source would load it.
#pragma once

#include <duramen/activity.hpp>
#include <duramen/client.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/process.hpp>
#include <duramen/registry.hpp>
#include <duramen/runtime.hpp>
#include <duramen/sqlite.hpp>
#include <duramen/version.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>
