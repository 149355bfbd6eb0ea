// OrchestrationContext: the public interface of an Execution.
#include "core/execution.hpp"
#include <duramen/orchestration.hpp>

#include <exception>
#include <utility>

namespace duramen::inline v0 {

namespace {

/// Ends the execution when it is awaited. Never done, unless its version or input is refused.
class ContinueAsNew final : public detail::Operation {
 public:
  ContinueAsNew(core::Execution& execution, Payload input, std::optional<std::string> version,
                std::source_location where)
      : Operation(execution), input_(std::move(input)), version_(std::move(version)), where_(where) {}
  void drop(CancelReason /*reason*/) noexcept override {}
  static Never take(detail::Operation& operation, void (* /*unused*/)()) {
    std::rethrow_exception(static_cast<ContinueAsNew&>(operation).refused_);
  }

 private:
  void do_start() override {
    try {
      execution().continue_as_new(std::move(input_), std::move(version_), where_);
    } catch (const DurableError&) {
      refused_ = std::current_exception();
      complete();
    }
  }

  Payload input_;
  std::optional<std::string> version_;
  std::source_location where_;
  std::exception_ptr refused_;
};

TimePoint read_time(detail::Operation& operation, void (* /*unused*/)()) {
  return from_unix_ms(decode_payload<std::int64_t>(static_cast<detail::Leaf&>(operation).require()));
}

}  // namespace

const InstanceId& OrchestrationContext::instance_id() const noexcept {
  return execution_.identity().instance;
}
ExecutionId OrchestrationContext::execution_id() const noexcept { return execution_.identity().execution; }
const std::string& OrchestrationContext::orchestration_name() const noexcept { return execution_.name(); }
const std::string& OrchestrationContext::orchestration_version() const noexcept {
  return execution_.version();
}
bool OrchestrationContext::is_replaying() const noexcept { return execution_.is_replaying(); }

std::unique_ptr<detail::Operation> OrchestrationContext::make_leaf(detail::LeafRequest request,
                                                                   std::source_location where) {
  return std::make_unique<detail::Leaf>(execution_, std::move(request), where);
}

DurableFuture<TimePoint> OrchestrationContext::utc_now(std::source_location where) {
  return DurableFuture<TimePoint>(make_leaf(detail::RecordedValue::utc_now, where), &read_time);
}

DurableFuture<Never> OrchestrationContext::continue_with(Payload input, std::optional<std::string> version,
                                                         std::source_location where) {
  return DurableFuture<Never>(
      std::make_unique<ContinueAsNew>(execution_, std::move(input), std::move(version), where),
      &ContinueAsNew::take);
}

void OrchestrationContext::chain(event::OrchestrationChained start, std::source_location where) {
  execution_.chain(std::move(start), where);
}

void OrchestrationContext::set_custom_status(std::string status, std::source_location where) {
  execution_.set_custom_status(std::move(status), where);
}
#ifdef DURAMEN_TEST_LEVEL_2
void OrchestrationContext::test_mark(std::string name, std::source_location where) {
  execution_.test_mark(std::move(name), where);
}
#endif
void OrchestrationContext::reset_custom_status(std::source_location where) {
  execution_.set_custom_status(std::nullopt, where);
}
const std::optional<std::string>& OrchestrationContext::get_custom_status() const noexcept {
  return execution_.custom_status();
}

void OrchestrationContext::set_kv(std::string key, Payload value, std::source_location where) {
  execution_.set_key_value(std::move(key), std::move(value), where);
}
const KeyValueEntry* OrchestrationContext::find_kv(const std::string& key) const noexcept {
  const auto found = execution_.key_values().find(key);
  return found == execution_.key_values().end() ? nullptr : &found->second;
}
const KeyValues& OrchestrationContext::get_kv_all_values() const noexcept { return execution_.key_values(); }
void OrchestrationContext::clear_kv_value(std::string key, std::source_location where) {
  execution_.clear_key_value(std::move(key), where);
}
void OrchestrationContext::clear_all_kv_values(std::source_location where) {
  execution_.clear_key_values(where);
}

std::size_t OrchestrationContext::prune_kv_values_updated_before(TimePoint time, std::source_location where) {
  std::vector<std::string> old;
  for (const auto& [key, entry] : execution_.key_values()) {
    if (entry.updated_at < time) old.push_back(key);
  }
  for (std::string& key : old) execution_.clear_key_value(std::move(key), where);
  return old.size();
}

void OrchestrationContext::trace(LogLevel level, std::string text) {
  execution_.trace(level, std::move(text));
}

}  // namespace duramen::inline v0
