// The headers of most tests of the engine: googletest and <duramen/duramen.hpp> without its JSON, which few
// need and every source would load.
#pragma once

#include "gtest_pch.hpp"
#include "program_pch.hpp"
