// The code of docs/guides/managing-instances.md.
#include <duramen/duramen.hpp>

#include <iostream>

namespace dm = duramen;
using namespace std::chrono_literals;

struct Receipt {};
void to_json(nlohmann::json& json, const Receipt&) { json = nullptr; }
void from_json(const nlohmann::json&, Receipt&) {}
inline constexpr dm::Orchestration<Receipt(std::string)> Checkout{"checkout"};
void use(const Receipt& receipt);

void look_after(const dm::Store& store, dm::TimePoint yesterday, dm::TimePoint a_month_ago);
void wait_for_one(dm::Client& client);
void prune(dm::Client& client, const dm::InstanceFilter& everything, dm::TimePoint a_month_ago);

void use(const Receipt&) {}

void look_after(const dm::Store& store, dm::TimePoint yesterday, dm::TimePoint a_month_ago) {
  // [all]
  dm::Client client{store};

  dm::InstanceQuery failed;
  failed.filter.statuses = {dm::Status::failed};
  failed.filter.created_from = yesterday;
  failed.with_results = true;
  client
      .for_each_instance(failed,
                         [](const dm::InstanceInfo& info) {
                           std::cout << info.instance.value << ": " << info.failure->describe() << "\n";
                         })
      .value();

  dm::InstanceFilter customer;
  customer.id_prefix = "acme-";
  client.cancel_instances(customer, "account closed").value();

  dm::InstanceFilter old;
  old.ended_before = a_month_ago;
  client.delete_instances(old).value();
  // [/all]
  // [cancel]
  client.cancel("order-17", "customer changed her mind").value();
  // [/cancel]
  // [plan]
  auto plan =
      client.cancel_instances(customer, "account closed", dm::CancelMode::graceful, {.dry_run = true});
  std::cout << plan->matched.size() << " instances\n";
  // [/plan]
}

void wait_for_one(dm::Client& client) {
  // [wait]
  auto end = client.wait("order-17", Checkout, 30s);  // Checkout is a dm::Orchestration<Receipt(std::string)>
  if (!end) {
    std::cerr << end.error().describe();  // timed_out, not_found, or trouble with the store
  } else if (*end) {
    use(end->value());  // a Receipt
  } else {
    std::cerr << end->failure()->describe();
  }
  // [/wait]
}

void prune(dm::Client& client, const dm::InstanceFilter& everything, dm::TimePoint a_month_ago) {
  // [prune]
  client.prune_executions("ticker", {.keep_last = 10}).value();
  client.prune_executions(everything, {.ended_before = a_month_ago}).value();
  // [/prune]
}
