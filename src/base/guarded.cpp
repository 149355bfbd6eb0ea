#include "base/guarded.hpp"

#include <duramen/detail/mutant.hpp>

#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace duramen::base {

void Swallowed::operator()() noexcept {
  if (reported_.exchange(true)) return;
  const auto report = [this](const char* what) {
    std::fprintf(
        stderr,
        "duramen: the %.*s threw an exception (%s), and what it was called with is lost; it must not "
        "throw. Later exceptions are not reported.\n",
        static_cast<int>(whose_.size()), whose_.data(), what);
  };
  try {
    throw;
  } catch (const std::exception& error) {
    report(error.what());
  } catch (...) {
    report("not a std::exception");
  }
}

LogSink guarded(LogSink sink) {
  if (!sink) return sink;
  return
      [sink = std::move(sink), swallowed = std::make_shared<Swallowed>("LogSink")](const LogRecord& record) {
        try {
          sink(record);
        } catch (...) {
          if (detail::mutant("a_log_sink_may_throw")) throw;
          (*swallowed)();
        }
      };
}

}  // namespace duramen::base
