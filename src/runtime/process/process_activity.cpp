#include "runtime/process/command.hpp"
#include <duramen/process.hpp>

#include <cstring>
#include <stdexcept>
#include <string>
#include <system_error>

namespace duramen::inline v0 {

namespace {

using runtime::ShimReport;

/// The value needs no escaping: it is a number.
std::string details_of(const char* what, int value) {
  return std::string("{\"") + what + "\":" + std::to_string(value) + "}";
}

[[noreturn]] void fail(const std::string& program, const ShimReport& report) {
  switch (report.kind) {
    case ShimReport::Kind::exited:
      throw ApplicationError("ProcessFailed", program + " ended with status " + std::to_string(report.value),
                             true, details_of("exit_status", report.value));
    case ShimReport::Kind::signalled:
      throw ApplicationError("ProcessFailed",
                             program + " was ended by signal " + std::to_string(report.value) + " (" +
                                 ::strsignal(report.value) + ")",
                             true, details_of("signal", report.value));
    case ShimReport::Kind::not_started:
      break;
  }
  throw ApplicationError("ProcessNotStarted",
                         program + " could not be started: " + std::strerror(report.value), true,
                         details_of("errno", report.value));
}

}  // namespace

ProcessActivity::ProcessActivity(std::vector<std::string> command) : command_(std::move(command)) {
  if (command_.empty() || command_.front().empty())
    throw std::invalid_argument("a ProcessActivity needs a program");
}

ProcessActivity& ProcessActivity::environment(std::string name, std::string value) {
  if (name.empty() || name.find('=') != std::string::npos) {
    throw std::invalid_argument("\"" + name + "\" is not a name of an environment variable");
  }
  environment_.emplace_back(std::move(name), std::move(value));
  return *this;
}
ProcessActivity& ProcessActivity::directory(std::string path) {
  directory_ = std::move(path);
  return *this;
}
ProcessActivity& ProcessActivity::json_output() {
  output_ = Encoding::json;
  return *this;
}
ProcessActivity& ProcessActivity::max_output(std::size_t bytes) {
  max_output_ = bytes;
  return *this;
}

Payload ProcessActivity::operator()(ActivityContext& ctx, Payload input) const {
  runtime::Command command;
  command.argv = command_;
  command.environment = environment_;
  command.environment.emplace_back("DURAMEN_INSTANCE", ctx.instance_id().value);
  command.environment.emplace_back("DURAMEN_ACTIVITY", ctx.activity_name());
  command.environment.emplace_back("DURAMEN_ATTEMPT", std::to_string(ctx.attempt()));
  command.environment.emplace_back("DURAMEN_IDEMPOTENCY_KEY", ctx.idempotency_key());
  command.directory = directory_;
  command.max_output = max_output_;
  command.kill_after = kill_after_;
  runtime::CommandEnd end;
  try {
    end = runtime::run_command(command, input.data, ctx.stop_token(),
                               [&ctx](std::string_view line) { ctx.trace_info(std::string(line)); });
  } catch (const std::system_error& error) {
    throw ApplicationError("ProcessNotStarted", command_.front() + " could not be started: " + error.what());
  }
  if (end.too_much_output) {
    throw ApplicationError("ProcessOutputTooLarge",
                           command_.front() + " wrote more than " + std::to_string(max_output_) +
                               " bytes; let it write to a file and return the name",
                           false);
  }
  if (end.report.kind != ShimReport::Kind::exited || end.report.value != 0)
    fail(command_.front(), end.report);
  if (output_ == Encoding::text && end.output.ends_with('\n')) end.output.pop_back();
  return Payload{std::move(end.output), output_};
}

}  // namespace duramen::inline v0
