// The code of docs/guides/observability.md.
#include <duramen/duramen.hpp>

#include <functional>
#include <iostream>

namespace dm = duramen;

struct HttpServer {
  std::function<std::string()> page;
  void get(const std::string&, std::function<std::string()> answer) { page = std::move(answer); }
};

std::string watch(const dm::Store& store, const dm::Registry& registry, HttpServer& my_http_server);
void explain(dm::Client& client);

std::string watch(const dm::Store& store, const dm::Registry& registry, HttpServer& my_http_server) {
  // [set_up]
  auto metrics = std::make_shared<dm::PrometheusMetrics>();
  dm::RuntimeOptions options;
  options.log = dm::json_log(dm::LogLevel::info);
  options.metrics = metrics;
  dm::Runtime runtime{store, registry, options};

  my_http_server.get("/metrics", [metrics] { return metrics->text(); });
  // [/set_up]
  // [own_log]
  options.log = [](const dm::LogRecord& record) {
    std::clog << to_string(record.level) << " " << record.message << "\n";
  };
  // [/own_log]
  return my_http_server.page();
}

void explain(dm::Client& client) {
  // [explain]
  auto answer = client.explain("order-17");
  if (answer) std::cout << answer->text;
  // [/explain]
}
