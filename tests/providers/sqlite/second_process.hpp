// What the test program does when it is started a second time, as another process on the same file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace duramen::sqlite::test {

inline constexpr std::string_view second_process_flag = "--second-process";

/// Runs in the new process; its arguments are the task and what it needs. Returns the exit status.
int run_second_process(int argc, char** argv);

/// A second run of this program, waited for at the latest when it goes out of scope.
class SecondProcess {
 public:
  explicit SecondProcess(const std::vector<std::string>& arguments);
  ~SecondProcess() { wait(); }
  SecondProcess(const SecondProcess&) = delete;
  SecondProcess& operator=(const SecondProcess&) = delete;

  /// The exit status, or minus the signal that ended it.
  int wait();

 private:
  int pid_ = -1;
  int status_ = 0;
};

}  // namespace duramen::sqlite::test
