// The common part of select and join: several operations, and a notification when each is done.
#pragma once

#include <duramen/detail/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

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

/// Under a graceful cancellation a combinator waits for its Tasks, because their code may clean up, and for
/// nothing else. A race waits for losers that are inside a shield.
class Branches : public Operation {
 public:
  using Operation::Operation;
  void branch_done(std::size_t index);

  void drop(CancelReason reason) noexcept override;
  [[nodiscard]] bool has_tasks() const noexcept override;
  void end_with_tasks(CancelReason reason) override;
  void drop_leaves(CancelReason reason) noexcept override;
  [[nodiscard]] bool abandon(CancelReason reason) noexcept override;
  [[nodiscard]] bool borrows() const noexcept override;

 protected:
  void add_branch(Operation& operation) { branches_.emplace_back(*this, branches_.size(), operation); }
  [[nodiscard]] std::size_t size() const noexcept { return branches_.size(); }
  [[nodiscard]] Operation& branch(std::size_t index) const { return branches_[index].operation(); }
  void wait_for(std::size_t index) { branch(index).add_waiter(branches_[index]); }
  /// No branch but `keep` is wanted any more. True if they are gone; otherwise it is done when they are.
  [[nodiscard]] bool leave_branches_except(std::size_t keep, CancelReason reason) noexcept;
  /// The first branch in argument order that failed for another reason than the cancellation.
  [[nodiscard]] std::optional<std::size_t> first_failure() const;
  /// For readers: throws if nothing is left but the cancellation.
  void require_result() const;
  void set_cancelled() noexcept { cancelled_ = true; }
  [[nodiscard]] bool is_cancelled() const noexcept { return cancelled_; }

 private:
  enum class Phase : std::uint8_t {
    open,
    ending,   // under a cancellation: waits for its Tasks
    leaving,  // its end is fixed: waits for branches inside a shield
  };
  virtual void open_branch_done(std::size_t index) = 0;
  /// A branch has ended under a cancellation.
  virtual void note_end(std::size_t /*index*/) {}
  /// True if a branch has already decided the result.
  virtual bool settle() { return false; }
  /// All Tasks have ended under a cancellation. `cut`: not every branch has ended by itself.
  virtual void fix_result(bool cut) = 0;
  void finish_ending();

  // A deque, because a Branch is linked by its address.
  mutable std::deque<Branch> branches_;
  std::size_t waiting_ = 0;
  Phase phase_ = Phase::open;
  bool cut_ = false;
  bool cancelled_ = false;
};

/// The first branch to finish wins; the others are cancelled immediately, except inside a shield.
class Select : public Branches {
 public:
  explicit Select(core::Execution& execution, CancelReason losers = CancelReason::select_loser) noexcept
      : Branches(execution), losers_(losers) {}
  [[nodiscard]] std::size_t winner() const noexcept { return winner_; }
  [[nodiscard]] Ended ended() const override;

 protected:
  /// The losers end at once, with every shield in them: the limit of a shield itself.
  void destroy_losers() noexcept { destroys_ = true; }

 private:
  void do_start() override;
  void open_branch_done(std::size_t index) override;
  void note_end(std::size_t index) override;
  bool settle() override;
  void fix_result(bool cut) override;
  void resolve(std::size_t index);

  const CancelReason losers_;
  std::size_t winner_ = 0;
  std::optional<std::size_t> returned_;  // under a cancellation: the first Task that did
  bool destroys_ = false;
  bool shielded_ = false;
};

/// Done when another operation is, without owning it; made by dm::ref(). Dropping it does not affect the
/// other.
class Reference final : public Operation, private Waiter {
 public:
  explicit Reference(Operation& target) noexcept : Operation(target.execution()), target_(target) {}
  void drop(CancelReason /*reason*/) noexcept override { Waiter::unlink(); }
  [[nodiscard]] bool borrows() const noexcept override { return true; }
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
  [[nodiscard]] Ended ended() const override;

 protected:
  /// For readers: the only branch to be read, because it failed and others were cancelled.
  [[nodiscard]] const std::optional<std::size_t>& failed() const noexcept { return failed_; }

 private:
  void do_start() override;
  void open_branch_done(std::size_t index) override;
  void fix_result(bool cut) override;

  std::size_t open_ = 0;
  std::optional<std::size_t> failed_;
  bool shielded_ = false;
};

}  // namespace duramen::inline v0::detail
