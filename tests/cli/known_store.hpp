// A SQLite store with a known set of instances, for commands to look at:
//
//   order-1      Checkout   completed        order-2   Checkout   failed
//   waits        Approval   running, waits for the event "approved"
//   family       Parent     running, with the child family::sub::1.2, which waits for the event "go"
//   stopped      Approval   cancelled        poisoned  Checkout   failed as poison
//   ticker       Ticker     completed in its third execution, with key-values
//   nobody       Nobody     pending: no code for it anywhere
#pragma once

#include "cli/cli_process.hpp"
#include "support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace duramen::test {

/// Makes the store at `path`, and closes it.
void make_known_store(const std::string& path);

class KnownStore : public ::testing::Test {
 protected:
  KnownStore() { make_known_store(path); }

  /// The program on this store.
  CliResult run(std::vector<std::string> arguments, const CliSetting& setting = {}) const {
    return duramen(on_store(std::move(arguments)), setting);
  }
  /// The same with --json, and what it printed as one document.
  nlohmann::json json(std::vector<std::string> arguments, int exit = 0) const {
    arguments.emplace_back("--json");
    const CliResult result = run(std::move(arguments));
    EXPECT_EQ(result.exit, exit) << result.err;
    nlohmann::json document = nlohmann::json::parse(result.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << result.out;
    return document;
  }
  std::vector<std::string> on_store(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--store", "sqlite:" + path});
    return arguments;
  }

  TempDir dir;
  std::string path = dir.file("store.db");
};

/// The documents of JSON lines.
inline std::vector<nlohmann::json> json_lines(const std::string& text) {
  std::vector<nlohmann::json> documents;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    documents.push_back(nlohmann::json::parse(text.substr(begin, end - begin), nullptr, false));
    begin = end + 1;
  }
  return documents;
}

}  // namespace duramen::test
