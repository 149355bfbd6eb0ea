// duramen doctor: looks for what is wrong with a store, and says what to do about it.
#include "commands.hpp"
#include "store.hpp"
#include "text.hpp"
#include "values.hpp"

#include <algorithm>
#include <map>

namespace duramen::cli {

namespace {

enum class Grade : std::uint8_t { good, warning, bad };

struct Finding {
  std::string check;
  Grade grade = Grade::good;
  std::string text;
  std::vector<InstanceId> instances;
};

std::string_view name_of(Grade grade) {
  return grade == Grade::good ? "ok" : grade == Grade::warning ? "warning" : "problem";
}

/// One look at a store. Each check adds one finding, or one for each kind of trouble.
class Doctor {
 public:
  Doctor(Session& session, const DoctorArguments& arguments)
      : session_(session), arguments_(arguments), now_(session.now()) {}

  Result<std::vector<Finding>> examine() {
    for (const auto check :
         {&Doctor::schema, &Doctor::clock, &Doctor::open_instances, &Doctor::queues, &Doctor::poison}) {
      if (Result<void> done = (this->*check)(); !done) return done.error();
    }
    return std::move(findings_);
  }
  /// After examine(): the store's schema, if it numbers it.
  [[nodiscard]] const std::optional<SchemaVersion>& version() const { return version_; }

 private:
  void add(std::string check, Grade grade, std::string text, std::vector<InstanceId> instances = {}) {
    findings_.push_back({std::move(check), grade, std::move(text), std::move(instances)});
  }

  /// It is open, so its schema is one that this program can work with; it may be of a newer one.
  Result<void> schema() {
    Result<StoreMetrics> metrics = session_.client.metrics();
    if (!metrics) return metrics.error();
    const std::string holds =
        count(metrics->total_instances(), "instance") + ", " + count(metrics->events, "event");
    Result<std::optional<SchemaVersion>> version = schema_version_of(session_.provider());
    if (!version) return version.error();
    version_ = *version;
    if (!version_) {
      add("schema", Grade::good, "the store does not number its schemas; " + holds);
      return {};
    }
    const std::string stored = std::to_string(version_->stored);
    const std::string known = std::to_string(version_->known);
    if (version_->stored == version_->known) {
      add("schema", Grade::good, "version " + stored + ", the newest that this duramen knows; " + holds);
    } else if (version_->stored > version_->known) {
      add("schema", Grade::warning,
          "version " + stored + ", made by a newer Duramen; this duramen knows " + known +
              " and can work with it, but everything should be brought to the newer one; " + holds);
    } else {
      add("schema", Grade::bad, "version " + stored + ", but this duramen needs " + known);
    }
    return {};
  }

  /// Timers and limits go by the store's clock, histories by that of whoever committed.
  Result<void> clock() {
    constexpr Duration tolerated = std::chrono::seconds{5};
    const Duration skew = session_.now() - system_clock().now();
    if (skew > tolerated || skew < -tolerated) {
      add("clock", Grade::bad,
          "the store's clock is " + roughly(skew < Duration::zero() ? -skew : skew) +
              (skew > Duration::zero() ? " ahead of" : " behind") + " this machine's; set both by NTP");
      return {};
    }
    InstanceQuery newest;
    newest.limit = 100;
    Result<InstancePage> page = session_.client.list(newest);
    if (!page) return page.error();
    std::vector<InstanceId> ahead;
    for (const InstanceInfo& info : page->instances) {
      if (std::max(info.created_at, info.updated_at) > now_ + tolerated) ahead.push_back(info.instance);
    }
    if (!ahead.empty()) {
      add("clock", Grade::bad,
          "some instances were last changed in the future: a clock was ahead, or this one is behind",
          std::move(ahead));
    } else {
      add("clock", Grade::good, "the clocks agree");
    }
    return {};
  }

  /// Stuck ones, orphans, and who holds what: all from one walk over what has not ended.
  Result<void> open_instances() {
    std::vector<std::pair<InstanceId, std::string>> stuck;  // and why
    std::vector<InstanceId> unsent;
    std::vector<InstanceId> orphans;
    std::map<std::string, std::size_t> holders;
    std::size_t turns_in_hand = 0;
    std::size_t let_go = 0;  // activities
    std::vector<InstanceId> dropped;
    std::size_t looked_at = 0;
    bool more = false;
    InstanceQuery query;
    query.filter.statuses = {Status::pending, Status::running, Status::cancelling, Status::continued_as_new};
    query.order = InstanceOrder::oldest_first;
    std::optional<Error> failed;
    Result<std::size_t> visited = session_.client.for_each_instance(query, [&](const InstanceInfo& info) {
      if (looked_at == arguments_.limit) {
        more = true;
        return false;
      }
      ++looked_at;
      Result<Explanation> explanation = session_.client.explain(info.instance, arguments_.options);
      if (!explanation && explanation.error().code == ErrorCode::not_found)
        return true;  // ended and deleted meanwhile
      if (!explanation) {
        failed = explanation.error();
        return false;
      }
      if (explanation->stuck && waits_for_mail(*explanation)) {
        unsent.push_back(info.instance);
      } else if (explanation->stuck && !waits_for_open_children(*explanation)) {
        stuck.emplace_back(info.instance, *explanation->stuck);
      }
      for (const Waiting& wait : explanation->waits) {
        if (!wait.node.empty()) ++holders[wait.node.value];
      }
      Result<PendingWork> pending = session_.provider().list_pending_work(info.instance);
      if (!pending) {
        failed = pending.error();
        return false;
      }
      turns_in_hand += pending->leased ? 1 : 0;
      if (const std::size_t n = let_go_long_ago(info, *pending); n != 0) {
        let_go += n;
        dropped.push_back(info.instance);
      }
      if (info.parent && is_orphan(*info.parent, failed)) orphans.push_back(info.instance);
      return !failed;
    });
    if (!visited) return visited.error();
    if (failed) return *failed;

    std::string held = count(turns_in_hand, "turn") + " in hand";
    for (const auto& [node, n] : holders) held += ", " + count(n, "activity lease") + " of node " + node;
    add("locks", Grade::good, held);
    if (!dropped.empty()) {
      add("locks", Grade::warning,
          count(let_go, "activity lease") +
              " ended without a result, and nobody has taken the work up again: "
              "a node died or gave it back; is a runtime up that has the code?",
          std::move(dropped));
    }

    constexpr std::size_t told = 20;
    for (std::size_t i = 0; i < std::min(told, stuck.size()); ++i) {
      add("stuck", Grade::bad, "\"" + stuck[i].first.value + "\": " + stuck[i].second, {stuck[i].first});
    }
    if (stuck.size() > told)
      add("stuck", Grade::bad, std::to_string(stuck.size() - told) + " more are stuck");
    if (stuck.empty()) {
      add("stuck", Grade::good,
          looked_at == 0 ? "nothing is open" : "none of " + count(looked_at, "open instance") + " is stuck");
    }
    if (more) {
      add("stuck", Grade::warning,
          "only the " + std::to_string(looked_at) +
              " oldest open instances were looked at; --limit N looks at more");
    }
    if (!unsent.empty()) {
      const std::string text = count(unsent.size(), "instance") +
                               " can only go on with an event or a message that nobody has sent for " +
                               roughly(arguments_.options.long_time) +
                               "; a person's answer may take that long";
      add("waiting", Grade::warning, text, std::move(unsent));
    }
    if (orphans.empty()) {
      add("orphans", Grade::good, "every open child has a parent that waits for it");
    } else {
      add("orphans", Grade::bad,
          count(orphans.size(), "open child instance") +
              " without an open parent: nobody wants the result; cancel them",
          std::move(orphans));
    }
    return {};
  }

  /// Activities that were handed out, and are in nobody's hand. Where somebody serves the store that lasts
  /// for a moment only.
  [[nodiscard]] std::size_t let_go_long_ago(const InstanceInfo& info, const PendingWork& pending) const {
    if (now_ - info.updated_at < arguments_.options.long_time) return 0;
    return static_cast<std::size_t>(
        std::ranges::count_if(pending.activities, [&](const PendingActivity& activity) {
          return activity.owner.empty() && activity.attempt != 0 && activity.visible_at <= now_;
        }));
  }

  /// An answer from outside may take its time.
  static bool waits_for_mail(const Explanation& explanation) {
    return !explanation.waits.empty() && std::ranges::all_of(explanation.waits, [](const Waiting& wait) {
      return wait.kind == Waiting::Kind::event || wait.kind == Waiting::Kind::queue;
    });
  }
  /// Then what is wrong is wrong with the child, which is looked at by itself.
  static bool waits_for_open_children(const Explanation& explanation) {
    return !explanation.waits.empty() && std::ranges::all_of(explanation.waits, [](const Waiting& wait) {
      return wait.kind == Waiting::Kind::child && wait.child_status && !is_final(*wait.child_status);
    });
  }

  /// A parent that is gone, is another incarnation, or has ended.
  bool is_orphan(const ParentLink& link, std::optional<Error>& failed) {
    Result<InstanceInfo> parent = session_.client.get_instance(link.instance);
    if (!parent && parent.error().code != ErrorCode::not_found) {
      failed = parent.error();
      return false;
    }
    if (!parent) return true;
    if (parent->incarnation != link.incarnation) return true;
    // One that has just ended tells its children so; give that a moment.
    return is_final(parent->status) && now_ - parent->updated_at >= arguments_.options.long_time;
  }

  Result<void> queues() {
    Result<QueueDepths> depths = session_.client.queue_depths();
    if (!depths) return depths.error();
    if (depths->parked != 0) {
      add("parked", Grade::warning,
          count(depths->parked, "message") +
              " for instances that do not exist; dropped if they do not come to be");
    } else {
      add("parked", Grade::good, "no message waits for an instance that does not exist");
    }
    return {};
  }

  /// What was handed out too often, and ended for that.
  Result<void> poison() {
    std::vector<InstanceId> poisoned;
    InstanceQuery query;
    query.filter.statuses = {Status::failed};
    query.with_results = true;
    std::size_t looked_at = 0;
    Result<std::size_t> visited = session_.client.for_each_instance(query, [&](const InstanceInfo& info) {
      if (info.failure && info.failure->kind == FailureKind::poison) poisoned.push_back(info.instance);
      return ++looked_at < arguments_.limit;
    });
    if (!visited) return visited.error();
    if (poisoned.empty()) {
      add("poison", Grade::good, "no instance failed because it was handed out too often");
    } else {
      add("poison", Grade::bad,
          count(poisoned.size(), "instance") +
              " failed as poison: a turn or an activity never came to an end",
          std::move(poisoned));
    }
    return {};
  }

  Session& session_;
  const DoctorArguments& arguments_;
  const TimePoint now_;
  std::vector<Finding> findings_;
  std::optional<SchemaVersion> version_;
};

}  // namespace

Result<Answer> run(Session& session, const DoctorArguments& arguments) {
  Doctor doctor(session, arguments);
  Result<std::vector<Finding>> findings = doctor.examine();
  if (!findings) return findings.error();
  Answer answer;
  Items items;
  std::size_t problems = 0;
  for (const Finding& finding : *findings) {
    problems += finding.grade == Grade::bad;
    const Tone tone = finding.grade == Grade::good      ? Tone::good
                      : finding.grade == Grade::warning ? Tone::warning
                                                        : Tone::bad;
    std::string text = finding.text;
    if (finding.instances.size() > 1 || (finding.instances.size() == 1 && finding.check != "stuck")) {
      text += " (" + some_of(finding.instances) + ")";
    }
    items.items.push_back({{std::string(name_of(finding.grade)), tone}, finding.check + ": " + text});
  }
  answer.page.emplace_back(std::move(items));
  answer.page.emplace_back(
      Text{problems == 0 ? "nothing is wrong" : count(problems, "problem"), Tone::strong});
  answer.documents.push_back(
      JsonObject()
          .add("healthy", problems == 0)
          .add("schema_version", doctor.version() ? Json(doctor.version()->stored) : Json())
          .add("known_schema_version", doctor.version() ? Json(doctor.version()->known) : Json())
          .add("findings", json_array(*findings, [](const Finding& finding) -> Json {
                 return JsonObject()
                     .add("check", finding.check)
                     .add("grade", name_of(finding.grade))
                     .add("text", finding.text)
                     .add("instance_ids", json_array(finding.instances));
               })));
  if (problems != 0) answer.exit = ExitCode::no;
  return answer;
}

}  // namespace duramen::cli
