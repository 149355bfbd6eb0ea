// duramen kv: the key-values of an instance.
#include "commands.hpp"
#include "text.hpp"
#include "values.hpp"

namespace duramen::cli {

namespace {

Answer key_value_answer(const InstanceId& instance, const std::string& key, const Payload& value) {
  Answer answer;
  JsonObject object;
  object.add("instance_id", instance).add("key", key);
  add_payload(object, "value", value);
  answer.documents.push_back(object);
  // Only the value, so that scripts can use it.
  answer.page.emplace_back(Verbatim{value.data + "\n"});
  return answer;
}

Result<Answer> one_key(Session& session, const KvArguments& arguments) {
  const std::string& key = *arguments.key;
  if (arguments.wait) {
    Result<Payload> value = session.client.wait_for_key_value(arguments.instance, key,
                                                              arguments.timeout.value_or(Duration::max()));
    if (!value) return value.error();
    return key_value_answer(arguments.instance, key, *value);
  }
  Result<std::optional<Payload>> value = session.client.get_key_value(arguments.instance, key);
  if (!value) return value.error();
  if (!*value) {
    return Error{ErrorCode::not_found, "kv",
                 "instance \"" + arguments.instance.value + "\" has no key \"" + key + "\"; duramen kv " +
                     arguments.instance.value + " lists those it has",
                 false};
  }
  return key_value_answer(arguments.instance, key, **value);
}

}  // namespace

Result<Answer> run(Session& session, const KvArguments& arguments) {
  // The key-values of an unknown instance are empty; report `not_found` instead.
  Result<InstanceInfo> info = session.client.get_instance(arguments.instance);
  if (!info && info.error().code != ErrorCode::corrupt) return info.error();
  if (arguments.key) return one_key(session, arguments);
  if (arguments.wait)
    return Error{ErrorCode::invalid_argument, "kv", "--wait needs a KEY to wait for", false};

  Result<KeyValues> values = session.client.get_key_values(arguments.instance);
  if (!values) return values.error();
  Answer answer;
  JsonObject object;
  object.add("instance_id", arguments.instance);
  object.add("key_values", json_array(*values, [](const auto& entry) -> Json {
               JsonObject one;
               one.add("key", entry.first);
               add_payload(one, "value", entry.second.value);
               return one.add("updated_at", entry.second.updated_at);
             }));
  answer.documents.push_back(object);
  if (values->empty()) {
    answer.notes.emplace_back("it has no key-values");
    return answer;
  }
  Table table;
  table.columns = {{.title = "KEY", .may_shrink_to = 16},
                   {.title = "UPDATED", .right = true},
                   {.title = "VALUE", .may_shrink_to = 20, .wraps = true}};
  for (const auto& [key, entry] : *values) {
    table.rows.push_back({key, ago(entry.updated_at, session.now()), in_short(entry.value, 1000)});
  }
  answer.page.emplace_back(std::move(table));
  return answer;
}

}  // namespace duramen::cli
