// The common part of select and join: several operations, and a notification when each is done.
#pragma once

#include <duramen/detail/operation.hpp>

#include <cstddef>
#include <deque>

namespace duramen::inline v0::detail {

class Branches;

/// Notified by one branch.
class Branch final : public Waiter {
 public:
  Branch(Branches& owner, std::size_t index, Operation& operation) noexcept
      : owner_(owner), index_(index), operation_(operation) {}
  void run() override;
  [[nodiscard]] Operation& operation() const noexcept { return operation_; }

 private:
  Branches& owner_;
  std::size_t index_;
  Operation& operation_;
};

class Branches : public Operation {
 public:
  using Operation::Operation;
  virtual void branch_done(std::size_t index) = 0;

 protected:
  void add_branch(Operation& operation) { branches_.emplace_back(*this, branches_.size(), operation); }
  [[nodiscard]] std::size_t size() const noexcept { return branches_.size(); }
  [[nodiscard]] Operation& branch(std::size_t index) const { return branches_[index].operation(); }
  void wait_for(std::size_t index) { branch(index).add_waiter(branches_[index]); }
  /// Drops every branch but `keep`.
  void drop_branches_except(std::size_t keep, CancelReason reason) noexcept;
  void drop(CancelReason reason) noexcept override;

 private:
  // A deque, because a Branch is linked by its address.
  mutable std::deque<Branch> branches_;
};

/// The first branch to finish wins; the others are cancelled immediately.
class Select : public Branches {
 public:
  explicit Select(core::Execution& execution, CancelReason losers = CancelReason::select_loser) noexcept
      : Branches(execution), losers_(losers) {}
  [[nodiscard]] std::size_t winner() const noexcept { return winner_; }

 private:
  void do_start() override;
  void branch_done(std::size_t index) override;
  void resolve(std::size_t index);

  const CancelReason losers_;
  std::size_t winner_ = 0;
};

/// Done when another operation is, without owning it; made by dm::ref(). Dropping it does not affect the
/// other.
class Reference final : public Operation, private Waiter {
 public:
  explicit Reference(Operation& target) noexcept : Operation(target.execution()), target_(target) {}
  void drop(CancelReason /*reason*/) noexcept override { Waiter::unlink(); }
  static void take(Operation& /*operation*/, void (* /*unused*/)()) {}

 private:
  void do_start() override;
  void run() override { complete(); }

  Operation& target_;
};

/// Done when every branch is.
class Join : public Branches {
 public:
  using Branches::Branches;

 private:
  void do_start() override;
  void branch_done(std::size_t index) override;

  std::size_t open_ = 0;
};

}  // namespace duramen::inline v0::detail
