# What we build on: system packages only, nothing is downloaded. `./dev setup` installs them on Debian.
#
#   Threads::Threads   SQLite::SQLite3   simdjson::simdjson   nlohmann_json::nlohmann_json   GTest::gtest GTest::gmock
#   PostgreSQL::PostgreSQL (optional)   CLI11::CLI11 (optional)

find_package(Threads REQUIRED)
find_package(SQLite3 3.40 REQUIRED)
find_package(simdjson CONFIG REQUIRED)
find_package(nlohmann_json 3.11 CONFIG REQUIRED)
find_package(PostgreSQL 15 QUIET)  # libpq; without it there is no duramen::postgres
find_package(CLI11 2.1 CONFIG QUIET)  # without it there is no command line
if(DURAMEN_BUILD_TESTS)
  find_package(GTest 1.12 CONFIG REQUIRED)
endif()
