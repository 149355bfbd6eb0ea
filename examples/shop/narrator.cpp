#include "narrator.hpp"

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <thread>
#include <vector>

namespace shop {

using namespace std::chrono_literals;
using Milliseconds = std::chrono::milliseconds;

namespace {

volatile std::sig_atomic_t interrupted = 0;

/// Like the times in the ledger.
Milliseconds now() {
  return std::chrono::duration_cast<Milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

}  // namespace

Narrator::Narrator(Terminal& terminal, const Ledger& ledger, std::function<std::string()> progress)
    : terminal_(terminal), ledger_(ledger), progress_(std::move(progress)), begin_(now()) {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });
}

void Narrator::say(const std::string& text, Colour colour) const {
  terminal_.line(stamp(now()) + text, colour);
}

void Narrator::say_of(const std::string& order, const std::string& text) const {
  say(padded(order, 10) + text);
}

void Narrator::tell_until(const std::function<bool()>& come_true) {
  const Milliseconds patience = now() + 60s;
  while (!come_true()) {
    tell_news();
    terminal_.progress(progress_());
    if (interrupted != 0) throw Interrupted{};
    if (now() > patience)
      throw std::runtime_error("what should happen has not happened for a minute; giving up");
    std::this_thread::sleep_for(10ms);
  }
  tell_news();
}

void Narrator::tell_for(Milliseconds time) {
  tell_until([end = now() + time] { return now() >= end; });
}

void Narrator::tell_news() {
  const std::vector<Entry> entries = ledger_.read();
  for (; told_ < entries.size(); ++told_) tell(entries[told_]);
}

void Narrator::tell(const Entry& entry) const {
  const std::string line = stamp(entry.time) + padded(entry.order, 10) + padded(entry.activity, 9);
  switch (entry.what) {
    case What::began:
      break;  // its end is enough
    case What::done:
      terminal_.line(line + entry.note, Colour::dim);
      break;
    case What::repeated: {
      const std::string attempt = "attempt " + std::to_string(entry.attempt);
      terminal_.line(line + attempt + ": key " + entry.key + " is known, not done again", Colour::yellow);
      break;
    }
    case What::stopped:
      terminal_.line(line + "told to stop: " + entry.note, Colour::yellow);
      break;
  }
}

std::string Narrator::stamp(Milliseconds time) const {
  char text[32];
  std::snprintf(text, sizeof text, "%6.2f s  ", std::chrono::duration<double>(time - begin_).count());
  return text;
}

}  // namespace shop
