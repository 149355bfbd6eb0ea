// duramen doctor: finds problems of a store, and names the remedies.
#include "commands.hpp"
#include "store.hpp"
#include "text.hpp"
#include "values.hpp"
#include <duramen/detail/mutant.hpp>

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

std::string_view grade_name(Grade grade) {
  return grade == Grade::good ? "ok" : grade == Grade::warning ? "warning" : "problem";
}

/// One examination of a store. Each check adds one finding, or one for each kind of problem.
class Doctor {
 public:
  Doctor(Session& session, const DoctorArguments& arguments)
      : session_(session), arguments_(arguments), now_(session.now()) {}

  Result<std::vector<Finding>> examine() {
    for (const auto check : {&Doctor::schema, &Doctor::levels, &Doctor::clock, &Doctor::open_instances,
                             &Doctor::queues, &Doctor::poison}) {
      if (Result<void> done = (this->*check)(); !done) return done.error();
    }
    return std::move(findings_);
  }
  /// After examine(): the store's schema version, if it has one.
  [[nodiscard]] const std::optional<SchemaVersion>& version() const { return version_; }

 private:
  void add(std::string check, Grade grade, std::string text, std::vector<InstanceId> instances = {}) {
    findings_.push_back({std::move(check), grade, std::move(text), std::move(instances)});
  }

  /// The store is open, so its schema works with this program; it may be newer.
  Result<void> schema() {
    Result<StoreMetrics> metrics = session_.client.metrics();
    if (!metrics) return metrics.error();
    unreadable_ = metrics->unreadable;
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

  /// The engine version at which executions begin, and the nodes that cannot read it.
  Result<void> levels() {
    Result<std::uint32_t> level = session_.provider().get_write_level();
    if (!level) return level.error();
    Result<std::vector<NodeRecord>> nodes = session_.provider().list_nodes();
    if (!nodes) return nodes.error();
    std::erase_if(*nodes, [this](const NodeRecord& node) { return !node.is_live(now_); });
    const std::uint32_t wanted = std::max(*level, engine_version);
    std::string behind;
    for (const NodeRecord& node : *nodes) {
      if (node.max_engine_version < wanted) behind += (behind.empty() ? "" : ", ") + node.node.value;
    }
    const std::string now = "write level " + std::to_string(*level);
    if (*level < engine_version) {
      add("levels", Grade::warning,
          now + ", and this duramen knows " + std::to_string(engine_version) +
              (behind.empty() ? "; duramen upgrade --finish raises it"
                              : "; nodes that read less hold it back: " + behind));
    } else if (!behind.empty()) {
      add("levels", Grade::warning,
          now + "; nodes that read less take only what began before it; upgrade them: " + behind);
    } else {
      add("levels", Grade::good, now + "; " + count(nodes->size(), "live node"));
    }
    return {};
  }

  /// Timers and limits use the store's clock, histories the clock of the committing node.
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

  /// The library's findings about open and unreadable instances, as `duramen explain` shows them.
  Result<void> open_instances() {
    InstanceQuery query;
    query.filter.statuses = {Status::pending, Status::running, Status::cancelling, Status::continued_as_new};
    query.order = InstanceOrder::oldest_first;
    Judgements judged;
    if (Result<void> done = judge(query, judged); !done) return done.error();
    const std::size_t open = judged.looked_at;
    if (unreadable_ != 0) {
      // No filter matches an unknown status, so all instances are read; that is rare.
      query.filter.statuses.clear();
      if (Result<void> done = judge(query, judged); !done) return done.error();
    }
    report_locks(judged);
    report_stuck(judged, open);
    report_unsent(std::move(judged.unsent));
    report_orphans(std::move(judged.orphans));
    return {};
  }

  /// An instance to repair, and the ancestors that it holds up.
  struct Stuck {
    InstanceId instance;
    std::string text;
    std::vector<InstanceId> concerned;  ///< itself first, if it was checked
  };
  struct Judgements {
    std::vector<Stuck> stuck;
    std::vector<InstanceId> unsent;
    std::vector<InstanceId> orphans;
    std::vector<InstanceId> dropped;
    std::size_t let_go = 0;  ///< activities
    std::map<std::string, std::size_t> holders;
    std::size_t turns_in_hand = 0;
    std::size_t looked_at = 0;
    bool more = false;
  };

  /// Without statuses in the query: only unreadable instances.
  Result<void> judge(const InstanceQuery& query, Judgements& judged) {
    std::optional<Error> failed;
    Result<std::size_t> visited = session_.client.for_each_instance(query, [&](const InstanceInfo& info) {
      if (query.filter.statuses.empty() && !info.unreadable) return true;
      if (judged.looked_at == arguments_.limit) {
        judged.more = true;
        return false;
      }
      ++judged.looked_at;
      Result<Explanation> explanation = session_.client.explain(info.instance, arguments_.options);
      if (explanation) {
        file(*explanation, judged);
      } else if (is_damage(explanation.error())) {
        judged.stuck.push_back({info.instance, explanation.error().message, {info.instance}});
      } else if (explanation.error().code != ErrorCode::not_found) {  // deleted meanwhile
        failed = explanation.error();
      }
      return !failed;
    });
    if (!visited) return visited.error();
    if (failed) return *failed;
    return {};
  }

  static void file(const Explanation& explanation, Judgements& judged) {
    judged.turns_in_hand += explanation.in_turn ? 1 : 0;
    for (const Waiting& wait : explanation.waits) {
      if (!wait.node.empty()) ++judged.holders[wait.node.value];
    }
    const InstanceId& instance = explanation.info.instance;
    for (const Explanation::Finding& finding : explanation.findings) {
      using Kind = Explanation::Finding::Kind;
      Kind kind = finding.kind;
      if (detail::mutant("doctor_judges_by_waits") && !explanation.waits.empty() &&
          explanation.waits.front().kind == Waiting::Kind::event) {
        kind = Kind::unsent;
      }
      switch (kind) {
        case Kind::stuck:
          file_stuck(finding, instance, judged.stuck);
          break;
        case Kind::let_go:
          judged.let_go += static_cast<std::size_t>(std::ranges::count_if(explanation.waits, is_let_go));
          judged.dropped.push_back(instance);
          break;
        case Kind::unsent:
          judged.unsent.push_back(instance);
          break;
        case Kind::orphan:
          judged.orphans.push_back(instance);
          break;
      }
    }
  }
  static void file_stuck(const Explanation::Finding& finding, const InstanceId& instance,
                         std::vector<Stuck>& stuck) {
    auto known = std::ranges::find(stuck, finding.instance, &Stuck::instance);
    if (known == stuck.end()) {
      stuck.push_back({finding.instance, finding.text, {instance}});
    } else if (instance == finding.instance) {
      known->text = finding.text;  // its own text, not an ancestor's
      known->concerned.insert(known->concerned.begin(), instance);
    } else {
      known->concerned.push_back(instance);
    }
  }
  static bool is_let_go(const Waiting& wait) {
    return wait.kind == Waiting::Kind::activity && wait.node.empty() && wait.attempt != 0 && !wait.due;
  }

  void report_locks(Judgements& judged) {
    std::string held = count(judged.turns_in_hand, "turn") + " in hand";
    for (const auto& [node, n] : judged.holders)
      held += ", " + count(n, "activity lease") + " of node " + node;
    add("locks", Grade::good, held);
    if (judged.dropped.empty()) return;
    add("locks", Grade::warning,
        count(judged.let_go, "activity lease") +
            " ended without a result, and no worker has taken the work up again: "
            "a node died or gave it back; is a runtime up that has the code?",
        std::move(judged.dropped));
  }

  void report_stuck(Judgements& judged, std::size_t open) {
    constexpr std::size_t shown = 20;
    for (std::size_t i = 0; i < std::min(shown, judged.stuck.size()); ++i) {
      Stuck& one = judged.stuck[i];
      std::string text = "\"" + one.concerned.front().value + "\": " + one.text;
      const std::vector<InstanceId> above(one.concerned.begin() + 1, one.concerned.end());
      if (!above.empty()) text += " (holds up " + some_of(above) + ")";
      add("stuck", Grade::bad, std::move(text), std::move(one.concerned));
    }
    std::vector<InstanceId> rest;
    for (std::size_t i = shown; i < judged.stuck.size(); ++i) {
      rest.insert(rest.end(), judged.stuck[i].concerned.begin(), judged.stuck[i].concerned.end());
    }
    if (!rest.empty())
      add("stuck", Grade::bad, "so are " + count(rest.size(), "more instance"), std::move(rest));
    if (judged.stuck.empty()) {
      add("stuck", Grade::good,
          open == 0 ? "nothing is open" : "none of " + count(open, "open instance") + " is stuck");
    }
    if (judged.more) {
      add("stuck", Grade::warning,
          "only the " + std::to_string(judged.looked_at) +
              " oldest open instances were checked; --limit N checks more");
    }
  }

  void report_unsent(std::vector<InstanceId> unsent) {
    if (unsent.empty()) return;
    const std::string text = count(unsent.size(), "instance") +
                             " can only go on with an event or a message that nobody has sent for " +
                             roughly(arguments_.options.long_time) + "; a person's answer may take that long";
    add("waiting", Grade::warning, text, std::move(unsent));
  }

  void report_orphans(std::vector<InstanceId> orphans) {
    if (orphans.empty()) {
      add("orphans", Grade::good, "every open child has a parent that waits for it");
      return;
    }
    add("orphans", Grade::bad,
        count(orphans.size(), "open child instance") +
            " without an open parent: no instance takes the result; cancel them",
        std::move(orphans));
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

  /// Instances that were handed out too often and failed.
  Result<void> poison() {
    std::vector<InstanceId> poisoned;
    InstanceQuery query;
    query.filter.statuses = {Status::failed};
    query.with_results = true;
    std::size_t looked_at = 0;
    Result<std::size_t> visited = session_.client.for_each_instance(query, [&](const InstanceInfo& info) {
      if (info.unreadable) {
        add("unreadable", Grade::bad, "\"" + info.instance.value + "\": " + *info.unreadable,
            {info.instance});
      }
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
  std::uint64_t unreadable_ = 0;  ///< instances
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
    if (!finding.instances.empty() && finding.check != "stuck" && finding.check != "unreadable") {
      text += " (" + some_of(finding.instances) + ")";
    }
    items.items.push_back({{std::string(grade_name(finding.grade)), tone}, finding.check + ": " + text});
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
                     .add("grade", grade_name(finding.grade))
                     .add("text", finding.text)
                     .add("instance_ids", json_array(finding.instances));
               })));
  if (problems != 0) answer.exit = ExitCode::no;
  return answer;
}

}  // namespace duramen::cli
