// A batch of turns as the columns that lock_turns() and commit_turns() take, and the answer.
#pragma once

#include "providers/postgres/message_columns.hpp"
#include "providers/postgres/moment.hpp"
#include "providers/postgres/parameters.hpp"
#include "providers/postgres/rows.hpp"
#include <duramen/provider.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace duramen::inline v0::postgres::detail {

/// True if messages of this fused start carry the number of the instance it creates, which must then be known
/// before.
[[nodiscard]] bool needs_number(const TurnCommit& commit);

class TurnBatch {
 public:
  /// `number` is that of the instance a fused start creates, if it needs one.
  void add(const TurnCommit& commit, Incarnation number);
  /// What lock_turns() takes before they are stored one by one.
  [[nodiscard]] Parameters locks() const;
  /// What commit_turns() takes. The batch is used up.
  [[nodiscard]] Parameters take(const Moment& moment);

 private:
  void add_turn(const TurnCommit& commit, Incarnation number);
  void add_acks(const TurnCommit& commit);
  void add_work(const TurnCommit& commit);
  void add_messages(const TurnCommit& commit, Incarnation number);

  std::size_t turns_ = 0;

  struct {
    Kinds basis;
    Numbers token;
    Texts node;
    Texts instance;
    Numbers key;
    Numbers lease;
    Numbers seen;
    Numbers execution;
    Flags fits;
    Numbers first;
    Numbers last;
    Texts events;
    Texts status;
    Texts version;
    Indexes engine;
    Texts output;
    Texts output_encoding;
    Texts failure;
    ParentColumns parent;
    Flags sets_status;
    Texts custom_status;
    Flags sets_values;
    Numbers worker_lease;
    Texts cancel_rest;
    Texts name;
    Numbers digest;
    Flags reuse;
  } turn_;
  struct {
    Indexes turn;
    Numbers key;
    Numbers execution;
    Numbers activity;
    Numbers token;
    Texts item;
  } ack_;
  struct {
    Indexes turn;
    Numbers execution;
    Numbers activity;
    Numbers token;
    Texts name;
    Texts input;
    Texts encoding;
    Texts session;
    Texts tag;
    Numbers start;
    Numbers close;
    Numbers heartbeat;
    Texts orchestration;
    Texts version;
    Texts owner;
  } work_;
  struct {
    Indexes turn;
    Numbers execution;
    Numbers event;
    Numbers at;
    Texts item;
  } timer_;
  Indexes message_turn_;
  MessageColumns message_;
  Texts refused_;
  struct {
    Indexes turn;
    Numbers activity;
    Texts reason;
  } cancelled_;
  struct {
    Indexes turn;
    Numbers event;
  } dropped_;
  struct {
    Indexes turn;
    Texts key;
    Texts value;
    Texts encoding;
    Numbers at;
  } value_;
};

/// What commit_turns() said.
struct TurnAnswer {
  std::vector<CommitResult> results;
  std::vector<StolenLease> erased;  ///< from activities of instances that were replaced
  bool work_ready = false;          ///< messages are waiting for somebody to look
};
[[nodiscard]] TurnAnswer read_turn_answer(const Rows& rows, std::span<const TurnCommit> commits);

/// The completion that an ended activity sends; absent if it sends none.
[[nodiscard]] std::optional<std::string> completion_json(const WorkAck& ack);

}  // namespace duramen::inline v0::postgres::detail
