#include "bench/bench_store.hpp"

#include <duramen/testing/memory_provider.hpp>

#include <cstdlib>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

namespace bench {

ScratchDirectory::ScratchDirectory(const std::filesystem::path& parent) {
  std::string name = (parent / "duramen-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw std::runtime_error("cannot make a directory in " + parent.string());
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

BenchStore::BenchStore(const std::string& kind, const std::filesystem::path& parent) : directory_(parent) {
  if (kind == "memory") {
    provider_ = std::make_shared<duramen::testing::MemoryProvider>(duramen::system_clock());
  } else {
    provider_ = duramen::sqlite::open_provider({.path = file()}).value();
  }
}

std::string durability_of(const std::string& kind) { return kind == "sqlite" ? "full" : "none"; }

}  // namespace bench
