// What most tests of the engine include: googletest and <duramen/duramen.hpp> without its JSON, which few
// need and which costs every source half a second to load.
#pragma once

#include "gtest_pch.hpp"
#include "program_pch.hpp"
