// A fresh store for one run.
#pragma once

#include <duramen/provider.hpp>
#include <duramen/sqlite.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace bench {

/// A fresh directory, removed with everything in it.
class ScratchDirectory {
 public:
  explicit ScratchDirectory(const std::filesystem::path& parent);
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

/// Opens an empty store of the kind named; closed and removed with this object.
class BenchStore {
 public:
  BenchStore(const std::string& kind, const std::filesystem::path& parent);

  [[nodiscard]] const std::shared_ptr<duramen::Provider>& provider() const noexcept { return provider_; }
  /// Zero in memory.
  [[nodiscard]] duramen::sqlite::Counters counters() const { return duramen::sqlite::counters(*provider_); }
  [[nodiscard]] std::string file() const { return (directory_.path() / "bench.db").string(); }

 private:
  ScratchDirectory directory_;
  std::shared_ptr<duramen::Provider> provider_;
};

/// What a promise to keep something is worth in a store of this kind: "full" or "none".
[[nodiscard]] std::string durability_of(const std::string& kind);

}  // namespace bench
