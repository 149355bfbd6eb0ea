#include "runtime/session_keeper.hpp"

#include <utility>

namespace duramen::inline v0::runtime {

SessionKeeper::SessionKeeper(Env& env, Provider& provider, std::string owner, Duration lease, Duration idle,
                             const Log& log)
    : env_(env), provider_(provider), owner_(std::move(owner)), lease_(lease), idle_(idle), log_(log) {}

void SessionKeeper::claimed() {
  ever_.store(true);
  if (!keeping_.exchange(true)) schedule();
}

void SessionKeeper::schedule() {
  env_.lease_loop().post_at(env_.clock().lease_now() + lease_ / 3,
                            [this] { env_.run_elsewhere(Lane::leases, [this] { renew(); }); });
}

void SessionKeeper::renew() {
  if (released_.load()) return;
  const auto kept = provider_.renew_sessions({&owner_, 1}, lease_, idle_);
  if (!kept)
    log_(LogLevel::warning, "session renewal failed; retrying", {{"error", kept.error().describe()}});
  if (kept && *kept == 0) {
    keeping_.store(false);  // all idle: the next claim starts it again
    return;
  }
  schedule();
}

void SessionKeeper::release() {
  if (!ever_.load() || released_.exchange(true)) return;
  const auto released = provider_.release_sessions(owner_);
  if (!released)
    log_(LogLevel::warning, "releasing sessions failed; they end at their deadline",
         {{"error", released.error().describe()}});
}

}  // namespace duramen::inline v0::runtime
