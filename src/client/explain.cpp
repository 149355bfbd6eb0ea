// Explains the state of an instance. The open operations in its history are its waits; the queues show their
// progress.
#include "base/time_text.hpp"
#include "client/arguments.hpp"
#include "client/errors.hpp"
#include "client/explanation_text.hpp"
#include "client/history_scan.hpp"
#include "client/impl.hpp"
#include <duramen/client.hpp>
#include <duramen/detail/mutant.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace duramen::inline v0 {

namespace {

using client::ago;
using client::name_of;
using Finding = Explanation::Finding;
using Kind = Waiting::Kind;

/// Limits of the search for a stuck child: depth of the tree, and children of one parent.
constexpr int max_depth = 8;
constexpr std::size_t max_children = 20;

std::string times(std::uint32_t attempts) {
  return attempts == 1 ? "once" : std::to_string(attempts) + " times";
}

class Explainer {
 public:
  Explainer(Provider& provider, const ExplainOptions& options)
      : provider_(provider), options_(options), now_(provider.clock().now()) {}

  Result<Explanation> explain(const InstanceId& instance, int depth = 0) {
    auto info = client::find_instance(provider_, instance);
    if (!info) return info.error();
    if (!*info) return client::no_instance("explain", instance);
    Explanation result;
    result.info = std::move(**info);
    if (result.info.unreadable) {
      const std::string why = *result.info.unreadable;
      return unreadable(std::move(result), "the store's record of it cannot be read: ", why);
    }
    auto history = provider_.read_history(instance, result.info.execution, EventId{});
    if (!history && history.error().code == ErrorCode::corrupt && is_final(result.info.status)) {
      // It need not continue, so it is not stuck.
      result = finished(std::move(result));
      result.text += "Its history cannot be read: " + history.error().message + "\n";
      return result;
    }
    if (!history && history.error().code == ErrorCode::corrupt) {
      return unreadable(std::move(result), "its history cannot be read: ", history.error().message);
    }
    if (!history) return history.error();
    auto pending = provider_.list_pending_work(instance);
    // If the store cannot list its queues, the explanation uses history alone.
    const bool blind = !pending && pending.error().code == ErrorCode::invalid_argument;
    if (!pending && !blind) return pending.error();

    client::HistoryScan steps = client::read_steps(*history);
    result.cancelled = std::move(steps.cancelled);
    result.cancel_request = std::move(steps.cancel_request);
    if (!is_final(result.info.status)) {
      const PendingWork* queues = pending ? &*pending : nullptr;
      result.in_turn = queues && queues->leased;
      result.waits = std::move(steps.open);
      if (queues) drop_forgotten_timers(result, *queues);
      for (Waiting& wait : result.waits) {
        if (Result<void> told = tell(wait, result.info.execution, queues); !told) return told.error();
      }
      if (auto finding = hindrance(result, queues, depth)) result.findings.push_back(*std::move(finding));
      if (queues) result.queued_cancel = queued_cancel(result, *queues);
      if (needs_other_nodes(result.info)) result.status = missing_code(result.info, queues);
      if (depth == 0 && result.info.parent) {
        if (auto reason = orphaned(*result.info.parent))
          add(result, Finding::Kind::orphan, *std::move(reason));
      }
    }
    return finished(std::move(result));
  }

 private:
  static void add(Explanation& to, Finding::Kind kind, std::string text) {
    to.findings.push_back({kind, to.info.instance, std::move(text)});
  }
  Result<Explanation> unreadable(Explanation result, const char* what, const std::string& why) const {
    add(result, Finding::Kind::stuck, what + why);
    return finished(std::move(result));
  }
  [[nodiscard]] Explanation finished(Explanation result) const {
    result.status.insert(0, client::status_sentence(result.info, now_));
    for (const Finding& finding : result.findings) {
      if (finding.kind == Finding::Kind::stuck) result.stuck = finding.text;
    }
    result.text = client::full_text(result, now_);
    return result;
  }

  /// The strongest of those that no turn has taken.
  static std::optional<CancelRequest> queued_cancel(const Explanation& result, const PendingWork& queues) {
    std::optional<CancelRequest> found;
    if (detail::mutant("queued_cancels_are_anonymous")) return found;
    for (const PendingMessage& message : queues.messages) {
      if (!message.cancel || (found && found->mode >= message.cancel->mode)) continue;
      const event::OrchestrationCancelRequested& asked = *message.cancel;
      found = CancelRequest{asked.reason, asked.mode,         asked.origin,
                            std::nullopt, message.visible_at, asked.requested_by};
      if (asked.origin == CancelOrigin::parent && result.info.parent)
        found->parent = result.info.parent->instance;
    }
    return found;
  }

  /// A dropped timer leaves no event; it is recognised because its message is no longer queued.
  static void drop_forgotten_timers(Explanation& result, const PendingWork& queues) {
    if (queues.more_messages) return;
    std::erase_if(result.waits, [&](const Waiting& wait) {
      return wait.kind == Kind::timer && !message_about(wait, result.info.execution, queues);
    });
  }

  static const PendingMessage* message_about(const Waiting& wait, ExecutionId execution,
                                             const PendingWork& queues) {
    const auto found = std::ranges::find_if(queues.messages, [&](const PendingMessage& message) {
      return message.execution == execution && message.event == wait.event;
    });
    return found == queues.messages.end() ? nullptr : &*found;
  }

  // -- what it waits for ---

  Result<void> tell(Waiting& wait, ExecutionId execution, const PendingWork* queues) {
    wait.text = name_of(wait.kind, wait.event, wait.name);
    switch (wait.kind) {
      case Kind::activity:
        if (queues) tell_activity(wait, execution, *queues);
        return {};
      case Kind::timer:
        wait.text += *wait.due > now_ ? ": due in " + base::in_words(*wait.due - now_)
                                      : ": due " + ago(*wait.due, now_);
        wait.text += ", at " + base::to_iso8601(*wait.due);
        return {};
      case Kind::event:
      case Kind::queue:
        wait.text += ", since " + base::in_words(now_ - wait.since);
        return {};
      case Kind::child:
        return tell_child(wait);
    }
    return {};
  }

  void tell_activity(Waiting& wait, ExecutionId execution, const PendingWork& queues) const {
    const auto row = std::ranges::find_if(queues.activities, [&](const PendingActivity& activity) {
      return activity.execution == execution && activity.activity == wait.event;
    });
    wait.text += ", scheduled " + ago(wait.since, now_);
    if (row == queues.activities.end()) {
      wait.text += message_about(wait, execution, queues) ? ": has ended, its result is on its way"
                                                          : ": is no longer queued";
      return;
    }
    wait.node = row->owner;
    wait.attempt = row->attempt;
    if (!row->owner.empty()) {
      wait.text += ": runs on node " + row->owner.value + ", attempt " + std::to_string(row->attempt);
      return;
    }
    if (row->visible_at > now_) {
      wait.due = row->visible_at;
      wait.text += ": may be tried again in " + base::in_words(row->visible_at - now_);
    } else {
      wait.text += ": waits for a worker";
    }
    if (wait.tag) wait.text += " that takes the tag '" + *wait.tag + "'";
    if (wait.session) wait.text += " (session '" + *wait.session + "')";
    wait.text +=
        row->attempt == 0 ? "; not taken yet" : "; was handed out " + times(row->attempt) + " before";
  }

  Result<void> tell_child(Waiting& wait) {
    auto child = client::find_instance(provider_, wait.child);
    if (!child) return child.error();
    wait.text += ", instance \"" + wait.child.value + "\": ";
    if (!*child) {
      wait.text += "does not exist";
      return {};
    }
    wait.child_status = (*child)->status;
    wait.text += is_final((*child)->status) ? "has ended, its answer is on its way"
                                            : client::status_sentence(**child, now_);
    return {};
  }

  // -- what keeps it from going on ---

  [[nodiscard]] bool long_ago(TimePoint then) const { return now_ - then >= options_.long_time; }

  /// The first obstacle: the instance's own before those below it, those that need a repair before those that
  /// may resolve themselves.
  std::optional<Finding> hindrance(const Explanation& e, const PendingWork* queues, int depth) {
    const auto own = [&](Finding::Kind kind, std::string text) {
      return Finding{kind, e.info.instance, std::move(text)};
    };
    if (queues) {
      if (auto reason = stuck_messages(e.info, *queues)) return own(Finding::Kind::stuck, *std::move(reason));
    }
    for (const Waiting& wait : e.waits) {
      if (wait.kind != Kind::activity) continue;
      if (auto reason = stuck_activity(wait, queues)) return own(Finding::Kind::stuck, *std::move(reason));
    }
    if (auto reason = lost_child(e.waits)) return own(Finding::Kind::stuck, *std::move(reason));
    std::vector<Finding> below = hindered_children(e.waits, depth);
    const auto first = [&](Finding::Kind kind) { return std::ranges::find(below, kind, &Finding::kind); };
    if (const auto child = first(Finding::Kind::stuck); child != below.end()) return *child;
    for (const Waiting& wait : e.waits) {
      if (wait.kind != Kind::activity) continue;
      if (auto reason = let_go_activity(e.info, wait, queues)) {
        return own(Finding::Kind::let_go, *std::move(reason));
      }
    }
    if (const auto child = first(Finding::Kind::let_go); child != below.end()) return *child;
    if (!queues || !queues->messages.empty() || queues->leased) return std::nullopt;
    if (e.waits.empty()) {
      if (!long_ago(e.info.updated_at)) return std::nullopt;
      return own(Finding::Kind::stuck,
                 "it waits for nothing that could come; its code awaits something that is not recorded");
    }
    // Any other wait, such as a timer, lets it continue.
    const auto mail = static_cast<std::size_t>(std::ranges::count_if(e.waits, is_mail));
    if (mail + below.size() != e.waits.size()) return std::nullopt;
    const bool recent = std::ranges::any_of(
        e.waits, [&](const Waiting& wait) { return is_mail(wait) && !long_ago(wait.since); });
    if (recent) return std::nullopt;
    return below.empty() ? own(Finding::Kind::unsent, unsent_mail(e.waits)) : below.front();
  }

  static bool is_mail(const Waiting& wait) { return wait.kind == Kind::event || wait.kind == Kind::queue; }

  [[nodiscard]] static std::string orchestration_of(const InstanceInfo& info) {
    return "the orchestration '" + info.name + "'" +
           (info.version.empty() ? "" : " in version " + info.version);
  }

  /// True if nodes are known to be live, and none of them fits.
  template <class Fits>
  bool missing_on_live_nodes(Fits fits) {
    if (!nodes_) {
      // Without an answer no node is known.
      if (auto listed = provider_.list_nodes())
        nodes_ = *std::move(listed);
      else
        nodes_.emplace();
      std::erase_if(*nodes_, [&](const NodeRecord& node) { return !node.is_live(now_); });
    }
    return !nodes_->empty() && std::ranges::none_of(*nodes_, fits);
  }

  /// True if nodes are live, and none of them can take its next turn.
  bool needs_other_nodes(const InstanceInfo& info) {
    const bool by_any_node = info.cancel_asked && (info.cancel_asked == CancelMode::terminate ||
                                                   !info.graceful || info.status == Status::pending);
    return !by_any_node &&
           missing_on_live_nodes([&](const NodeRecord& node) { return node.runs(info.name, info.version); });
  }

  /// Said even while it waits for something else: the end of that wait would change nothing.
  std::string missing_code(const InstanceInfo& info, const PendingWork* queues) const {
    if (queues && waiting_message(*queues)) return "; it waits for a node that has " + orchestration_of(info);
    if (detail::mutant("missing_code_is_named_late")) return {};
    return "; no live node has " + orchestration_of(info) + ", which it needs to go on";
  }

  /// The message that a node could take now and that has been due longest.
  [[nodiscard]] const PendingMessage* waiting_message(const PendingWork& queues) const {
    if (queues.leased || queues.not_before > now_) return nullptr;
    const auto due = [this](const PendingMessage& message) { return message.visible_at <= now_; };
    const auto found = std::ranges::find_if(queues.messages, due);
    return found == queues.messages.end() ? nullptr : &*found;
  }

  std::optional<std::string> stuck_messages(const InstanceInfo& info, const PendingWork& queues) {
    for (const PendingMessage& message : queues.messages) {
      if (message.unreadable) {
        return "a message to it cannot be read: " + *message.unreadable +
               "; was it written by another program or a newer Duramen?";
      }
    }
    if (queues.attempt >= options_.many_attempts) {
      return "it was handed out " + times(queues.attempt) +
             " and no turn was stored: the log of the runtime that took it has the reason (code that is "
             "not "
             "registered, a crash, a turn that never ends)";
    }
    const PendingMessage* waiting = waiting_message(queues);
    if (waiting == nullptr) return std::nullopt;
    // Nodes may be about to start, or to take it.
    const bool patient = !detail::mutant("explain_has_no_patience") || !needs_other_nodes(info);
    if (patient && !long_ago(std::max(waiting->visible_at, queues.not_before))) return std::nullopt;
    std::string text = "a message to it (" + waiting->type + ") has been waiting for " +
                       base::in_words(now_ - waiting->visible_at) + " and no node has taken it: ";
    if (!needs_other_nodes(info))
      return text + "is a runtime up that has " + orchestration_of(info) + " registered?";
    text += "no live node has " + orchestration_of(info);
    if (info.cancel_asked) text += "; its clean-up needs the code, and a cancel with mode terminate does not";
    return text;
  }

  std::optional<std::string> stuck_activity(const Waiting& wait, const PendingWork* queues) {
    const std::string activity = name_of(wait.kind, wait.event, wait.name);
    if (wait.attempt >= options_.many_attempts) {
      return activity + " was handed out " + times(wait.attempt) +
             " without an end: it fails to return, or the processes that run it die";
    }
    if (!queues || !wait.node.empty() || wait.attempt != 0 || wait.due || !long_ago(wait.since))
      return std::nullopt;
    const bool queued = std::ranges::any_of(queues->activities, [&](const PendingActivity& row) {
      return row.activity == wait.event && row.name == wait.name;
    });
    if (!queued) return std::nullopt;
    std::string reason =
        "no worker has taken " + activity + " in " + base::in_words(now_ - wait.since) + ": ";
    const auto takes = [&](const NodeRecord& node) {
      return node.tags.accepts(wait.tag) &&
             std::ranges::find(node.activities, wait.name) != node.activities.end();
    };
    if (missing_on_live_nodes(takes))
      return reason + "no live node has it" + (wait.tag ? " and takes the tag '" + *wait.tag + "'" : "");
    reason += "is a runtime up that has it registered";
    if (wait.tag) reason += " and takes the tag '" + *wait.tag + "'";
    if (wait.session) reason += ", and is the owner of session '" + *wait.session + "' free";
    return reason + "?";
  }

  /// Handed out before, and not held by a node now. While a node serves the store this lasts only a moment.
  std::optional<std::string> let_go_activity(const InstanceInfo& info, const Waiting& wait,
                                             const PendingWork* queues) const {
    if (!queues || !wait.node.empty() || wait.attempt == 0 || wait.due || !long_ago(info.updated_at))
      return std::nullopt;
    return name_of(wait.kind, wait.event, wait.name) + " was handed out " + times(wait.attempt) +
           ", came back without a result, and no worker has taken it since: a node died or released it; is a "
           "runtime up that has it registered?";
  }

  std::optional<std::string> lost_child(const std::vector<Waiting>& waits) const {
    for (const Waiting& wait : waits) {
      if (wait.kind != Kind::child || wait.child_status || !long_ago(wait.since)) continue;
      return "its sub-orchestration \"" + wait.child.value +
             "\" does not exist any more; cancel this instance";
    }
    return std::nullopt;
  }

  /// The obstacles of the open children it waits for, at most one finding for each.
  std::vector<Finding> hindered_children(const std::vector<Waiting>& waits, int depth) {
    std::vector<Finding> found;
    std::size_t looked_at = 0;
    for (const Waiting& wait : waits) {
      if (wait.kind != Kind::child || !wait.child_status || is_final(*wait.child_status)) continue;
      if (depth == max_depth || ++looked_at > max_children) break;
      Result<Explanation> child = explain(wait.child, depth + 1);
      if (!child || child->findings.empty()) continue;
      Finding& finding = found.emplace_back(std::move(child->findings.front()));
      finding.text = "its sub-orchestration \"" + wait.child.value + "\" " +
                     std::string(client::in_words(finding.kind)) + ": " + finding.text;
    }
    return found;
  }

  [[nodiscard]] std::string unsent_mail(const std::vector<Waiting>& waits) const {
    std::string names;
    for (const Waiting& wait : waits) {
      if (!names.empty()) names += ", ";
      names += (wait.kind == Kind::event ? "the event '" : "a message on the queue '") + wait.name + "'";
    }
    return "it can only go on with " + names + ", which has not been sent for " +
           base::in_words(now_ - waits.back().since) + "; send it, or cancel the instance";
  }

  /// A parent that is gone, is another incarnation, or has ended.
  std::optional<std::string> orphaned(const ParentLink& link) {
    const auto parent = provider_.get_instance(link.instance);
    if (!parent) return std::nullopt;  // it cannot be judged now
    const std::string name = "its parent \"" + link.instance.value + "\" ";
    const char* const rest = ", so no instance takes its result; cancel it";
    if (!*parent) return name + "does not exist any more" + rest;
    if ((*parent)->incarnation != link.incarnation) return name + "was replaced by another instance" + rest;
    // A parent that has just ended cancels its children; allow for that delay.
    if (!is_final((*parent)->status) || !long_ago((*parent)->updated_at)) return std::nullopt;
    return name + "has ended" + rest;
  }

  Provider& provider_;
  const ExplainOptions& options_;
  const TimePoint now_;
  std::optional<std::vector<NodeRecord>> nodes_;  // the live ones, once asked for
};

}  // namespace

Result<Explanation> Client::explain(const InstanceId& instance, const ExplainOptions& options) {
  if (Result<void> ok = client::check_instance("explain", instance); !ok) return ok.error();
  return Explainer(impl_->provider, options).explain(instance);
}

}  // namespace duramen::inline v0
