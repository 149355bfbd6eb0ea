#include "core/sizes.hpp"

#include "base/overloaded.hpp"

#include <variant>

namespace duramen::inline v0::core {

namespace {

// Keys, numbers and punctuation.
constexpr std::size_t frame = 64;

std::size_t bytes_of(const Failure& failure) noexcept {
  return failure.type.size() + failure.message.size() + failure.details.size();
}

}  // namespace

std::size_t estimated_bytes(const CarriedEvent& event) noexcept {
  return frame + event.name.size() + event.data.data.size() +
         (event.requested_by ? event.requested_by->size() : 0);
}

std::size_t estimated_bytes(const EventBody& body) noexcept {
  return frame +
         std::visit(
             Overloaded{
                 [](const event::OrchestrationStarted& e) {
                   std::size_t bytes = e.name.size() + e.input.data.size();
                   for (const CarriedEvent& carried : e.carry_forward) bytes += estimated_bytes(carried);
                   return bytes;
                 },
                 [](const event::OrchestrationCancelRequested& e) { return e.reason.size(); },
                 [](const event::ActivityCompleted& e) { return e.result.data.size(); },
                 [](const event::ActivityFailed& e) {
                   return bytes_of(e.details) + (e.heartbeat ? e.heartbeat->data.size() : 0);
                 },
                 [](const event::SubOrchestrationCompleted& e) { return e.result.data.size(); },
                 [](const event::SubOrchestrationFailed& e) { return bytes_of(e.details); },
                 [](const event::ExternalEvent& e) { return e.name.size() + e.data.data.size(); },
                 [](const event::QueueEventDelivered& e) { return e.name.size() + e.data.data.size(); },
                 [](const event::ActivityScheduled& e) {
                   return e.name.size() + e.input.data.size() + (e.heartbeat ? e.heartbeat->data.size() : 0);
                 },
                 [](const event::ExternalSubscribed& e) { return e.name.size(); },
                 [](const event::QueueSubscribed& e) { return e.name.size(); },
                 [](const event::SubOrchestrationScheduled& e) {
                   return e.name.size() + e.instance.value.size() + e.input.data.size();
                 },
                 [](const event::OrchestrationChained& e) {
                   return e.name.size() + e.instance.value.size() + e.input.data.size();
                 },
                 [](const event::CustomStatusUpdated& e) { return e.status ? e.status->size() : 0; },
                 [](const event::KeyValueSet& e) { return e.key.size() + e.value.data.size(); },
                 [](const event::KeyValueCleared& e) { return e.key.size(); },
                 [](const event::SubOrchestrationCancelRequested& e) {
                   return e.text.size() + (e.requested_by ? e.requested_by->size() : 0);
                 },
                 [](const event::OrchestrationCompleted& e) { return e.output.data.size(); },
                 [](const event::OrchestrationFailed& e) { return bytes_of(e.details); },
                 [](const event::OrchestrationContinuedAsNew& e) { return e.input.data.size(); },
                 [](const auto&) { return std::size_t{0}; },
             },
             body);
}

}  // namespace duramen::inline v0::core
