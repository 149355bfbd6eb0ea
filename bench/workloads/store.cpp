// store: turns, ends of activities and lease renewals on one thread, directly on the store and without an
// engine; compared with raw SQLite writing the same rows.

#include "bench/bench_store.hpp"
#include "bench/disk.hpp"
#include "bench/measure.hpp"
#include "bench/raw_rows.hpp"
#include "bench/workload.hpp"
#include "bench/workloads/hello_turns.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace dm = duramen;
using namespace std::chrono_literals;

namespace {

/// One kind of call, to a provider or to raw SQLite. Everything that is not the call itself is done in
/// prepare.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual void prepare() = 0;
  virtual void perform() = 0;
};

struct Timed {
  std::uint64_t count = 0;
  double seconds = 0;
  double cpu_seconds = 0;
  std::vector<double> calls_ms;
};

/// Grows the WAL and the file to their sizes.
void warm_up_store(Subject& subject, std::size_t width) {
  for (std::size_t done = 0; done < 2000; done += 2 * width) {
    for (int call = 0; call < 2; ++call) {
      subject.prepare();
      subject.perform();
    }
  }
}

/// Calls until a number of entries is done, or for a time.
Timed time_calls(Subject& subject, std::size_t width, std::optional<std::uint64_t> count, double seconds) {
  Timed timed;
  while (count ? timed.count < *count : timed.seconds < seconds) {
    subject.prepare();
    const double cpu_before = cpu_seconds();
    const Instant began = now();
    subject.perform();
    timed.calls_ms.push_back(milliseconds_between(began, now()));
    timed.seconds += timed.calls_ms.back() / 1e3;
    timed.cpu_seconds += cpu_seconds() - cpu_before;
    timed.count += width;
  }
  return timed;
}

// -- turns: first and second of a batch, in turn --------------------------------------------------

class ProviderTurns final : public Subject {
 public:
  ProviderTurns(dm::Provider& provider, const HelloTurns& turns, std::size_t width)
      : provider_(provider), turns_(turns), width_(width) {}

  void prepare() override {
    batch_.clear();
    for (std::size_t i = 0; i < width_; ++i) {
      batch_.push_back(created_.empty() ? turns_.first(number_ + i)
                                        : turns_.second(number_ + i, created_[i].incarnation));
    }
  }
  void perform() override {
    auto results = commit_all(provider_, batch_);
    if (created_.empty()) {
      created_ = std::move(results);
      return;
    }
    created_.clear();
    number_ += width_;
  }

 private:
  dm::Provider& provider_;
  const HelloTurns& turns_;
  const std::size_t width_;
  std::uint64_t number_ = 0;
  std::vector<dm::TurnCommit> batch_;
  std::vector<dm::CommitResult> created_;
};

class RawTurns final : public Subject {
 public:
  RawTurns(RawConnection& raw, std::size_t width) : raw_(raw), width_(width) {}
  void prepare() override {}
  void perform() override {
    if (std::exchange(begun_, !begun_)) {
      raw_.second_turns(number_, width_);
      number_ += width_;
    } else {
      raw_.first_turns(number_, width_);
    }
  }

 private:
  RawConnection& raw_;
  const std::size_t width_;
  std::uint64_t number_ = 0;
  bool begun_ = false;
};

// -- ends of activities ---------------------------------------------------------------------------

// Running activities, prepared in batches.
constexpr std::size_t stock = 1000;

class ProviderAcks final : public Subject {
 public:
  ProviderAcks(dm::Provider& provider, const HelloTurns& turns, std::size_t width)
      : provider_(provider), turns_(turns), width_(width) {}

  void prepare() override {
    batch_.clear();
    while (ready_.size() < width_) refill();
    batch_.assign(ready_.end() - static_cast<std::ptrdiff_t>(width_), ready_.end());
    ready_.resize(ready_.size() - width_);
  }
  void perform() override {
    const auto results = provider_.ack_activities(batch_).value();
    for (const dm::AckResult& result : results) {
      if (result.outcome != dm::AckOutcome::done)
        throw std::runtime_error("the end of an activity was not stored");
    }
  }

 private:
  void refill() {
    std::vector<dm::TurnCommit> firsts;
    for (std::size_t i = 0; i < stock; ++i) {
      firsts.push_back(turns_.first(number_ + i));
      firsts.back().activity_lease = 1h;
    }
    const auto created = commit_all(provider_, firsts);
    for (std::size_t i = 0; i < stock; ++i) ready_.push_back(turns_.ack(number_ + i, created[i].incarnation));
    number_ += stock;
  }

  dm::Provider& provider_;
  const HelloTurns& turns_;
  const std::size_t width_;
  std::uint64_t number_ = 0;
  std::vector<dm::ActivityAck> ready_;
  std::vector<dm::ActivityAck> batch_;
};

class RawAcks final : public Subject {
 public:
  RawAcks(RawConnection& raw, std::size_t width) : raw_(raw), width_(width) {}
  void prepare() override {
    while (made_ < number_ + width_) {
      raw_.first_turns(made_, stock);
      made_ += stock;
    }
  }
  void perform() override {
    raw_.acks(number_, width_);
    number_ += width_;
  }

 private:
  RawConnection& raw_;
  const std::size_t width_;
  std::uint64_t number_ = 0;
  std::uint64_t made_ = 0;
};

// -- renewals -------------------------------------------------------------------------------------

class ProviderRenewals final : public Subject {
 public:
  ProviderRenewals(dm::Provider& provider, const HelloTurns& turns, std::size_t width) : provider_(provider) {
    std::vector<dm::TurnCommit> firsts;
    for (std::size_t i = 0; i < width; ++i) {
      firsts.push_back(turns.first(i));
      firsts.back().activity_lease = 1h;
    }
    const auto created = commit_all(provider, firsts);
    for (std::size_t i = 0; i < width; ++i) renewals_.push_back({turns.ack(i, created[i].incarnation).lease});
  }
  // A new end every time: an unchanged one would not be written.
  void prepare() override { extend_ += 10s; }
  void perform() override {
    const auto results = provider_.renew_activities(renewals_, extend_).value();
    for (const dm::RenewResult& result : results) {
      if (result.outcome != dm::RenewOutcome::renewed) throw std::runtime_error("a lease was not renewed");
    }
  }

 private:
  dm::Provider& provider_;
  std::vector<dm::ActivityRenewal> renewals_;
  dm::Duration extend_ = 1h;
};

class RawRenewals final : public Subject {
 public:
  RawRenewals(RawConnection& raw, std::size_t width) : raw_(raw), width_(width) {
    raw_.first_turns(0, width_);
    raw_.sync_no_more();
  }
  void prepare() override { until_ += 10'000; }
  void perform() override { raw_.renewals(0, width_, until_); }

 private:
  RawConnection& raw_;
  const std::size_t width_;
  std::int64_t until_ = std::int64_t{1} << 48;
};

// -- pairs ----------------------------------------------------------------------------------------

struct Comparison {
  const Scene& scene;
  const HelloTurns& turns;
  const RawRows* rows;  ///< null: nothing to compare with
};

template <class Ours, class Raw>
void compare(const Comparison& comparison, const std::string& workload, std::size_t width) {
  const Scene& scene = comparison.scene;
  const Arguments& arguments = scene.arguments;
  const bool with_raw = comparison.rows != nullptr && arguments.pairs > 0;
  const std::size_t pairs = with_raw ? arguments.pairs : 1;
  Row row;
  std::vector<double> rates, raw_rates, calls_ms, disk;
  double cpu = 0;
  reset_peak_rss();
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    scene.progress(workload + " batch " + std::to_string(width) + ": pair " + std::to_string(pair + 1) +
                   " of " + std::to_string(pairs));
    if (arguments.on_sqlite()) disk.push_back(disk_rate(scene.directory, 0.25));
    Timed ours;
    {
      const auto store = scene.stores.make();
      Ours subject(*store->provider(), comparison.turns, width);
      warm_up_store(subject, width);
      const StoreCounts before = store->counts();
      ours = time_calls(subject, width, arguments.count, arguments.seconds);
      const Spent spent = store->spent_since(before);
      // Not for the ends of activities: they need new instances in between.
      if (arguments.on_sqlite() && workload != "store-acks") {
        row.syncs = spent.synced_commits / static_cast<double>(ours.count);
        row.row_writes = *spent.row_writes / static_cast<double>(ours.count);
      }
    }
    row.count += ours.count;
    row.seconds += ours.seconds;
    cpu += ours.cpu_seconds;
    rates.push_back(static_cast<double>(ours.count) / ours.seconds);
    calls_ms.insert(calls_ms.end(), ours.calls_ms.begin(), ours.calls_ms.end());
    if (!with_raw) continue;
    const ScratchDirectory directory(scene.directory);
    RawConnection raw((directory.path() / "raw.db").string(), *comparison.rows, true);
    Raw subject(raw, width);
    warm_up_store(subject, width);
    const Timed theirs = time_calls(subject, width, arguments.count, arguments.seconds);
    raw_rates.push_back(static_cast<double>(theirs.count) / theirs.seconds);
  }
  row.workload = workload;
  row.store = arguments.store;
  row.durability = workload == "store-renewals" ? "none" : scene.stores.durability();
  row.width = width;
  row.per_second = median(rates);
  row.cpu_cores = cpu / row.seconds;
  row.rss_mib = peak_rss_mib();
  set_percentiles(row, calls_ms);
  if (arguments.on_sqlite()) row.disk_rate = median(disk);
  if (with_raw) {
    row.raw_per_second = median(raw_rates);
    row.ratio = row.per_second / *row.raw_per_second;
  }
  scene.report.add(row);
}

}  // namespace

void run_store(Scene& scene) {
  const HelloTurns turns;
  std::optional<RawRows> rows;
  if (scene.arguments.on_sqlite()) rows.emplace(turns, scene.directory);
  const Comparison comparison{scene, turns, rows ? &*rows : nullptr};
  const std::vector<std::size_t> batches{1, 10, 100, 1000};
  const auto& asked = scene.arguments.widths;
  for (const std::size_t width : asked.empty() ? batches : asked) {
    compare<ProviderTurns, RawTurns>(comparison, "store", width);
    compare<ProviderAcks, RawAcks>(comparison, "store-acks", width);
    compare<ProviderRenewals, RawRenewals>(comparison, "store-renewals", width);
  }
}

}  // namespace bench
