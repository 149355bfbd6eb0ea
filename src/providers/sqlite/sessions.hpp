// Sessions: activities that belong together and run on one owner while it holds the lease of the session.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace duramen::inline v0::sqlite::detail {

class Sessions {
 public:
  explicit Sessions(Connection& connection);

  /// The end of the lease that an owner other than `owner` has on the session; empty if there is none.
  [[nodiscard]] std::optional<std::int64_t> taken_until(const TransactionTime& time, std::string_view session,
                                                        std::string_view owner);
  /// Leases the session to the owner, or extends its lease.
  void claim(const TransactionTime& time, std::string_view session, const SessionClaim& claim);
  /// Records a use; a session that has ended stays ended.
  void use(const TransactionTime& time, std::string_view session);

  [[nodiscard]] std::size_t renew(const TransactionTime& time, std::span<const std::string> owners,
                                  Duration extend, Duration idle_timeout);
  [[nodiscard]] std::size_t release(const TransactionTime& time, const std::string& owner);

  /// Sessions without owner and work.
  [[nodiscard]] bool any_orphaned(const TransactionTime& time);
  [[nodiscard]] std::size_t remove_orphaned(const TransactionTime& time, std::size_t limit);

 private:
  Statement taken_until_;
  Statement claim_;
  Statement use_;
  Statement renew_;
  Statement release_;
  Statement any_orphaned_;
  Statement remove_orphaned_;
};

}  // namespace duramen::inline v0::sqlite::detail
