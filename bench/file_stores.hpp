// Stores in a file of SQLite, and in memory.
#pragma once

#include "bench/bench_store.hpp"
#include <duramen/sqlite.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace bench {

class SqliteStore final : public BenchStore {
 public:
  explicit SqliteStore(const std::filesystem::path& parent);
  /// On an existing file, without syncing.
  SqliteStore(std::unique_ptr<ScratchDirectory> directory, const HelloTurns& turns, std::size_t finished);

  [[nodiscard]] const std::shared_ptr<duramen::Provider>& provider() const noexcept override {
    return provider_;
  }
  [[nodiscard]] StoreCounts counts() const override;
  [[nodiscard]] Spent spent_since(const StoreCounts& before) const override;
  [[nodiscard]] std::string address() const override { return "sqlite " + file(); }
  [[nodiscard]] double close_and_weigh() override;
  [[nodiscard]] std::string file() const { return (directory_->path() / "bench.db").string(); }

 private:
  std::unique_ptr<ScratchDirectory> directory_;
  std::shared_ptr<duramen::Provider> provider_;
};

class SqliteSource final : public StoreSource {
 public:
  explicit SqliteSource(std::filesystem::path parent) : parent_(std::move(parent)) {}

  [[nodiscard]] std::unique_ptr<BenchStore> make() const override {
    return std::make_unique<SqliteStore>(parent_);
  }
  [[nodiscard]] std::unique_ptr<BenchStore> make_with_finished(const HelloTurns& turns,
                                                               std::size_t count) const override;
  [[nodiscard]] std::string durability() const override { return "full"; }
  [[nodiscard]] bool on_this_disk() const override { return true; }

 private:
  const std::filesystem::path parent_;
};

class MemorySource final : public StoreSource {
 public:
  [[nodiscard]] std::unique_ptr<BenchStore> make() const override;
  [[nodiscard]] std::unique_ptr<BenchStore> make_with_finished(const HelloTurns& turns,
                                                               std::size_t count) const override;
  [[nodiscard]] std::string durability() const override { return "none"; }
  [[nodiscard]] bool on_this_disk() const override { return false; }
};

}  // namespace bench
