#include "base/enum_names.hpp"

#include <duramen/failure.hpp>
#include <duramen/result.hpp>
#include <duramen/status.hpp>

namespace duramen::inline v0 {
namespace {

using base::name_of;
using base::NameTable;
using base::value_of;

constexpr NameTable<ErrorCode, 13> error_codes{{
    {ErrorCode::not_found, "not_found"},
    {ErrorCode::already_exists, "already_exists"},
    {ErrorCode::conflict, "conflict"},
    {ErrorCode::lease_lost, "lease_lost"},
    {ErrorCode::invalid_argument, "invalid_argument"},
    {ErrorCode::limit_exceeded, "limit_exceeded"},
    {ErrorCode::timed_out, "timed_out"},
    {ErrorCode::busy, "busy"},
    {ErrorCode::unavailable, "unavailable"},
    {ErrorCode::corrupt, "corrupt"},
    {ErrorCode::wrong_version, "wrong_version"},
    {ErrorCode::shutting_down, "shutting_down"},
    {ErrorCode::internal, "internal"},
}};

constexpr NameTable<Status, 7> statuses{{
    {Status::pending, "Pending"},
    {Status::running, "Running"},
    {Status::cancelling, "Cancelling"},
    {Status::completed, "Completed"},
    {Status::failed, "Failed"},
    {Status::cancelled, "Cancelled"},
    {Status::continued_as_new, "ContinuedAsNew"},
}};

constexpr NameTable<FailureKind, 7> failure_kinds{{
    {FailureKind::application, "application"},
    {FailureKind::timeout, "timeout"},
    {FailureKind::cancelled, "cancelled"},
    {FailureKind::poison, "poison"},
    {FailureKind::nondeterminism, "nondeterminism"},
    {FailureKind::limit, "limit"},
    {FailureKind::infrastructure, "infrastructure"},
}};

constexpr NameTable<TimeoutKind, 4> timeout_kinds{{
    {TimeoutKind::schedule_to_start, "schedule_to_start"},
    {TimeoutKind::start_to_close, "start_to_close"},
    {TimeoutKind::heartbeat, "heartbeat"},
    {TimeoutKind::total, "total"},
}};

constexpr NameTable<CancelReason, 10> cancel_reasons{{
    {CancelReason::dropped_future, "dropped_future"},
    {CancelReason::select_loser, "select_loser"},
    {CancelReason::timeout, "timeout"},
    {CancelReason::orchestration_terminal_completed, "orchestration_terminal_completed"},
    {CancelReason::orchestration_terminal_failed, "orchestration_terminal_failed"},
    {CancelReason::orchestration_terminal_cancelled, "orchestration_terminal_cancelled"},
    {CancelReason::orchestration_terminal_continued_as_new, "orchestration_terminal_continued_as_new"},
    {CancelReason::parent_cancelled, "parent_cancelled"},
    {CancelReason::instance_deleted, "instance_deleted"},
    {CancelReason::poison, "poison"},
}};

static_assert(base::in_enum_order(error_codes) && base::in_enum_order(statuses) &&
              base::in_enum_order(failure_kinds) && base::in_enum_order(timeout_kinds) &&
              base::in_enum_order(cancel_reasons));

}  // namespace

std::string_view to_string(ErrorCode code) noexcept { return name_of(error_codes, code); }

std::string_view to_string(Status status) noexcept { return name_of(statuses, status); }
std::optional<Status> parse_status(std::string_view text) noexcept { return value_of(statuses, text); }

std::string_view to_string(FailureKind kind) noexcept { return name_of(failure_kinds, kind); }
std::string_view to_string(TimeoutKind kind) noexcept { return name_of(timeout_kinds, kind); }
std::string_view to_string(CancelReason reason) noexcept { return name_of(cancel_reasons, reason); }

std::optional<FailureKind> parse_failure_kind(std::string_view text) noexcept {
  return value_of(failure_kinds, text);
}
std::optional<TimeoutKind> parse_timeout_kind(std::string_view text) noexcept {
  return value_of(timeout_kinds, text);
}
std::optional<CancelReason> parse_cancel_reason(std::string_view text) noexcept {
  return value_of(cancel_reasons, text);
}

}  // namespace duramen::inline v0

namespace duramen::base {
namespace {

constexpr NameTable<CancelMode, 2> modes{{
    {CancelMode::graceful, "graceful"},
    {CancelMode::terminate, "terminate"},
}};
constexpr NameTable<CancelOrigin, 2> origins{{
    {CancelOrigin::client, "client"},
    {CancelOrigin::parent, "parent"},
}};
static_assert(in_enum_order(modes) && in_enum_order(origins));

template <class E, std::size_t N>
bool parse_into(const NameTable<E, N>& table, std::string_view text, E& out) noexcept {
  const std::optional<E> value = value_of(table, text);
  if (value) out = *value;
  return value.has_value();
}

}  // namespace

std::string_view name(CancelMode mode) noexcept { return name_of(modes, mode); }
std::string_view name(CancelOrigin origin) noexcept { return name_of(origins, origin); }
bool parse(std::string_view text, CancelMode& out) noexcept { return parse_into(modes, text, out); }
bool parse(std::string_view text, CancelOrigin& out) noexcept { return parse_into(origins, text, out); }

}  // namespace duramen::base
