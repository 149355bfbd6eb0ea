#include "bench/in_flight.hpp"

#include <stdexcept>
#include <utility>

namespace bench {

namespace dm = duramen;

InFlight::InFlight(dm::Client& client, std::string orchestration, std::string prefix, std::size_t width,
                   std::string input)
    : client_(client),
      orchestration_(std::move(orchestration)),
      prefix_(std::move(prefix)),
      input_(std::move(input)),
      lanes_(width) {}

InFlight::~InFlight() {
  stop();
  std::unique_lock lock(mutex_);
  all_left_.wait(lock, [this] { return active_ == 0; });
}

void InFlight::start(const Limit& limit) {
  limit_ = limit;
  active_ = lanes_.size();
  began_ = now();
  for (Lane& lane : lanes_) begin(lane);
}

void InFlight::stop() { stopped_ = true; }

void InFlight::wait() {
  std::unique_lock lock(mutex_);
  all_left_.wait(lock, [this] { return active_ == 0; });
  if (!problem_.empty()) throw std::runtime_error(problem_);
}

std::uint64_t InFlight::count() const {
  std::uint64_t count = 0;
  for (const Lane& lane : lanes_) count += lane.latencies_ms.size();
  return count;
}

std::vector<double> InFlight::latencies_ms() const {
  std::vector<double> all;
  for (const Lane& lane : lanes_) all.insert(all.end(), lane.latencies_ms.begin(), lane.latencies_ms.end());
  return all;
}

void InFlight::begin(Lane& lane) {
  const Instant time = now();
  if (stopped_ || (limit_.seconds && seconds_between(began_, time) >= *limit_.seconds)) return leave();
  const std::uint64_t number = next_++;
  if (limit_.count && number >= *limit_.count) return leave();
  dm::StartRequest request;
  request.instance = prefix_ + "-" + std::to_string(number);
  request.start.orchestration = orchestration_;
  request.start.input = dm::Payload::text(input_);
  lane.began = time;
  client_.run_async(std::move(request),
                    [this, &lane](const dm::Result<dm::InstanceState>& state) { ended(lane, state); });
}

void InFlight::ended(Lane& lane, const dm::Result<dm::InstanceState>& state) {
  if (state && state->status == dm::Status::completed) {
    lane.latencies_ms.push_back(milliseconds_between(lane.began, now()));
    return begin(lane);
  }
  {
    const std::lock_guard lock(mutex_);
    problem_ = "an instance of " + orchestration_ + " did not complete: " +
               (state ? std::string(dm::to_string(state->status)) : state.error().describe());
  }
  stop();
  leave();
}

void InFlight::leave() {
  // Notified under the lock: the waiter may destroy this object next.
  const std::lock_guard lock(mutex_);
  ended_ = now();
  if (--active_ == 0) all_left_.notify_all();
}

}  // namespace bench
