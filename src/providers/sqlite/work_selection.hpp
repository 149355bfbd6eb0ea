// Which waiting activities a fetch gets.
//
// Waiting rows stand in lanes, one for each (session, tag, name). A lane is wanted or not as a whole, so a
// selection skips from lane to lane in the index and reads only the heads of those it wants: what it costs
// depends on how many lanes there are, not on how many rows wait in lanes that it must not touch.
//
// Rows of sessions are looked at in the order of their time first, as usually most of them may be taken. If
// too many of those at the front are somebody else's, they are looked at session by session.
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
  bool retried = false;  ///< it was handed out before without an end
  ActivityKey key;
  std::optional<std::string> session;

  [[nodiscard]] bool before(const WorkCandidate& other) const noexcept {
    return visible_at != other.visible_at ? visible_at < other.visible_at : position < other.position;
  }
};

struct WorkSelected {
  std::vector<WorkCandidate> rows;    ///< in the order in which they go
  std::optional<TimePoint> next_due;  ///< when there may be more that is wanted
};

class WorkSelection {
 public:
  WorkSelection(Connection& connection, Sessions& sessions);

  /// At most `limit` rows, longest waiting first; one that was handed out before goes alone. Only reads.
  [[nodiscard]] WorkSelected select(const TransactionTime& time, const ActivityFetch& request,
                                    std::size_t limit);

 private:
  struct QueueSlice {
    std::optional<std::string> session;
    std::optional<std::string> tag;
    std::string name;
  };
  /// One call of select: what it was asked, and what it has found so far.
  struct Search {
    const TransactionTime& time;
    const ActivityFetch& request;
    std::size_t limit;
    std::vector<WorkCandidate> fresh = {};
    std::optional<WorkCandidate> retried = {};  ///< the first of them
    std::optional<TimePoint> next_due = {};
    /// Until when somebody else has a session; empty: it may be taken.
    std::map<std::string, std::optional<std::int64_t>, std::less<>> taken_until = {};

    [[nodiscard]] bool wants_name(std::string_view name) const;
    [[nodiscard]] bool wants_tag(const std::optional<std::string>& tag) const;
    void add(WorkCandidate candidate);
    void lower_due(TimePoint due);
  };
  class Admission;

  template <class Visit>
  void each_lane(const Search& search, const std::optional<std::string>& session, Visit visit);
  template <class Visit>
  void each_name(const Search& search, const std::optional<std::string>& session,
                 const std::optional<std::string>& tag, Visit visit);
  /// Adds the due rows at the head of a lane and says when the next one comes.
  void read_lane(Search& search, const QueueSlice& lane);
  void read_sessions(Search& search);
  [[nodiscard]] bool read_sessions_by_time(Search& search);
  void read_sessions_one_by_one(Search& search);
  /// The first due row of a session that is wanted.
  [[nodiscard]] std::optional<WorkCandidate> head_of_session(Search& search, const std::string& session);
  [[nodiscard]] bool may_take(Search& search, std::string_view session);

  Sessions& sessions_;
  Statement next_session_;
  Statement next_tag_;
  Statement next_name_;
  Statement lane_;
  Statement later_in_lane_;
  Statement sessions_by_time_;
  Statement next_of_sessions_;
};

}  // namespace duramen::inline v0::sqlite::detail
