// A shared object with orchestrations and activities, for `duramen run MODULE.so` and `duramen replay
// MODULE.so`.
//
//   #include <duramen/module.hpp>
//
//   DURAMEN_MODULE(registry) {
//     registry.add("Checkout", checkout).add("Charge", charge);
//   }
//
// Build it as a module that links the shared library (duramen::duramen), like the program that loads it:
//
//   add_library(shop MODULE shop.cpp)
//   target_link_libraries(shop PRIVATE duramen::duramen)
//
// A module is never unloaded: its code may be on a stack until the process ends.
#pragma once

#include <duramen/export.hpp>
#include <duramen/history.hpp>
#include <duramen/registry.hpp>

#include <string>

/// The version of these headers: before 1.0 the major and the minor number. Two parts of a program that were
/// compiled with different versions cannot pass objects to each other.
#define DURAMEN_MODULE_VERSION "0.1"

// The other properties that must be equal for that.
#if defined(_LIBCPP_VERSION)
#define DURAMEN_MODULE_LIBRARY "libc++"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define DURAMEN_MODULE_LIBRARY "libstdc++11"
#else
#define DURAMEN_MODULE_LIBRARY "libstdc++"
#endif
#if defined(_GLIBCXX_DEBUG)
#define DURAMEN_MODULE_CONTAINERS " debug-containers"
#else
#define DURAMEN_MODULE_CONTAINERS ""
#endif
#if defined(__clang__)
#define DURAMEN_MODULE_COMPILER "clang"
#elif defined(__GNUC__)
#define DURAMEN_MODULE_COMPILER "gcc"
#else
#define DURAMEN_MODULE_COMPILER "other"
#endif
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DURAMEN_MODULE_SANITIZER " address-sanitizer"
#elif __has_feature(thread_sanitizer)
#define DURAMEN_MODULE_SANITIZER " thread-sanitizer"
#endif
#endif
#if !defined(DURAMEN_MODULE_SANITIZER)
#define DURAMEN_MODULE_SANITIZER ""
#endif

/// Compared as text: "duramen 0.1 clang libstdc++11".
#define DURAMEN_MODULE_ABI                                      \
  "duramen " DURAMEN_MODULE_VERSION " " DURAMEN_MODULE_COMPILER \
  " " DURAMEN_MODULE_LIBRARY DURAMEN_MODULE_CONTAINERS DURAMEN_MODULE_SANITIZER

namespace duramen::inline v0 {

/// The types of the two functions that a module exports, under these names.
using ModuleAbi = const char*();                  ///< "duramen_abi"
using ModuleRegister = void(Registry& registry);  ///< "duramen_register"

}  // namespace duramen::inline v0

/// Begins the function that registers the module's code; `registry` is the name of its argument. Once per
/// module, outside any namespace.
#define DURAMEN_MODULE(registry)                                                                       \
  extern "C" DURAMEN_API const char* duramen_abi() { return DURAMEN_MODULE_ABI; }                      \
  static void duramen_fill_registry(::duramen::Registry& registry);                                    \
  extern "C" DURAMEN_API void duramen_register(::duramen::Registry& to) { duramen_fill_registry(to); } \
  static void duramen_fill_registry(::duramen::Registry& registry)
