// This program, started again as another process, and its reports.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace bench {

class ChildProgram {
 public:
  /// The descriptor in the child for its reports, line by line.
  static constexpr int report_descriptor = 3;

  /// `secret` is the first line it reads: other users can see a command line.
  ChildProgram(std::vector<std::string> words, const std::string& secret);
  /// Closes its standard input, which asks it to end, and waits for its end.
  ~ChildProgram();
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  /// One line to its standard input.
  void send_line(const std::string& line) const;
  /// The next line of its reports; throws at its end or after a long silence.
  [[nodiscard]] std::string read_line();

 private:
  pid_t pid_ = -1;
  int control_ = -1;  // its standard input; closing it ends it
  int reports_ = -1;
  std::string buffer_;
};

/// In the child: the secret.
[[nodiscard]] std::string read_secret();

}  // namespace bench
