#include "providers/sqlite/work_selection.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace duramen::inline v0::sqlite::detail {

namespace {

// At most this many rows of sessions are read in the order of time; then each session is read separately.
constexpr int look_by_time = 256;

constexpr std::string_view slices =
    "FROM duramen_worker_queue INDEXED BY duramen_worker_queue_lanes WHERE lease_token IS NULL ";
constexpr std::string_view of_sessions =
    "FROM duramen_worker_queue INDEXED BY duramen_worker_queue_sessions_waiting "
    "WHERE lease_token IS NULL AND session_id IS NOT NULL ";

/// The first text after this one: no stored text contains a NUL.
std::string after(std::string text) {
  text.push_back('\0');
  return text;
}

/// True if the first column has another text. Damaged values of other types sort after all texts, so none of
/// them hides a text.
bool next_text(Cursor& run) { return run.step() && run.is_text(0); }

/// Columns: visible_at, position, attempt, instance_key, execution, activity.
WorkCandidate read_candidate(const Cursor& run, std::optional<std::string> session) {
  return {.visible_at = run.integer(0),
          .position = run.integer(1),
          .retried = run.integer(2) > 0,
          .key = {Incarnation{run.number(3)}, ExecutionId{run.number(4)}, EventId{run.number(5)}},
          .session = std::move(session)};
}

}  // namespace

/// Accepts rows until their sessions reach the limit.
class WorkSelection::Admission {
 public:
  explicit Admission(const SessionClaim& claim)
      : admitted_(claim.active.begin(), claim.active.end()), most_(claim.max_active) {}

  [[nodiscard]] bool would_admit(const std::string& session) const {
    return admitted_.contains(session) || admitted_.size() < most_;
  }
  bool admit(const std::string& session) {
    if (!would_admit(session)) return false;
    admitted_.insert(session);
    return true;
  }

 private:
  std::set<std::string> admitted_;
  std::size_t most_;
};

WorkSelection::WorkSelection(Connection& connection, Sessions& sessions)
    : sessions_(sessions),
      next_session_(connection, "SELECT session_id " + std::string(slices) +
                                    "AND session_id >= ? ORDER BY session_id LIMIT 1"),
      next_tag_(connection, "SELECT tag " + std::string(slices) +
                                "AND session_id IS ? AND tag >= ? ORDER BY tag LIMIT 1"),
      next_name_(connection, "SELECT name " + std::string(slices) +
                                 "AND session_id IS ? AND tag IS ? AND name >= ? ORDER BY name LIMIT 1"),
      slice_(connection, "SELECT visible_at, position, attempt, instance_key, execution, activity " +
                             std::string(slices) +
                             "AND session_id IS ? AND tag IS ? AND name = ? ORDER BY visible_at, position"),
      later_in_slice_(connection, "SELECT visible_at " + std::string(slices) +
                                      "AND session_id IS ? AND tag IS ? AND name = ? AND visible_at > ? "
                                      "ORDER BY visible_at LIMIT 1"),
      sessions_by_time_(
          connection,
          "SELECT visible_at, position, attempt, instance_key, execution, activity, session_id, "
          "tag, name " +
              std::string(of_sessions) + "AND visible_at <= ? ORDER BY visible_at, position"),
      next_of_sessions_(connection, "SELECT visible_at " + std::string(of_sessions) +
                                        "AND visible_at > ? ORDER BY visible_at LIMIT 1") {}

bool WorkSelection::Search::wants_name(std::string_view name) const {
  return !request.names || std::ranges::find(*request.names, name) != request.names->end();
}

bool WorkSelection::Search::wants_tag(const std::optional<std::string>& tag) const {
  return request.tags.accepts(tag);
}

void WorkSelection::Search::add(WorkCandidate candidate) {
  if (!candidate.retried) {
    fresh.push_back(std::move(candidate));
  } else if (!retried || candidate.before(*retried)) {
    retried = std::move(candidate);
  }
}

void WorkSelection::Search::lower_due(TimePoint due) {
  if (!next_due || due < *next_due) next_due = due;
}

WorkSelected WorkSelection::select(const TransactionTime& time, const ActivityFetch& request,
                                   std::size_t limit) {
  Search search{.time = time, .request = request, .limit = limit};
  each_slice(search, std::nullopt, [&](const QueueSlice& slice) { read_slice(search, slice); });
  if (request.sessions) read_sessions(search);

  std::ranges::sort(search.fresh, [](const auto& a, const auto& b) { return a.before(b); });
  WorkSelected selected{.rows = {}, .next_due = search.next_due};
  // An activity that was handed out before and not finished may have crashed its worker. It is handed out
  // alone, when it is the longest waiting; until then the rows behind it go first.
  const bool alone = search.retried && (search.fresh.empty() || search.retried->before(search.fresh.front()));
  if (alone) {
    if (limit > 0) selected.rows.push_back(std::move(*search.retried));
  } else {
    if (search.fresh.size() > limit) search.fresh.resize(limit);
    selected.rows = std::move(search.fresh);
  }
  return selected;
}

template <class Visit>
void WorkSelection::each_name(const Search& search, const std::optional<std::string>& session,
                              const std::optional<std::string>& tag, Visit visit) {
  std::string from;
  while (true) {
    QueueSlice slice{.session = session, .tag = tag, .name = {}};
    {
      Cursor run = next_name_.run(session, tag, from);
      if (!next_text(run)) return;
      slice.name = run.string(0);
    }
    from = after(slice.name);
    if (search.wants_name(slice.name)) visit(slice);
  }
}

template <class Visit>
void WorkSelection::each_slice(const Search& search, const std::optional<std::string>& session, Visit visit) {
  const TagFilter& tags = search.request.tags;
  if (tags.untagged) each_name(search, session, std::nullopt, visit);
  if (!tags.every_tag) {
    const std::set<std::string> wanted(tags.tags.begin(), tags.tags.end());
    for (const std::string& tag : wanted) each_name(search, session, tag, visit);
    return;
  }
  std::string from;
  while (true) {
    std::string tag;
    {
      Cursor run = next_tag_.run(session, from);
      if (!next_text(run)) return;
      tag = run.string(0);
    }
    from = after(tag);
    each_name(search, session, tag, visit);
  }
}

void WorkSelection::read_slice(Search& search, const QueueSlice& slice) {
  std::size_t taken = 0;
  {
    Cursor run = slice_.run(slice.session, slice.tag, slice.name);
    while (taken < search.limit && run.step()) {
      if (run.integer(0) > search.time.lease_now)
        return search.lower_due(search.time.wall_time(run.integer(0)));
      WorkCandidate candidate = read_candidate(run, slice.session);
      if (!candidate.retried) ++taken;
      search.add(std::move(candidate));
    }
    if (taken < search.limit) return;  // no more rows
  }
  Cursor run = later_in_slice_.run(slice.session, slice.tag, slice.name, search.time.lease_now);
  if (run.step()) search.lower_due(search.time.wall_time(run.integer(0)));
}

// -- sessions -------------------------------------------------------------------------------------

bool WorkSelection::may_take(Search& search, std::string_view session) {
  auto known = search.taken_until.find(session);
  if (known == search.taken_until.end()) {
    const auto until = sessions_.taken_until(search.time, session, search.request.sessions->owner);
    known = search.taken_until.emplace(session, until).first;
    if (until) search.lower_due(search.time.wall_time(*until));
  }
  return !known->second;
}

void WorkSelection::read_sessions(Search& search) {
  {
    Cursor run = next_of_sessions_.run(search.time.lease_now);
    if (run.step()) search.lower_due(search.time.wall_time(run.integer(0)));
  }
  if (!read_sessions_by_time(search)) read_sessions_one_by_one(search);
}

/// Returns false and adds nothing if it would have to read too many rows.
bool WorkSelection::read_sessions_by_time(Search& search) {
  Admission admission{*search.request.sessions};
  std::vector<WorkCandidate> found;
  std::size_t fresh = 0;
  Cursor run = sessions_by_time_.run(search.time.lease_now);
  for (int looked_at = 0; fresh < search.limit && run.step(); ++looked_at) {
    if (looked_at == look_by_time) return false;
    if (!search.wants_name(run.text(8)) || !search.wants_tag(run.optional_string(7))) continue;
    if (!may_take(search, run.text(6))) continue;
    WorkCandidate candidate = read_candidate(run, run.string(6));
    // A row that is returned alone, or not at all, takes no place from the rows behind it.
    const std::string& session = *candidate.session;
    if (candidate.retried ? !admission.would_admit(session) : !admission.admit(session)) continue;
    if (!candidate.retried) ++fresh;
    found.push_back(std::move(candidate));
  }
  for (WorkCandidate& candidate : found) search.add(std::move(candidate));
  return true;
}

void WorkSelection::read_sessions_one_by_one(Search& search) {
  std::vector<WorkCandidate> heads;
  std::string from;
  while (true) {
    std::string session;
    {
      Cursor run = next_session_.run(from);
      if (!next_text(run)) break;
      session = run.string(0);
    }
    from = after(session);
    if (!may_take(search, session)) continue;
    if (auto head = head_of_session(search, session)) heads.push_back(std::move(*head));
  }
  std::ranges::sort(heads, [](const auto& a, const auto& b) { return a.before(b); });
  Admission admission{*search.request.sessions};
  std::size_t read = 0;
  for (const WorkCandidate& head : heads) {
    // At most as many sessions as rows can matter.
    if (read == search.limit) break;
    if (!admission.admit(*head.session)) continue;
    ++read;
    each_slice(search, head.session, [&](const QueueSlice& slice) { read_slice(search, slice); });
  }
}

std::optional<WorkCandidate> WorkSelection::head_of_session(Search& search, const std::string& session) {
  std::optional<WorkCandidate> head;
  each_slice(search, session, [&](const QueueSlice& slice) {
    Cursor run = slice_.run(slice.session, slice.tag, slice.name);
    if (!run.step() || run.integer(0) > search.time.lease_now) return;
    WorkCandidate first = read_candidate(run, session);
    if (!head || first.before(*head)) head = std::move(first);
  });
  return head;
}

}  // namespace duramen::inline v0::sqlite::detail
