// Limits on lengths and sizes.
//
// The client, orchestrations and the registry check their arguments against these limits before anything is
// stored: the client returns `limit_exceeded`, a call in an orchestration throws LimitError, which its code
// can catch. The results of activities and orchestrations are checked when the code has ended: a result that
// is too large fails the activity or the instance with kind `limit`. Every store can hold values within them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace duramen::inline v0 {

/// Maximum bytes of a name: an instance id (also one that ChildOptions::id gives a child), the name of an
/// orchestration, an activity, an event, a queue, a session or a key, a version, a message id.
inline constexpr std::size_t max_name_bytes = 1024;
/// Maximum bytes of a node id.
inline constexpr std::size_t max_node_bytes = 128;
/// Maximum bytes of an activity's tag.
inline constexpr std::size_t max_tag_bytes = 256;
/// Maximum bytes of the reason of a cancellation.
inline constexpr std::size_t max_reason_bytes = std::size_t{16} << 10u;
/// Maximum bytes of an instance's custom status.
inline constexpr std::size_t max_custom_status_bytes = std::size_t{256} << 10u;
/// Maximum number of key-values of an instance, and maximum bytes of one value.
inline constexpr std::size_t max_keys = 100;
inline constexpr std::size_t max_key_value_bytes = std::size_t{16} << 10u;
/// Maximum stored bytes of a Failure's message, and of its details.
inline constexpr std::size_t max_failure_bytes = std::size_t{64} << 10u;
/// Maximum bytes of one line that an orchestration writes to the log.
inline constexpr std::size_t max_trace_bytes = std::size_t{64} << 10u;
/// Maximum bytes of heartbeat details that a retry of the activity receives.
inline constexpr std::size_t max_retry_details_bytes = std::size_t{64} << 10u;
/// Maximum bytes of a payload (an input, a result, the data of an event): 2 MiB by default.
/// RuntimeOptions::max_payload_bytes and ClientOptions::max_payload_bytes change it, up to payload_ceiling. A
/// custom status and the value of a key are no payloads in this sense: only their own limits apply.
inline constexpr std::size_t default_payload_limit = std::size_t{2} << 20u;
inline constexpr std::size_t payload_ceiling = std::size_t{128} << 20u;
/// Maximum number of awaits that an instance may begin after a graceful cancellation has reached it, outside
/// of shields and for one message. Each ends at once, so a retry loop would never wait. One more fails the
/// instance.
inline constexpr std::size_t max_interrupted_awaits = 100'000;
/// Maximum number of ancestors of an instance. RuntimeOptions::max_depth changes it. The number never
/// changes: a history does not store it.
inline constexpr std::uint32_t default_max_depth = 100;

}  // namespace duramen::inline v0
