#include "bench/file_stores.hpp"

#include "bench/raw_rows.hpp"
#include <duramen/testing/memory_provider.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace bench {

namespace dm = duramen;

SqliteStore::SqliteStore(const std::filesystem::path& parent)
    : directory_(std::make_unique<ScratchDirectory>(parent)),
      provider_(dm::sqlite::open_provider({.path = file()}).value()) {}

SqliteStore::SqliteStore(std::unique_ptr<ScratchDirectory> directory, const HelloTurns& turns,
                         std::size_t finished)
    : directory_(std::move(directory)) {
  const RawRows rows(turns, directory_->path());
  {
    RawConnection raw(file(), rows, false);
    constexpr std::size_t piece = 10'000;
    for (std::size_t done = 0; done < finished; done += piece)
      raw.finished(done, std::min(piece, finished - done));
  }
  provider_ =
      dm::sqlite::open_provider({.path = file(), .durability = dm::sqlite::Options::Durability::off}).value();
}

StoreCounts SqliteStore::counts() const {
  const dm::sqlite::Counters counters = dm::sqlite::counters(*provider_);
  return {.synced_commits = counters.synced_commits, .row_writes = counters.row_writes};
}

Spent SqliteStore::spent_since(const StoreCounts& before) const {
  const StoreCounts after = counts();
  return {.synced_commits = static_cast<double>(after.synced_commits - before.synced_commits),
          .row_writes = static_cast<double>(after.row_writes - before.row_writes)};
}

double SqliteStore::close_and_weigh() {
  provider_.reset();  // checkpoints the WAL
  return static_cast<double>(std::filesystem::file_size(file()));
}

std::unique_ptr<BenchStore> SqliteSource::make_with_finished(const HelloTurns& turns,
                                                             std::size_t count) const {
  return std::make_unique<SqliteStore>(std::make_unique<ScratchDirectory>(parent_), turns, count);
}

namespace {

class MemoryStore final : public BenchStore {
 public:
  [[nodiscard]] const std::shared_ptr<dm::Provider>& provider() const noexcept override { return provider_; }
  [[nodiscard]] StoreCounts counts() const override { return {}; }
  [[nodiscard]] Spent spent_since(const StoreCounts& /*before*/) const override { return {}; }
  [[nodiscard]] std::string address() const override {
    throw std::logic_error("a store in memory has no address");
  }
  [[nodiscard]] double close_and_weigh() override { throw std::logic_error("a store in memory has no file"); }

 private:
  std::shared_ptr<dm::Provider> provider_ = std::make_shared<dm::testing::MemoryProvider>(dm::system_clock());
};

}  // namespace

std::unique_ptr<BenchStore> MemorySource::make() const { return std::make_unique<MemoryStore>(); }

std::unique_ptr<BenchStore> MemorySource::make_with_finished(const HelloTurns& /*turns*/,
                                                             std::size_t /*count*/) const {
  throw std::logic_error("finished instances in memory are not asked for");
}

}  // namespace bench
