#include <duramen/failure.hpp>

#include "base/bounded_failure.hpp"
#include "base/utf8.hpp"
#include <duramen/detail/json_value.hpp>
#include <duramen/detail/mutant.hpp>
#include <duramen/detail/type_name.hpp>
#include <duramen/limits.hpp>

#include <typeinfo>
#include <utility>

namespace duramen::inline v0 {
namespace {

/// Readers of a stored failure rely on JSON, and its thrower may have put anything there. Larger details are
/// not stored at all.
std::string as_json(std::string details) {
  if (details.empty() || details.size() > max_failure_bytes || detail::mutant("details_may_be_anything"))
    return details;
  if (detail::JsonDocument(details).error().empty()) return details;
  std::string text;
  detail::append_json_string(text, details);
  return text;
}

// History holds only text, and an exception's message may hold any bytes.
Failure storable(Failure failure) {
  failure.type = base::to_text(std::move(failure.type));
  failure.message = base::to_text(std::move(failure.message));
  failure.details = as_json(base::to_text(std::move(failure.details)));
  return failure;
}

Failure thrown(std::string type, std::string message) {
  Failure failure = Failure::application(std::move(type), std::move(message));
  failure.retryable = true;
  return failure;
}

Failure application_failure(std::string type, std::string message, bool retryable, std::string details) {
  Failure failure = Failure::application(std::move(type), std::move(message));
  failure.retryable = retryable;
  failure.details = std::move(details);
  return failure;
}

}  // namespace

Failure Failure::application(std::string type, std::string message) {
  Failure failure;
  failure.type = std::move(type);
  failure.message = std::move(message);
  return failure;
}

Failure Failure::cancelled(std::string reason) {
  Failure failure;
  failure.kind = FailureKind::cancelled;
  failure.message = std::move(reason);
  return failure;
}

std::string Failure::describe() const {
  if (kind == FailureKind::application) return message.empty() ? type : message;
  std::string text{to_string(kind)};
  if (timeout) text.append(" (").append(to_string(*timeout)).append(")");
  if (!message.empty()) text.append(": ").append(message);
  return text;
}

Failure failure_from(const std::exception_ptr& error) {
  if (!error) return Failure::application("unknown", "no exception was given");
  try {
    std::rethrow_exception(error);
  } catch (const DurableError& e) {
    return storable(e.failure());
  } catch (const std::exception& e) {
    return storable(thrown(detail::type_name(typeid(e)), e.what()));
  } catch (...) {
    return thrown("unknown", "something was thrown that is not a std::exception");
  }
}

DurableError::DurableError(Failure failure)
    : std::runtime_error(failure.describe()), failure_(std::move(failure)) {}

ApplicationError::ApplicationError(std::string type, std::string message, bool retryable,
                                   std::string details_json)
    : DurableError(
          application_failure(std::move(type), std::move(message), retryable, std::move(details_json))) {}

LimitError::LimitError(std::string message)
    : DurableError([&message] {
        Failure failure;
        failure.kind = FailureKind::limit;
        failure.type = "LimitExceeded";
        failure.message = std::move(message);
        return failure;
      }()) {}

}  // namespace duramen::inline v0

namespace duramen::base {
std::string cut(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const std::string mark = "... (cut: it had " + std::to_string(text.size()) + " bytes)";
  std::string kept = excerpt(text, limit - mark.size());
  kept.resize(kept.size() - 3);  // the dots are in the mark
  return kept + mark;
}

Failure bounded(Failure failure) {
  if (detail::mutant("failures_have_no_bound")) return failure;
  failure.type = cut(std::move(failure.type), max_name_bytes);
  failure.message = cut(std::move(failure.message), max_failure_bytes);
  if (failure.details.size() > max_failure_bytes) {
    failure.details = R"({"omitted":"the details had )" + std::to_string(failure.details.size()) +
                      " bytes; a failure stores at most " + std::to_string(max_failure_bytes) + R"("})";
  }
  return failure;
}

}  // namespace duramen::base
