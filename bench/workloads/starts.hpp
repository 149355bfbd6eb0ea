// Starts very many instances, with a limited number in flight.
#pragma once

#include <duramen/client.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace bench {

class Starts {
 public:
  explicit Starts(duramen::Client& client) : client_(client) {}

  /// Instances `prefix`-from to `prefix`-(to - 1). Returns when all of them are durable.
  void run(const std::string& prefix, const std::string& orchestration, std::uint64_t from,
           std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return open_ < in_flight; });
        ++open_;
      }
      duramen::StartRequest request;
      request.instance = duramen::InstanceId(prefix + "-" + std::to_string(i));
      request.start.orchestration = orchestration;
      request.start.input = duramen::Payload::none();
      client_.start_async(std::move(request), [this](const duramen::Result<duramen::StartOutcome>& outcome) {
        const std::lock_guard lock(mutex_);
        if (!outcome) problem_ = outcome.error().describe();
        --open_;
        changed_.notify_all();
      });
    }
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ == 0; });
    if (!problem_.empty()) throw std::runtime_error(problem_);
  }

 private:
  static constexpr std::uint64_t in_flight = 2000;

  duramen::Client& client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t open_ = 0;
  std::string problem_;
};

}  // namespace bench
