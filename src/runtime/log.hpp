// The host's log, for the parts of the runtime.
#pragma once

#include "base/guarded.hpp"
#include <duramen/log.hpp>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace duramen::inline v0::runtime {

class Log {
 public:
  explicit Log(LogSink sink) : sink_(base::guarded(std::move(sink))) {}

  void operator()(LogLevel level, std::string_view message, std::initializer_list<LogField> fields = {},
                  LogSource source = LogSource::runtime) const {
    sink_(LogRecord{level, source, message, {fields.begin(), fields.size()}});
  }

 private:
  LogSink sink_;
};

}  // namespace duramen::inline v0::runtime
