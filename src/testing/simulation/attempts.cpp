#include "testing/simulation/attempts.hpp"

#include <algorithm>
#include <stop_token>

namespace duramen::inline v0::testing {

/// Lives as long as the attempt: on the stack of the function, or in the frame of the coroutine.
class AttemptLog::Watch {
 public:
  Watch(AttemptLog& log, const NodeId& node, const ActivityContext& context)
      : log_(log),
        attempt_(log.attempts_.emplace_back()),
        context_(context),
        stopped_(enter(node), Stopped{*this}) {}
  ~Watch() {
    if (!attempt_.node_died) attempt_.ended = log_.clock_.lease_now();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  struct Stopped {
    Watch& watch;
    void operator()() const {
      watch.attempt_.stopped = watch.log_.clock_.lease_now();
      watch.attempt_.cause = watch.context_.stop_cause();
      watch.attempt_.reason = watch.context_.cancel_reason();
    }
  };
  std::stop_token enter(const NodeId& node) {
    attempt_.node = node;
    attempt_.instance = context_.instance_id();
    attempt_.key = {{}, context_.execution_id(), context_.activity_id()};
    attempt_.name = context_.activity_name();
    attempt_.attempt = context_.attempt();
    attempt_.began = log_.clock_.lease_now();
    return context_.stop_token();
  }

  AttemptLog& log_;
  ActivityAttempt& attempt_;
  const ActivityContext context_;
  std::stop_callback<Stopped> stopped_;
};

namespace {

struct Orchestration {
  std::shared_ptr<const OrchestrationHandler> handler;
  Task<Payload> operator()(OrchestrationContext& ctx, Payload input) const {
    return handler->invoke(ctx, std::move(input));
  }
};

}  // namespace

Registry AttemptLog::watched(const Registry& registry, const NodeId& node) {
  Registry copy;
  for (const auto& [name, versions] : registry.orchestrations()) {
    for (const std::string& version : versions) {
      auto handler = registry.find_orchestration(name, version);
      OrchestrationOptions options(version);
      if (handler->graceful) options.graceful();
      copy.add(name, Orchestration{handler}, options);
    }
  }
  for (const std::string& name : registry.activity_names()) {
    auto handler = registry.find_activity(name);
    if (std::holds_alternative<ActivityHandler::Function>(handler->run)) {
      copy.add(name, [this, node, handler](ActivityContext& ctx, Payload input) -> Payload {
        const Watch watch(*this, node, ctx);
        return std::get<ActivityHandler::Function>(handler->run)(ctx, input);
      });
    } else {
      // The registry keeps the lambda as long as its frames live, so they may refer to it.
      copy.add(name, [this, node, handler](ActivityContext& ctx, Payload input) -> ActivityTask<Payload> {
        const Watch watch(*this, node, ctx);
        auto task = std::get<ActivityHandler::Coroutine>(handler->run)(ctx, std::move(input));
        auto result = co_await std::move(task);
        co_return result;
      });
    }
  }
  return copy;
}

void AttemptLog::node_died(const NodeId& node) {
  for (ActivityAttempt& attempt : attempts_) {
    if (attempt.node == node && !attempt.ended) attempt.node_died = true;
  }
}

bool AttemptLog::running() const {
  return std::ranges::any_of(attempts_,
                             [](const auto& attempt) { return !attempt.ended && !attempt.node_died; });
}

}  // namespace duramen::inline v0::testing
