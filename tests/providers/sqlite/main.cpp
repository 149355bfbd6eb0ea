// The tests, and the process that some of them start.
#include "providers/sqlite/second_process.hpp"

#include <gtest/gtest.h>

#include <string_view>

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "--second-process") {
    return duramen::sqlite::test::run_second_process({argv + 2, argv + argc});
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
