#include "runtime/gauges.hpp"

#include <duramen/detail/mutant.hpp>

#include <cstddef>
#include <limits>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

// Measured on SQLite with a million instances: 4 ms, and 10 ms where each has a result of 1.5 KiB. A
// checkpoint waits 20 ms for readers.
constexpr std::size_t instances_per_part = 10'000;
constexpr Duration pause_between_parts{25};

Lane lane() { return detail::mutant("gauges_share_the_store_lane") ? Lane::store : Lane::background; }

}  // namespace

Gauges::Gauges(Env& env, Provider& provider, detail::LocalHub& local_hub, Duration interval, const Log& log)
    : env_(env), provider_(provider), neighbourhood_(local_hub), interval_(interval), log_(log) {}

Gauges::~Gauges() { stop(); }

void Gauges::stop() {
  stopped_ = true;
  if (std::exchange(counting_, false)) neighbourhood_.end_count(std::nullopt);
}

void Gauges::start() {
  if (stopped_) return;
  const LeaseTime now = env_.clock().lease_now();
  env_.loop().post_at(now + interval_, [this] { start(); });
  if (counting_ || !neighbourhood_.begin_count(now, interval_)) return;
  counting_ = true;
  open_ = 0;
  count_depths();
}

void Gauges::count_depths() {
  env_.run_elsewhere(lane(), [this] {
    auto depths = provider_.get_queue_depths();
    env_.loop().post([this, depths = std::move(depths)] {
      gauges_ = {};
      if (depths) gauges_.depths = *depths;
      count_part({});
    });
  });
}

void Gauges::count_part(Incarnation after) {
  if (stopped_) return;
  env_.run_elsewhere(lane(), [this, after] {
    const std::size_t limit = detail::mutant("gauges_count_in_one_go")
                                  ? std::numeric_limits<std::int32_t>::max()
                                  : instances_per_part;
    auto part = provider_.count_instances(after, limit);
    env_.loop().post([this, part = std::move(part)] { take_part(part); });
  });
}

void Gauges::take_part(const Result<InstanceCount>& part) {
  if (stopped_) return;
  if (!part) {
    log_(LogLevel::warning, "the instances in the store could not be counted; the next interval tries again",
         {{"error", part.error().describe()}});
    return finish();
  }
  open_ += part->open();
  if (part->next) {
    env_.loop().post_at(env_.clock().lease_now() + pause_between_parts,
                        [this, next = part->next] { count_part(next); });
    return;
  }
  gauges_.open = open_;
  finish();
}

void Gauges::finish() {
  counting_ = false;
  neighbourhood_.end_count(gauges_);
}

}  // namespace duramen::inline v0::runtime
