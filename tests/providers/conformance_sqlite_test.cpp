#include "providers/conformance_gtest.hpp"
#include <duramen/sqlite.hpp>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <stdlib.h>  // mkdtemp

namespace duramen::testing {
namespace {

/// The directory of one store; deleted with the store.
class StoreDirectory {
 public:
  StoreDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "duramen-conformance-XXXXXX").string();
    if (!mkdtemp(pattern.data())) throw std::runtime_error("no temporary directory: " + pattern);
    path_ = pattern;
  }
  StoreDirectory(const StoreDirectory&) = delete;
  StoreDirectory& operator=(const StoreDirectory&) = delete;
  ~StoreDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

std::shared_ptr<Provider> open(std::string path, const Clock& clock) {
  // The promises do not depend on the disk; power loss has its own tests.
  return sqlite::open_provider(
             {.path = std::move(path), .clock = &clock, .durability = sqlite::Options::Durability::off})
      .value();
}

std::shared_ptr<Provider> open_file(const Clock& clock) {
  struct Kept {
    StoreDirectory directory;
    std::shared_ptr<Provider> provider;
  };
  auto kept = std::make_shared<Kept>();
  kept->provider = open(kept->directory.file("store.db"), clock);
  return {kept, kept->provider.get()};
}

std::shared_ptr<Provider> open_memory(const Clock& clock) { return open(":memory:", clock); }

const bool registered_file = register_conformance(with_manual_clock("sqlite_file", open_file));
const bool registered_memory = register_conformance(with_manual_clock("sqlite_memory", open_memory));

}  // namespace
}  // namespace duramen::testing
