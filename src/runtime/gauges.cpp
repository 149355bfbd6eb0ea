#include "runtime/gauges.hpp"

#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace duramen::inline v0::runtime {

namespace {

// 10,000 of a million instances take SQLite 4 ms, and 10 ms where each has a result of 1.5 KiB. A slower disk
// or store gets smaller parts.
constexpr Duration time_of_a_part{25};
constexpr std::size_t least_per_part = 100;
constexpr std::size_t most_per_part = 10'000;
constexpr Duration pause_between_parts{25};

std::size_t next_size(std::size_t size, Duration took) {
  if (detail::mutant("gauges_read_parts_of_one_size")) return most_per_part;
  const auto in_time = size * static_cast<std::size_t>(time_of_a_part.count()) /
                       static_cast<std::size_t>(std::max(took, Duration{1}).count());
  return std::clamp(std::min(in_time, 2 * size), least_per_part, most_per_part);
}

Lane lane() { return detail::mutant("gauges_share_the_store_lane") ? Lane::store : Lane::background; }

}  // namespace

Gauges::Gauges(Env& env, Provider& provider, detail::LocalHub& hub, Duration interval, const Log& log)
    : env_(env), provider_(provider), hub_(hub), interval_(interval), log_(log) {}

Gauges::~Gauges() { stop(); }

void Gauges::stop() {
  stopped_ = true;
  if (std::exchange(counting_, false)) hub_.end_count(std::nullopt);
}

void Gauges::start() {
  if (stopped_) return;
  const LeaseTime now = env_.clock().lease_now();
  env_.loop().post_at(now + interval_, [this] { start(); });
  if (counting_ || !hub_.begin_count(now, interval_)) return;
  counting_ = true;
  open_ = 0;
  env_.run_elsewhere(lane(), [this] { call_get_queue_depths(); });
}

void Gauges::call_get_queue_depths() {
  auto depths = provider_.get_queue_depths();
  env_.loop().post([this, depths = std::move(depths)] { take_depths(depths); });
}

void Gauges::take_depths(const Result<QueueDepths>& depths) {
  gauges_ = {};
  if (depths) gauges_.depths = *depths;
  count_part({});
}

void Gauges::count_part(Incarnation after) {
  if (stopped_) return;
  env_.run_elsewhere(lane(), [this, after, size = part_size_] { call_count_instances(after, size); });
}

void Gauges::call_count_instances(Incarnation after, std::size_t size) {
  const std::size_t limit =
      detail::mutant("gauges_count_in_one_go") ? std::numeric_limits<std::int32_t>::max() : size;
  const LeaseTime began = env_.clock().lease_now();
  auto part = provider_.count_instances(after, limit);
  const Duration took = env_.clock().lease_now() - began;
  env_.loop().post([this, part = std::move(part), took] { take_part(part, took); });
}

void Gauges::take_part(const Result<InstanceCount>& part, Duration took) {
  part_size_ = next_size(part_size_, took);
  if (stopped_) return;
  if (!part) {
    log_(LogLevel::warning, "counting the instances in the store failed; retrying at the next interval",
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
  hub_.end_count(gauges_);
}

}  // namespace duramen::inline v0::runtime
