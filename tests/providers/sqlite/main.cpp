// The tests, and the program that some of them run beside themselves.
#include "providers/sqlite/second_process.hpp"

#include <gtest/gtest.h>

#include <string_view>

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == duramen::sqlite::test::second_process_flag) {
    return duramen::sqlite::test::run_second_process(argc - 2, argv + 2);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
