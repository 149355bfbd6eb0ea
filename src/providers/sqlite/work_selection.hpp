// Selects the waiting activities that a fetch gets.
//
// Waiting rows form slices, one for each (session, tag, name). A fetch wants all rows of a slice or none. So
// a selection skips from slice to slice in the index and reads only the heads of the slices that it wants:
// its cost depends on the number of slices, not on the number of rows in slices that it must not touch.
//
// Rows of sessions are first read in the order of their time, because usually most of them may be taken. If
// too many rows at the front belong to sessions of other owners, they are read session by session.
#pragma once

#include "providers/sqlite/connection.hpp"
#include "providers/sqlite/sessions.hpp"
#include "providers/sqlite/statement.hpp"
#include "providers/sqlite/transaction_time.hpp"
#include <duramen/provider.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace duramen::inline v0::sqlite::detail {

/// A row that may be handed out.
struct WorkCandidate {
  std::int64_t visible_at = 0;
  std::int64_t position = 0;
  bool retried = false;  ///< handed out before, and not finished
  ActivityKey key;
  std::optional<std::string> session;

  [[nodiscard]] bool before(const WorkCandidate& other) const noexcept {
    return visible_at != other.visible_at ? visible_at < other.visible_at : position < other.position;
  }
};

struct WorkSelected {
  /// In the order in which they are handed out.
  std::vector<WorkCandidate> rows;
  std::optional<TimePoint> next_due;  ///< the time at which more may be wanted
};

class WorkSelection {
 public:
  WorkSelection(Connection& connection, Sessions& sessions);

  /// At most `limit` rows, longest waiting first; a retried row is returned alone. Only reads.
  [[nodiscard]] WorkSelected select(const TransactionTime& time, const ActivityFetch& request,
                                    std::size_t limit);

 private:
  struct QueueSlice {
    std::optional<std::string> session;
    std::optional<std::string> tag;
    std::string name;
  };
  /// One call of select: its request, and the rows found so far.
  struct Search {
    const TransactionTime& time;
    const ActivityFetch& request;
    std::size_t limit;
    std::vector<WorkCandidate> fresh = {};
    std::optional<WorkCandidate> retried = {};  ///< the first of them
    std::optional<TimePoint> next_due = {};
    /// The end of the lease that another owner has on a session; empty: it may be taken.
    std::map<std::string, std::optional<std::int64_t>, std::less<>> taken_until = {};

    [[nodiscard]] bool wants_name(std::string_view name) const;
    [[nodiscard]] bool wants_tag(const std::optional<std::string>& tag) const;
    void add(WorkCandidate candidate);
    void lower_due(TimePoint due);
  };
  class Admission;

  template <class Visit>
  void each_slice(const Search& search, const std::optional<std::string>& session, Visit visit);
  template <class Visit>
  void each_name(const Search& search, const std::optional<std::string>& session,
                 const std::optional<std::string>& tag, Visit visit);
  /// Adds the due rows at the head of a slice and returns the time of the next one.
  void read_slice(Search& search, const QueueSlice& slice);
  void read_sessions(Search& search);
  [[nodiscard]] bool read_sessions_by_time(Search& search);
  void read_sessions_one_by_one(Search& search);
  /// The first wanted row of a session that is due.
  [[nodiscard]] std::optional<WorkCandidate> head_of_session(Search& search, const std::string& session);
  [[nodiscard]] bool may_take(Search& search, std::string_view session);

  Sessions& sessions_;
  Statement next_session_;
  Statement next_tag_;
  Statement next_name_;
  Statement slice_;
  Statement later_in_slice_;
  Statement sessions_by_time_;
  Statement next_of_sessions_;
};

}  // namespace duramen::inline v0::sqlite::detail
