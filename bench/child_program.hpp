// This program, started again as another process, and what it says.
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace bench {

class ChildProgram {
 public:
  /// The descriptor, in the child, to which it writes what it has to say, line by line.
  static constexpr int report_descriptor = 3;

  /// `secret` is the first line it reads; a command line could be seen by others.
  ChildProgram(std::vector<std::string> words, const std::string& secret);
  /// Closes its standard input, which asks it to end, and waits for that.
  ~ChildProgram();
  ChildProgram(const ChildProgram&) = delete;
  ChildProgram& operator=(const ChildProgram&) = delete;

  /// One line to its standard input.
  void say(const std::string& line) const;
  /// The next line it says; throws if it ends, or says nothing for long.
  [[nodiscard]] std::string read_line();

 private:
  pid_t pid_ = -1;
  int control_ = -1;  // its standard input: closed, it ends
  int reports_ = -1;
  std::string buffer_;
};

/// In the child: the secret.
[[nodiscard]] std::string read_secret();

}  // namespace bench
