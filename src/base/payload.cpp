// The rules for payloads.

#include "base/utf8.hpp"
#include <duramen/codec.hpp>

#include <cstring>

namespace duramen::inline v0 {
namespace {

Error refused(ErrorCode code, std::string message) {
  return Error{.code = code, .operation = "check_payload", .message = std::move(message)};
}

}  // namespace

Result<void> check_payload(const Payload& payload, std::size_t limit) {
  const std::string& data = payload.data;
  if (data.size() > limit) {
    return refused(ErrorCode::limit_exceeded,
                   "the payload has " + std::to_string(data.size()) + " bytes, the limit is " +
                       std::to_string(limit) +
                       "; store the data elsewhere and pass a reference, or raise max_payload_bytes "
                       "(RuntimeOptions, ClientOptions)");
  }
  const std::size_t nul = data.find('\0');
  if (nul != std::string::npos) {
    return refused(ErrorCode::invalid_argument, "the payload has a NUL byte at offset " +
                                                    std::to_string(nul) +
                                                    "; encode binary data as text, for example as base64");
  }
  if (!base::is_utf8(data)) {
    return refused(ErrorCode::invalid_argument,
                   "the payload is not valid UTF-8; convert the text, or encode binary data as base64");
  }
  return {};
}

}  // namespace duramen::inline v0
