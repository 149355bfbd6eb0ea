#include "client/arguments.hpp"

#include "base/name_check.hpp"
#include "base/overloaded.hpp"
#include "client/errors.hpp"
#include <duramen/client.hpp>
#include <duramen/codec.hpp>
#include <duramen/detail/mutant.hpp>
#include <duramen/limits.hpp>

namespace duramen::inline v0::client {

namespace {

Result<void> as_result(const char* operation, std::optional<base::NameProblem> problem) {
  if (!problem) return {};
  const bool too_long = problem->kind == base::NameProblem::Kind::too_long;
  return Error{too_long ? ErrorCode::limit_exceeded : ErrorCode::invalid_argument, operation,
               std::move(problem->message), false};
}

Result<void> check_text(const char* operation, const char* what, std::string_view text, std::size_t limit) {
  return as_result(operation, base::text_problem(what, text, limit));
}

Result<void> check_data(const char* operation, const Payload& data, std::size_t limit) {
  Result<void> ok = check_payload(data, limit);
  if (!ok) ok.error().operation = operation;
  return ok;
}

Result<void> check_all(std::initializer_list<Result<void>> checks) {
  for (const Result<void>& check : checks) {
    if (!check) return check;
  }
  return {};
}

Result<void> check_optional(const char* operation, const char* what, const std::optional<std::string>& name) {
  return name ? check_name(operation, what, *name) : Result<void>{};
}

/// A version that cannot be registered would never run.
Result<void> check_version(const std::optional<std::string>& version) {
  if (!version) return {};
  if (detail::mutant("any_version_is_started")) return check_name("start", "a version", *version);
  return as_result("start", base::version_problem(*version));
}

bool restricts(const InstanceFilter& f) {
  return f.ids || f.id_prefix || f.name || f.version || !f.statuses.empty() || f.parent || f.created_from ||
         f.created_before || f.ended_before;
}

}  // namespace

Result<void> check_name(const char* operation, const char* what, std::string_view name) {
  return as_result(operation, base::name_problem(what, name));
}

Result<void> check_instance(const char* operation, const InstanceId& instance) {
  return check_name(operation, "an instance id", instance.value);
}

Result<void> check_requester(const char* operation, const std::optional<std::string>& requested_by) {
  return check_optional(operation, "the name of a requester", requested_by);
}

Result<void> check_start(const StartRequest& request, std::size_t max_payload_bytes) {
  return check_all({check_instance("start", request.instance),
                    check_name("start", "the name of an orchestration", request.start.orchestration),
                    check_version(request.start.version),
                    check_requester("start", request.start.requested_by),
                    check_data("start", request.start.input, max_payload_bytes)});
}

Result<void> check_message(const OutboundMessage& message, std::size_t max_payload_bytes) {
  const auto check = [&](const char* operation, const char* what, const std::string& name,
                         const Payload& data) {
    return check_all({check_instance(operation, message.target), check_name(operation, what, name),
                      check_optional(operation, "a message id", message.message_id),
                      check_data(operation, data, max_payload_bytes)});
  };
  return std::visit(Overloaded{
                        [&](const message::ExternalRaised& m) {
                          return check("raise_event", "the name of an event", m.name, m.data);
                        },
                        [&](const message::QueueMessage& m) {
                          return check("enqueue_event", "the name of a queue", m.name, m.data);
                        },
                        [](const auto&) { return Result<void>{}; },
                    },
                    message.body);
}

Result<void> check_cancel(const char* operation, std::string_view reason) {
  return check_text(operation, "the reason of a cancellation", reason, max_reason_bytes);
}

Result<void> check_filter(const char* operation, const InstanceFilter& filter) {
  if (filter.ids) {
    for (const InstanceId& id : *filter.ids) {
      if (Result<void> ok = check_instance(operation, id); !ok) return ok;
    }
  }
  return check_all({
      check_text(operation, "the beginning of an instance id", filter.id_prefix.value_or(""), max_name_bytes),
      check_optional(operation, "the name of an orchestration", filter.name),
      check_text(operation, "a version", filter.version.value_or(""), max_name_bytes),
      filter.parent ? check_instance(operation, *filter.parent) : Result<void>{},
  });
}

Result<void> check_restricting(const char* operation, const InstanceFilter& filter) {
  if (!restricts(filter)) {
    return bad_argument(
        operation,
        "an empty filter would match every instance; name ids, a name, statuses or times, or give an "
        "empty id_prefix if every instance is meant");
  }
  return check_filter(operation, filter);
}

Result<void> check_prune(const PruneOptions& options) {
  if (options.keep_last || options.ended_before) return {};
  return bad_argument(
      "prune_executions",
      "empty options would remove every execution but the current one; give keep_last (how many to "
      "keep), ended_before (how old they must be), or both");
}

}  // namespace duramen::inline v0::client
