// Refuses compilers that are known to compile correct coroutines wrongly. Not API.
//
// CMake asks the compiler itself (cmake/coroutine_probe.cpp). This is for programs that are built without
// CMake, and so it names versions: only those that were seen to fail. docs/decisions/0001 has the faults.
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13 && !defined(DURAMEN_SKIP_COROUTINE_CHECK)
#error \
    "duramen: g++ 12 and older destroy temporaries twice in expressions with co_await, which corrupts memory in correct programs. Compile this file with clang++-19, or another compiler that passes duramen's coroutine probe. If the file contains no coroutine, define DURAMEN_SKIP_COROUTINE_CHECK."
#endif
