// How long and how large things may be.
//
// The client, orchestrations and the registry check what they are given against these limits, before anything
// is stored: the client returns `limit_exceeded`, a call in an orchestration throws LimitError. Every store
// can hold what is within them.
#pragma once

#include <cstddef>

namespace duramen::inline v0 {

/// How many bytes a name may have: an instance id (a child's included), the name of an orchestration, an
/// activity, an event, a queue, a session or a key, a version, a message id.
inline constexpr std::size_t max_name_bytes = 1024;
/// How many bytes the tag of an activity may have.
inline constexpr std::size_t max_tag_bytes = 256;
/// How many bytes the reason of a cancellation may have.
inline constexpr std::size_t max_reason_bytes = std::size_t{16} << 10u;
/// How many bytes the custom status of an instance may have.
inline constexpr std::size_t max_custom_status_bytes = std::size_t{256} << 10u;
/// How many key-values an instance may have, and how many bytes the value of one.
inline constexpr std::size_t max_keys = 100;
inline constexpr std::size_t max_key_value_bytes = std::size_t{16} << 10u;
/// How many bytes of a Failure's message, and of its details, are stored.
inline constexpr std::size_t max_failure_bytes = std::size_t{64} << 10u;
/// How many bytes a payload (an input, a result, the data of an event) may have: 2 MiB, unless
/// RuntimeOptions::max_payload_bytes and ClientOptions::max_payload_bytes say otherwise, which may say
/// payload_ceiling at most.
inline constexpr std::size_t default_payload_limit = std::size_t{2} << 20u;
inline constexpr std::size_t payload_ceiling = std::size_t{128} << 20u;

}  // namespace duramen::inline v0
