// Argument checks before a store call, so that a bad argument costs no call and the error names it.
#pragma once

#include <duramen/management.hpp>
#include <duramen/provider.hpp>
#include <duramen/result.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace duramen::inline v0::client {

/// `what` is a noun like "an instance id".
[[nodiscard]] Result<void> check_name(const char* operation, const char* what, std::string_view name);
[[nodiscard]] Result<void> check_instance(const char* operation, const InstanceId& instance);
/// The person or program that asks for something.
[[nodiscard]] Result<void> check_requester(const char* operation,
                                           const std::optional<std::string>& requested_by);
[[nodiscard]] Result<void> check_start(const StartRequest& request, std::size_t max_payload_bytes);
[[nodiscard]] Result<void> check_message(const OutboundMessage& message, std::size_t max_payload_bytes);
[[nodiscard]] Result<void> check_cancel(const char* operation, std::string_view reason);
/// Checks that its ids and names are valid.
[[nodiscard]] Result<void> check_filter(const char* operation, const InstanceFilter& filter);
/// Like check_filter(), and the filter must restrict something: a forgotten line must not cancel or delete
/// everything.
[[nodiscard]] Result<void> check_restricting(const char* operation, const InstanceFilter& filter);
[[nodiscard]] Result<void> check_prune(const PruneOptions& options);

}  // namespace duramen::inline v0::client
