#include "client/waits.hpp"

#include <atomic>
#include <string>
#include <utility>

#include "base/neighbourhood.hpp"

namespace duramen::inline v0::client {

namespace {
constexpr Duration poll_interval{5000};

InstanceState state_of(InstanceInfo info) {
  return InstanceState{info.status, std::move(info.output), std::move(info.failure)};
}
}  // namespace

class Waits::Wait {
 public:
  Wait(InstanceId i, Client::WaitDone d) : instance(std::move(i)), done(std::move(d)) {}
  const InstanceId instance;
  Client::WaitDone done;
  std::atomic<std::uint64_t> ticket{0};
  std::atomic<bool> ended{false};
  std::atomic<bool> started{true};  // false: its start is still on its way, so that the store need not know it yet
};

Waits::Waits(Store store)
    : store_(std::move(store)),
      provider_(*store_.provider()),
      background_(provider_.clock(), "dm-client"),
      subscription_(provider_.subscribe(NodeId{}, *this)) {
  background_.post_at(provider_.clock().lease_now() + poll_interval, [this] { poll(); });
}

void Waits::close() {
  subscription_.reset();
  background_.stop();
  // Whoever still waits is told so, rather than never.
  std::vector<Handle> left;
  {
    std::lock_guard lock(mutex_);
    for (auto& [instance, waits] : open_) left.insert(left.end(), waits.begin(), waits.end());
  }
  for (const Handle& wait : left) {
    end(wait, Error{ErrorCode::shutting_down, "wait", "the client is gone", false});
  }
}

Waits::Handle Waits::add(const InstanceId& instance, Client::WaitDone done, bool look_now) {
  auto wait = std::make_shared<Wait>(instance, std::move(done));
  wait->started = look_now;
  {
    std::lock_guard lock(mutex_);
    open_[instance].push_back(wait);
  }
  wait->ticket = store_.neighbourhood()->await_end(
      instance, [self = shared_from_this(), wait](const detail::EndedInstance& ended) {
        self->end(wait, InstanceState{ended.status, ended.output, ended.failure});
      });
  // It may have ended before the ticket was known; then there is nothing left to take back but the ticket itself.
  if (wait->ended) store_.neighbourhood()->stop_waiting(instance, wait->ticket);
  if (look_now) look(wait);
  return wait;
}

Result<InstanceState> Waits::wait(const InstanceId& instance, Duration timeout) {
  Once<Result<InstanceState>> answer;
  const Handle handle = add(instance, answer.setter(), true);
  if (auto state = answer.wait_for(timeout)) return std::move(*state);
  give_up(handle);
  return Error{ErrorCode::timed_out, "wait",
               "instance \"" + instance.value + "\" has not ended within " + std::to_string(timeout.count()) + " ms",
               true};
}

void Waits::look(const Handle& wait) {
  background_.post([this, wait] {
    if (wait->ended) return;
    auto info = provider_.get_instance(wait->instance);
    if (!info) {
      if (!info.error().retryable) end(wait, info.error());
      return;  // the poll looks again
    }
    if (!*info) {
      if (!wait->started) return;
      end(wait, Error{ErrorCode::not_found, "wait", "there is no instance \"" + wait->instance.value + "\"", false});
    } else if (is_final((*info)->status)) {
      end(wait, state_of(std::move(**info)));
    }
  });
}

void Waits::started(const Handle& wait, bool before) {
  wait->started = true;
  if (before) look(wait);
}

void Waits::fail(const Handle& wait, Error error) { end(wait, std::move(error)); }

void Waits::give_up(const Handle& wait) {
  if (wait->ended.exchange(true)) return;
  store_.neighbourhood()->stop_waiting(wait->instance, wait->ticket);
  std::lock_guard lock(mutex_);
  const auto found = open_.find(wait->instance);
  if (found == open_.end()) return;
  std::erase(found->second, wait);
  if (found->second.empty()) open_.erase(found);
}

/// Ends a wait once, whoever comes first.
void Waits::end(const Handle& wait, Result<InstanceState> state) {
  if (wait->ended.exchange(true)) return;
  store_.neighbourhood()->stop_waiting(wait->instance, wait->ticket);
  {
    std::lock_guard lock(mutex_);
    const auto found = open_.find(wait->instance);
    if (found != open_.end()) {
      std::erase(found->second, wait);
      if (found->second.empty()) open_.erase(found);
    }
  }
  wait->done(std::move(state));
}

void Waits::instances_changed(std::span<const ChangedInstance> instances) {
  std::vector<Handle> concerned;
  {
    std::lock_guard lock(mutex_);
    if (open_.empty()) return;
    if (instances.empty()) {
      if (std::exchange(looking_, true)) return;
    }
    for (const auto& [instance, status] : instances) {
      if (!is_final(status)) continue;
      const auto found = open_.find(instance);
      if (found != open_.end()) concerned.insert(concerned.end(), found->second.begin(), found->second.end());
    }
  }
  if (instances.empty()) return background_.post([this] { look_at_all(); });
  for (const Handle& wait : concerned) look(wait);
}

void Waits::look_at_all() {
  std::vector<Handle> all;
  {
    std::lock_guard lock(mutex_);
    looking_ = false;
    for (const auto& [instance, waits] : open_) all.insert(all.end(), waits.begin(), waits.end());
  }
  for (const Handle& wait : all) look(wait);
}

void Waits::poll() {
  look_at_all();
  background_.post_at(provider_.clock().lease_now() + poll_interval, [this] { poll(); });
}

}  // namespace duramen::v0::client
