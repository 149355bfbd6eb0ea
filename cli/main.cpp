// duramen: parse the command line, open the store, run the command, show its answer.
#include "arguments.hpp"
#include "commands.hpp"
#include "exit_code.hpp"
#include "requester.hpp"
#include "session.hpp"
#include "store.hpp"
#include "terminal.hpp"

#include <cerrno>
#include <clocale>
#include <concepts>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>

namespace duramen::cli {
namespace {

/// Every error message passes here: passwords are removed.
ExitCode complain(const std::string& message, ExitCode code) {
  std::fprintf(stderr, "duramen: %s\n", printable(without_secrets(message)).c_str());
  return code;
}

/// Standard output, and whether it still has a reader.
class Output {
 public:
  explicit Output(const Globals& globals, const Terminal& terminal)
      : globals_(globals), terminal_(terminal) {}

  bool show(const Answer& answer) {
    if (globals_.json) {
      for (const Json& document : answer.documents) write(document.text + "\n");
    } else {
      write(render(answer.page, terminal_));
      for (const std::string& note : answer.notes) std::fprintf(stderr, "%s\n", printable(note).c_str());
    }
    if (error_ == 0 && std::fflush(stdout) != 0) error_ = errno;
    for (const std::string& what : answer.left_out) complain(what, ExitCode::partial);
    return error_ == 0;
  }

  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  void write(const std::string& text) {
    if (error_ != 0) return;
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) error_ = errno;
  }

  const Globals& globals_;
  const Terminal& terminal_;
  int error_ = 0;
};

ExitCode complain(const Error& error) {
  std::string message = error.message.empty() ? error.describe() : error.message;
  if (error.retryable && error.code != ErrorCode::timed_out) message += " (trying again may help)";
  return complain(message, exit_code_for(error.code));
}

template <class Arguments>
concept NeedsNoStore = requires(Context& context, const Arguments& arguments) {
  { run(context, arguments) } -> std::same_as<Result<Answer>>;
};

template <class Arguments>
StoreAccess access_of(const Arguments& arguments) {
  if constexpr (requires { arguments.create_store; }) {
    return arguments.create_store ? StoreAccess::create : StoreAccess::creatable;
  } else {
    return StoreAccess::existing;
  }
}

template <class Arguments>
Result<Answer> run_command(Context& context, const Arguments& arguments) {
  if constexpr (NeedsNoStore<Arguments>) {
    return run(context, arguments);
  } else {
    Result<Store> store = open_store(context.globals.store, access_of(arguments));
    if (!store) return store.error();
    std::optional<std::string> requested_by;
    if constexpr (requires { arguments.by; }) {
      Result<std::optional<std::string>> name = requester(arguments.by);
      if (!name) return name.error();
      requested_by = *std::move(name);
    }
    Session session{context, *std::move(store), std::move(requested_by)};
    return run(session, arguments);
  }
}

ExitCode run_all(int argc, const char* const* argv) {
  auto parsed = parse(argc, argv);
  if (const auto* spoken = std::get_if<Spoken>(&parsed)) {
    if (spoken->kind == Spoken::Kind::complaint) return complain(spoken->text, ExitCode::usage);
    const bool asked_for = spoken->kind == Spoken::Kind::help;
    std::fputs(spoken->text.c_str(), asked_for ? stdout : stderr);
    return asked_for ? ExitCode::ok : ExitCode::usage;
  }
  const auto& invocation = std::get<Invocation>(parsed);
  Context context{invocation.globals, Terminal::of_standard_output(invocation.globals.color), {}};
  Output output(context.globals, context.terminal);
  context.emit = [&output](const Answer& answer) { return output.show(answer); };

  const Result<Answer> answer = std::visit(
      [&context](const auto& arguments) { return run_command(context, arguments); }, invocation.command);
  if (answer && output.show(*answer)) return answer->exit;
  if (output.error() == EPIPE) return ExitCode::closed_pipe;
  if (output.error() != 0) {
    return complain(std::string("the answer cannot be written: ") + std::strerror(output.error()),
                    ExitCode::no);
  }
  return complain(answer.error());
}

}  // namespace
}  // namespace duramen::cli

int main(int argc, char** argv) {
  std::setlocale(LC_CTYPE, "C.UTF-8");  // for the width of characters
  try {
    return static_cast<int>(duramen::cli::run_all(argc, argv));
  } catch (const std::exception& error) {
    return static_cast<int>(duramen::cli::complain(error.what(), duramen::cli::ExitCode::store));
  }
}
