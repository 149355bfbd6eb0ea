// A store with a known set of instances, for commands to read:
//
//   order-1      Checkout   completed        order-2   Checkout   failed
//   waits        Approval   running, waits for the event "approved"
//   family       Parent     running, with the child family::sub::1.2, which waits for the event "go"
//   stopped      Approval   cancelled        poisoned  Checkout   failed as poison
//   ticker       Ticker     completed in its third execution, with key-values
//   nobody       Nobody     pending: no code for it anywhere
#pragma once

#include "cli/cli_process.hpp"
#include "cli/store_place.hpp"
#include "support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace duramen::test {

/// Fills an empty store and closes it.
void make_known_store(const Store& store);

/// A test that has the known store.
class OnKnownStore : public ::testing::Test {
 protected:
  explicit OnKnownStore(StoreKind kind) : place(make_place(kind, dir, why_not_)) {}

  void SetUp() override {
    if (place == nullptr) GTEST_SKIP() << why_not_;
    make_known_store(place->open());
  }

  /// The program on this store.
  CliResult run(std::vector<std::string> arguments, const CliSetting& setting = {}) const {
    return duramen(on_store(std::move(arguments)), setting);
  }
  /// The same with --json; the output as one document.
  nlohmann::json json(std::vector<std::string> arguments, int exit = 0) const {
    arguments.emplace_back("--json");
    const CliResult result = run(std::move(arguments));
    EXPECT_EQ(result.exit, exit) << result.err;
    nlohmann::json document = nlohmann::json::parse(result.out, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << result.out;
    return document;
  }
  std::vector<std::string> on_store(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--store", place->address()});
    return arguments;
  }

 private:
  std::string why_not_;

 protected:
  TempDir dir;
  std::unique_ptr<StorePlace> place;
};

/// Tests that hold for every kind of store.
class KnownStore : public OnKnownStore, public ::testing::WithParamInterface<StoreKind> {
 protected:
  KnownStore() : OnKnownStore(GetParam()) {}
};
#define DURAMEN_ON_EVERY_STORE(suite)                                        \
  INSTANTIATE_TEST_SUITE_P(Store, suite, ::testing::ValuesIn(store_kinds()), \
                           [](const auto& info) { return name_of(info.param); })

/// Tests of files, or of no store in particular.
class KnownFile : public OnKnownStore {
 protected:
  KnownFile() : OnKnownStore(StoreKind::sqlite) {}
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
