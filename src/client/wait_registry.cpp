#include "client/wait_registry.hpp"

#include "base/time_text.hpp"
#include "client/errors.hpp"
#include "store/local_hub.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace duramen::inline v0::client {

namespace {

constexpr Duration poll_interval{5000};

Result<std::optional<InstanceState>> end_of(Provider& provider, const InstanceId& instance) {
  auto info = provider.get_instance(instance);
  if (!info) return info.error();
  if (!*info) return no_instance("wait", instance);
  if (!is_final((*info)->status)) return std::optional<InstanceState>{};
  return std::optional(
      InstanceState{(*info)->status, std::move((*info)->output), std::move((*info)->failure)});
}

// Below this number instances are read one by one; that also detects deleted ones.
constexpr std::size_t many = 4;
constexpr std::size_t ids_per_query = 1000;
// Checks take at most a tenth of the time, unless the pause reaches its limit.
constexpr int pause_factor = 10;
constexpr Duration longest_pause{200};

/// The instances that have ended, found by one query for many ids; all ids if a query is not worthwhile or
/// fails.
std::vector<InstanceId> ended_among(Provider& provider, std::vector<InstanceId> ids) {
  if (ids.size() < many) return ids;
  std::vector<InstanceId> ended;
  for (std::size_t from = 0; from < ids.size(); from += ids_per_query) {
    const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(from);
    const std::size_t count = std::min(ids_per_query, ids.size() - from);
    InstanceQuery query;
    query.filter.ids.emplace(begin, begin + static_cast<std::ptrdiff_t>(count));
    query.filter.statuses = {Status::completed, Status::failed, Status::cancelled};
    query.limit = count;
    const auto page = provider.list_instances(query);
    if (!page) return ids;
    for (const InstanceInfo& info : page->instances) ended.push_back(info.instance);
  }
  return ended;
}

}  // namespace

WaitRegistry::WaitRegistry(Store store)
    : store_(std::move(store)),
      provider_(*store_.provider()),
      background_(provider_.clock(), "dm-client"),
      subscription_(provider_.subscribe(NodeId{}, *this)) {
  background_.post_at(provider_.clock().lease_now() + poll_interval, [this] { poll(); });
}

void WaitRegistry::close() {
  subscription_.reset();
  background_.stop();
  // Pending waits fail instead of waiting forever.
  std::vector<Handle> left;
  {
    std::lock_guard lock(mutex_);
    for (auto& [instance, waits] : open_) left.insert(left.end(), waits.begin(), waits.end());
  }
  for (const Handle& wait : left) {
    fail(wait, Error{ErrorCode::shutting_down, "wait", "the client was destroyed", false});
  }
}

// -- pending waits ------------------------------------------------------------------------------------------

void WaitRegistry::add(const Handle& wait) {
  std::lock_guard lock(mutex_);
  open_[wait->instance].push_back(wait);
}

WaitRegistry::Handle WaitRegistry::add_end(const InstanceId& instance, Client::WaitDone done,
                                           bool check_now) {
  auto wait = std::make_shared<WaitForEnd>(instance, Interest::end, end_of, std::move(done));
  wait->started = check_now;
  add(wait);
  const std::uint64_t ticket = store_.local_hub()->await_end(
      instance, [self = shared_from_this(), wait](const detail::EndedInstance& ended) {
        if (self->claim(wait)) wait->complete(InstanceState{ended.status, ended.output, ended.failure});
      });
  bool too_late = false;
  {
    std::lock_guard lock(mutex_);
    wait->ticket = ticket;
    too_late = wait->ended;
  }
  // The wait may have ended before the ticket was known; then only the ticket must be returned.
  if (too_late) store_.local_hub()->stop_waiting(instance, ticket);
  if (check_now) check_store(wait);
  return wait;
}

Result<InstanceState> WaitRegistry::wait_for_end(const InstanceId& instance, Duration timeout) {
  OneShot<Result<InstanceState>> answer;
  const Handle wait = add_end(instance, answer.setter(), true);
  return answer_of(answer, wait, timeout, "wait", "ended");
}

void WaitRegistry::started(const Handle& wait, bool before) {
  wait->started = true;
  if (before) check_store(wait);
}

void WaitRegistry::fail(const Handle& wait, Error error) {
  if (claim(wait)) wait->fail(std::move(error));
}

bool WaitRegistry::claim(const Handle& wait) {
  std::uint64_t ticket = 0;
  {
    std::lock_guard lock(mutex_);
    if (wait->ended.exchange(true)) return false;
    ticket = wait->ticket;
    const auto found = open_.find(wait->instance);
    if (found != open_.end()) {
      std::erase(found->second, wait);
      if (found->second.empty()) open_.erase(found);
    }
  }
  if (ticket != 0) store_.local_hub()->stop_waiting(wait->instance, ticket);
  return true;
}

Error WaitRegistry::timed_out(const PendingWait& wait, Duration timeout, const char* operation,
                              const std::string& what) {
  return Error{
      ErrorCode::timed_out, operation,
      "instance \"" + wait.instance.value + "\" has not " + what + " within " + base::in_words(timeout),
      true};
}

// -- checking the store -------------------------------------------------------------------------------------

void WaitRegistry::check_store(const Handle& wait) {
  if (wait->check_queued.exchange(true)) return;  // the queued check will see it
  background_.post([this, wait] {
    wait->check_queued = false;
    if (wait->ended) return;
    if (auto answer = wait->check_store(provider_); answer && claim(wait)) (*answer)();
  });
}

void WaitRegistry::instances_changed(std::span<const ChangedInstance> instances) {
  std::vector<Handle> concerned;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [instance, status, decided_by] : instances) {
      const auto found = open_.find(instance);
      if (found == open_.end()) continue;
      // A runtime in this process announces the ends it commits, with the result.
      const bool needs_check = is_final(status) && !store_.local_hub()->announces(decided_by);
      for (const Handle& wait : found->second) {
        if (wait->interest == Interest::any_change || needs_check) concerned.push_back(wait);
      }
    }
  }
  for (const Handle& wait : concerned) check_store(wait);
}

void WaitRegistry::unknown_instances_changed() {
  {
    std::lock_guard lock(mutex_);
    if (open_.empty() || std::exchange(looking_, true)) return;
  }
  background_.post([this] { check_after_hint(); });
}

void WaitRegistry::check_all() {
  std::vector<Handle> all;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [instance, waits] : open_) all.insert(all.end(), waits.begin(), waits.end());
  }
  for (const Handle& wait : all) check_store(wait);
}

/// Another process has changed instances, most of them without a waiter here: a wait for an end is checked
/// only if the instance has ended.
void WaitRegistry::check_after_hint() {
  const Clock& clock = provider_.clock();
  const LeaseTime began = clock.lease_now();
  if (began < next_check_) return background_.post_at(next_check_, [this] { check_after_hint(); });
  std::vector<Handle> to_check;
  std::unordered_map<InstanceId, std::vector<Handle>> ends;
  {
    std::lock_guard lock(mutex_);
    looking_ = false;
    for (const auto& [instance, waits] : open_) {
      for (const Handle& wait : waits) {
        if (wait->interest == Interest::end) {
          ends[instance].push_back(wait);
        } else {
          to_check.push_back(wait);
        }
      }
    }
  }
  std::vector<InstanceId> ids;
  for (const auto& [instance, waits] : ends) ids.push_back(instance);
  for (const InstanceId& ended : ended_among(provider_, std::move(ids))) {
    const std::vector<Handle>& waits = ends[ended];
    to_check.insert(to_check.end(), waits.begin(), waits.end());
  }
  for (const Handle& wait : to_check) check_store(wait);
  // Runs after all those checks and measures their duration.
  background_.post([this, &clock, began] {
    const LeaseTime now = clock.lease_now();
    if (clock.moves_by_itself()) next_check_ = now + std::min((now - began) * pause_factor, longest_pause);
  });
}

void WaitRegistry::poll() {
  check_all();
  background_.post_at(provider_.clock().lease_now() + poll_interval, [this] { poll(); });
}

}  // namespace duramen::inline v0::client
