#include "providers/postgres/conninfo.hpp"

#include "providers/postgres/error.hpp"

#include <libpq-fe.h>

#include <memory>

namespace duramen::inline v0::postgres::detail {

namespace {

/// What libpq would do without being told is not always what a store needs.
constexpr std::pair<const char*, const char*> defaults[] = {
    {"fallback_application_name", "duramen"},
    {"connect_timeout", "10"},
    // A machine that vanished is noticed after this, not after the kernel's quarter of an hour.
    {"tcp_user_timeout", "20000"},
};

}  // namespace

ConnInfo::ConnInfo(const std::string& text) {
  char* why = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> options{
      PQconninfoParse(text.c_str(), &why), PQconninfoFree};
  PQfreemem(why);  // may quote the string
  if (!options) {
    throw StoreError(
        {ErrorCode::invalid_argument, "",
         "the connection string cannot be read (it is not shown, as it may hold a password); write "
         "\"host=... dbname=... user=...\" or \"postgresql://user@host/database\"",
         false});
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
}

}  // namespace duramen::inline v0::postgres::detail
