// Rejects compilers that miscompile correct coroutines. Not API.
//
// CMake tests the compiler itself (cmake/coroutine_probe.cpp). This header is for programs that are built
// without CMake, so it lists the versions that were seen to fail. docs/decisions/0001 describes the faults.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13 && !defined(DURAMEN_SKIP_COROUTINE_CHECK)
#error \
    "duramen: g++ 12 and older destroy temporaries twice in expressions with co_await, which corrupts memory in correct programs. Compile this file with clang++-19, or another compiler that passes duramen's coroutine probe. If the file contains no coroutine, define DURAMEN_SKIP_COROUTINE_CHECK."
#endif
