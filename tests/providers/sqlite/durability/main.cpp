#include "providers/sqlite/durability/tasks.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
  using namespace duramen::sqlite::test;
  if (argc > 2 && std::string(argv[1]) == "--task") {
    const std::string task = argv[2];
    const Arguments arguments(argv + 3, argv + argc);
    try {
      if (task == "random-work") return do_random_work(arguments);
      if (task == "run-instances") return run_instances(arguments);
      if (task == "saturate") return saturate(arguments);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s: %s\n", task.c_str(), e.what());
      return 1;
    }
    return 64;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
