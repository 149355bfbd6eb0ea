// A batch of turns as the columns that lock_turns() and commit_turns() take, and the answer.
#pragma once

#include "providers/postgres/message_columns.hpp"
#include "providers/postgres/parameters.hpp"
#include "providers/postgres/rows.hpp"
#include "providers/postgres/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <cstddef>
#include <span>
#include <vector>

namespace duramen::inline v0::postgres::detail {

/// True if messages of this fused start contain the number of the new instance, which must then be reserved
/// before the commit.
[[nodiscard]] bool needs_number(const TurnCommit& commit);

class TurnColumns {
 public:
  /// `number` is the reserved number of the instance that a fused start creates, if it needs one.
  void add(const TurnCommit& commit, Incarnation number);
  /// The parameters of lock_turns(), which runs before the commits are stored one by one.
  [[nodiscard]] Parameters locks() const;
  /// The parameters of commit_turns(). The columns are empty afterwards.
  [[nodiscard]] Parameters take(const TransactionTime& time);

 private:
  void add_turn(const TurnCommit& commit, Incarnation number);
  void add_acks(const TurnCommit& commit);
  void add_work(const TurnCommit& commit);
  void add_messages(const TurnCommit& commit, Incarnation number);

  std::size_t turns_ = 0;

  struct {
    SmallintColumn basis;
    BigintColumn token;
    TextColumn node;
    TextColumn instance;
    BigintColumn key;
    BigintColumn lease;
    BigintColumn seen;
    BigintColumn replay;
    BigintColumn execution;
    BooleanColumn fits;
    BigintColumn first;
    BigintColumn last;
    TextColumn events;
    TextColumn status;
    TextColumn version;
    IntegerColumn engine;
    TextColumn output;
    TextColumn output_encoding;
    TextColumn failure;
    ParentColumns parent;
    BooleanColumn sets_status;
    TextColumn custom_status;
    BooleanColumn sets_values;
    BigintColumn activity_lease;
    TextColumn cancel_rest;
    TextColumn name;
    BigintColumn digest;
    BooleanColumn reuse;
    BooleanColumn graceful;
    SmallintColumn asked;
    TextColumn next_version;
    BigintColumn put_back;
  } turn_;
  struct {
    IntegerColumn turn;
    BigintColumn key;
    BigintColumn execution;
    BigintColumn activity;
    BigintColumn token;
    TextColumn item;
  } ack_;
  struct {
    IntegerColumn turn;
    BigintColumn execution;
    BigintColumn activity;
    BigintColumn token;
    TextColumn name;
    TextColumn input;
    TextColumn encoding;
    TextColumn session;
    TextColumn tag;
    BigintColumn start;
    BigintColumn close;
    BigintColumn heartbeat;
    TextColumn orchestration;
    TextColumn version;
    TextColumn owner;
    BigintColumn retry_of;
    IntegerColumn attempts_before;
    BigintColumn fence_base;
    TextColumn details;
    TextColumn details_encoding;
  } work_;
  struct {
    IntegerColumn turn;
    BigintColumn place;
  } taken_;
  struct {
    IntegerColumn turn;
    TextColumn item;
  } begin_;
  struct {
    IntegerColumn turn;
    BigintColumn execution;
    BigintColumn event;
    BigintColumn at;
  } timer_;
  IntegerColumn message_turn_;
  MessageColumns message_;
  TextColumn refused_;
  struct {
    IntegerColumn turn;
    BigintColumn activity;
    TextColumn reason;
  } cancelled_;
  struct {
    IntegerColumn turn;
    BigintColumn event;
  } dropped_;
  struct {
    IntegerColumn turn;
    TextColumn key;
    TextColumn value;
    TextColumn encoding;
    BigintColumn at;
  } value_;
};

/// The answer of commit_turns().
struct TurnAnswer {
  std::vector<CommitResult> results;
  /// From activities of instances that were replaced.
  std::vector<StolenLease> erased;
  bool work_ready = false;  ///< messages are ready to be fetched
  /// For each turn that puts mail back: the place of its first message. The mail itself goes separately.
  std::vector<std::int64_t> put_back_at;
};
[[nodiscard]] TurnAnswer read_turn_answer(const Rows& rows, std::span<const TurnCommit> commits);

/// The completion that an ended activity sends; absent if it sends none. The server adds the details of the
/// row to a failure that has none.
[[nodiscard]] std::optional<std::string> completion_json(const ActivityAck& ack);

}  // namespace duramen::inline v0::postgres::detail
