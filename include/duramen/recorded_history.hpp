// Histories outside a store: exported, kept as test data, imported elsewhere, replayed by a newer build.
//
// The interchange form is JSON lines: one event per line, as to_json(Event) writes it, with its instance and
// execution. The lines of one instance are contiguous, its executions in order, oldest first. Empty lines are
// skipped.
#pragma once

#include <duramen/history.hpp>
#include <duramen/ids.hpp>
#include <duramen/result.hpp>

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace duramen::inline v0 {

struct RecordedExecution {
  ExecutionId execution;
  std::vector<Event> events;
  friend bool operator==(const RecordedExecution&, const RecordedExecution&) = default;
};

/// All executions of an instance that were not pruned, oldest first.
struct RecordedInstance {
  InstanceId instance;
  std::vector<RecordedExecution> executions;
  friend bool operator==(const RecordedInstance&, const RecordedInstance&) = default;

  /// True if its last execution ends with a terminal event.
  [[nodiscard]] bool has_ended() const noexcept;
};

/// One line for each event, each with its line end.
[[nodiscard]] std::string to_json_lines(const RecordedInstance& recorded);

/// Reads instances one by one from a stream of any length.
class RecordedHistoryReader {
 public:
  /// `name` is the name of the stream in messages, such as a file name. The stream must outlive the reader.
  RecordedHistoryReader(std::istream& stream, std::string name);

  /// Absent at the end of the stream. `corrupt` for a line that is not an event or does not continue the
  /// previous line; the message names the line. After an error, reading continues with the next instance.
  [[nodiscard]] Result<std::optional<RecordedInstance>> next();

 private:
  struct Line {
    InstanceId instance;
    ExecutionId execution;
    Event event;
  };
  [[nodiscard]] Result<std::optional<Line>> read_line();
  [[nodiscard]] Error corrupt_line(std::string what) const;
  void skip_instance(const InstanceId& instance);

  std::istream& stream_;
  std::string name_;
  std::size_t line_ = 0;
  std::optional<Line> ahead_;  // the first line of the next instance
};

}  // namespace duramen::inline v0
