// The whole API, for small programs and examples.
#pragma once

#include <duramen/activity.hpp>
#include <duramen/client.hpp>
#include <duramen/json.hpp>
#include <duramen/orchestration.hpp>
#include <duramen/process.hpp>
#include <duramen/registry.hpp>
#include <duramen/runtime.hpp>
#include <duramen/sqlite.hpp>
#include <duramen/version.hpp>
