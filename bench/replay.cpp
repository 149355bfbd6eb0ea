#include "bench/replay.hpp"

#include "bench/measure.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace bench {

namespace dm = duramen;

namespace {

/// Maps names of the recorded store to names of this one.
class Names {
 public:
  void learn(dm::Incarnation recorded, dm::Incarnation here) {
    if (recorded != here) incarnations_[recorded] = here;
  }
  void learn(dm::LeaseToken recorded, dm::LeaseToken here) { tokens_[recorded] = here; }

  void apply(dm::TurnCommit& commit) const {
    apply(commit.incarnation);
    if (auto* held = std::get_if<dm::HeldLease>(&commit.basis)) apply(held->token);
    for (dm::ActivityAck& ack : commit.activity_acks) apply(ack);
    for (dm::NewActivity& item : commit.new_activities) apply(item.request.key.incarnation);
  }
  void apply(dm::ActivityAck& ack) const {
    apply(ack.lease.key.incarnation);
    apply(ack.lease.token);
  }
  void apply(dm::Incarnation& incarnation) const { replace(incarnations_, incarnation); }
  void apply(dm::LeaseToken& token) const { replace(tokens_, token); }

 private:
  template <class Number>
  static void replace(const std::unordered_map<Number, Number>& map, Number& number) {
    if (map.empty()) return;
    const auto found = map.find(number);
    if (found != map.end()) number = found->second;
  }
  std::unordered_map<dm::Incarnation, dm::Incarnation> incarnations_;
  std::unordered_map<dm::LeaseToken, dm::LeaseToken> tokens_;
};

bool is_step(const Call& call) {
  const auto* commit_call = std::get_if<CommitCall>(&call);
  return commit_call != nullptr &&
         std::ranges::all_of(commit_call->commits, [](const dm::TurnCommit& commit) {
           return std::holds_alternative<dm::ConditionalLease>(commit.basis);
         });
}

class Replayer {
 public:
  explicit Replayer(dm::Provider& store) : store_(store) {}

  void make(const Call& call, bool timed) {
    timed_ = timed;
    std::visit([this](const auto& c) { make(c); }, call);
  }
  [[nodiscard]] const ReplayResult& result() const { return result_; }

 private:
  template <class F>
  auto time(F&& call) {
    const Instant began = now();
    auto answer = call();
    const Instant ended = now();
    if (timed_) result_.seconds += seconds_between(began, ended);
    if (!answer)
      throw std::runtime_error("a recorded call failed when made again: " + answer.error().describe());
    return std::move(*answer);
  }

  void make(const CommitCall& call) {
    std::vector<dm::TurnCommit> commits = call.commits;
    for (dm::TurnCommit& commit : commits) names_.apply(commit);
    const auto results = time([&] {
      auto answers = store_.commit_turns(commits);
      store_.maintain({});
      return answers;
    });
    for (std::size_t i = 0; i < results.size(); ++i) {
      names_.learn(call.results[i].incarnation, results[i].incarnation);
      if (results[i].outcome != call.results[i].outcome) ++result_.differences;
    }
  }
  void make(const AckCall& call) {
    std::vector<dm::ActivityAck> acks = call.acks;
    for (dm::ActivityAck& ack : acks) names_.apply(ack);
    (void)time([&] { return store_.ack_activities(acks); });
  }
  void make(const StartCall& call) {
    (void)time([&] { return store_.start_instances(call.requests); });
  }
  void make(const EnqueueCall& call) {
    (void)time([&] { return store_.enqueue_messages(call.messages); });
  }
  void make(const TurnFetchCall& call) {
    const auto batch = time([&] { return store_.fetch_turns(call.request); });
    for (const auto& [instance, token] : call.leased) {
      const auto item = std::ranges::find(batch.items, instance, &dm::LeasedInstance::instance);
      if (item == batch.items.end()) {
        ++result_.differences;
      } else {
        names_.learn(token, item->lease);
      }
    }
  }
  void make(const ActivityFetchCall& call) {
    const auto batch = time([&] { return store_.fetch_activities(call.request); });
    for (const dm::ActivityLease& recorded : call.leased) {
      dm::ActivityKey key = recorded.key;
      names_.apply(key.incarnation);
      const auto item = std::ranges::find_if(
          batch.items, [&key](const dm::LeasedActivity& leased) { return leased.lease.key == key; });
      if (item == batch.items.end()) {
        ++result_.differences;
      } else {
        names_.learn(recorded.token, item->lease.token);
      }
    }
  }

  dm::Provider& store_;
  Names names_;
  ReplayResult result_;
  bool timed_ = false;
};

}  // namespace

ReplayResult replay(const Recording& recording, dm::Provider& store, Counted counted) {
  Replayer replayer(store);
  for (std::size_t i = 0; i < recording.calls.size(); ++i) {
    const Call& call = recording.calls[i];
    replayer.make(call, i >= recording.mark && (counted == Counted::all || is_step(call)));
  }
  return replayer.result();
}

}  // namespace bench
