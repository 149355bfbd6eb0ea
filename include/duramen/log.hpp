// Log records for operators. The host decides where they go.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace duramen::inline v0 {

/// The severity of a record.
enum class LogLevel : std::uint8_t { debug, info, warning, error };
/// The spelling in logs.
[[nodiscard]] constexpr std::string_view to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warning:
      return "warning";
    case LogLevel::error:
      return "error";
  }
  return "error";
}

/// The origin of a record: the runtime itself, or user code through ctx.trace().
enum class LogSource : std::uint8_t { runtime, orchestration, activity };
/// The spelling in logs.
[[nodiscard]] constexpr std::string_view to_string(LogSource source) noexcept {
  switch (source) {
    case LogSource::runtime:
      return "runtime";
    case LogSource::orchestration:
      return "orchestration";
    case LogSource::activity:
      return "activity";
  }
  return "runtime";
}

/// The subject of a record. Keys: instance_id, execution_id, orchestration_name, orchestration_version,
/// activity_name, activity_id, worker_id, attempt, reason, error, duration_ms, refused_id (of a detached
/// start).
struct LogField {
  std::string_view key;
  std::string value;
};

/// One log record. Valid only during the call of the sink. Never contains payloads or secrets.
struct LogRecord {
  LogLevel level = LogLevel::info;
  LogSource source = LogSource::runtime;
  std::string_view message;
  std::span<const LogField> fields;
};

/// Called from any thread, possibly from several at once. It should not throw: an exception is swallowed, the
/// record is lost, and the first one causes one line on standard error.
using LogSink = std::function<void(const LogRecord&)>;

/// Receives one line at a time, without the line end.
using LineWriter = std::function<void(std::string_view line)>;

/// Lines for people: `2026-11-15T23:38:57.123Z warning runtime: message instance_id=order-1`. Default:
/// standard error.
[[nodiscard]] LogSink text_log(LogLevel at_least = LogLevel::warning, LineWriter write = {});
/// One JSON object per line, with the fields as members. Default: standard error.
[[nodiscard]] LogSink json_log(LogLevel at_least = LogLevel::info, LineWriter write = {});

}  // namespace duramen::inline v0
