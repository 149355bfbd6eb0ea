#include "providers/postgres/conninfo.hpp"

#include "providers/postgres/error.hpp"
#include <duramen/store.hpp>

#include <libpq-fe.h>

#include <memory>

namespace duramen::inline v0::postgres::detail {

namespace {

/// Defaults for a store, where libpq has other ones.
constexpr std::pair<const char*, const char*> defaults[] = {
    {"fallback_application_name", "duramen"},
    {"connect_timeout", "10"},
    // A lost machine is noticed after this, not after the kernel's quarter of an hour.
    {"tcp_user_timeout", "20000"},
};

/// In a URI, an unencoded / ends user and password early: the rest of the password, up to the intended @,
/// would be read as the database, and be shown.
bool has_at_in_path(const std::string& text) {
  const std::size_t scheme = text.find("://");
  if (!text.starts_with("postgres") || scheme == std::string::npos) return false;
  const std::string rest = text.substr(scheme + 3, text.find('?', scheme) - scheme - 3);
  const std::size_t slash = rest.find('/');
  return slash != std::string::npos && rest.find('@', slash) != std::string::npos;
}

[[noreturn]] void refuse(const char* why) { throw StoreError({ErrorCode::invalid_argument, "", why, false}); }

}  // namespace

ConnInfo::ConnInfo(const std::string& text) {
  char* why = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options{
      PQconninfoParse(text.c_str(), &why), PQconninfoFree};
  PQfreemem(why);  // may quote the string
  if (!options) {
    refuse(
        "the connection string cannot be read (it is not shown, because it may contain a password); write "
        "\"host=... dbname=... user=...\" or \"postgresql://user@host/database\"");
  }
  std::string host, port, database, user;
  bool chooses_session = false;
  for (const PQconninfoOption* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr) continue;
    const std::string keyword = option->keyword;
    values_.emplace_back(keyword, option->val);
    if (keyword == "host" || (keyword == "hostaddr" && host.empty())) host = option->val;
    if (keyword == "port") port = option->val;
    if (keyword == "dbname") database = option->val;
    if (keyword == "user") user = option->val;
    if (keyword == "target_session_attrs") chooses_session = true;
  }
  const bool odd_host = host.find('@', 1) != std::string::npos && host.front() != '/';
  const bool odd_port = port.find_first_not_of("0123456789,") != std::string::npos;
  if (odd_host || odd_port || has_at_in_path(text)) {
    refuse(
        "the connection string is ambiguous (it is not shown: a part of a password may be in the place of "
        "the "
        "host, the port or the database); in a URI write an @ as %40, a / as %2F, a : as %3A and a ? as %3F");
  }
  const auto has = [&](const std::string& keyword) {
    for (const auto& [known, value] : values_) {
      if (known == keyword) return true;
    }
    return false;
  };
  for (const auto& [keyword, value] : defaults) {
    if (!has(keyword)) values_.emplace_back(keyword, value);
  }
  if (!has("client_encoding")) values_.emplace_back("client_encoding", "UTF8");
  if (!chooses_session && host.find(',') != std::string::npos) {
    values_.emplace_back("target_session_attrs", "read-write");
  }
  description_ = "database" + (database.empty() ? std::string() : " '" + database + "'");
  const bool says_port = port.find_first_not_of(',') != std::string::npos;
  if (!host.empty()) description_ += " at " + host + (says_port ? ":" + port : std::string());
  if (!user.empty()) description_ += " as '" + user + "'";
  description_ = without_secrets(description_);
}

}  // namespace duramen::inline v0::postgres::detail
