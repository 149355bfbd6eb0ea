#include "ledger.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <string_view>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace shop {

namespace {

constexpr std::array<std::string_view, 4> names = {"began", "done", "repeated", "stopped"};

std::string to_line(const Entry& entry) {
  std::ostringstream line;
  line << entry.time.count() << ' ' << entry.order << ' ' << entry.activity << ' ' << entry.attempt << ' '
       << entry.key << ' ' << names[static_cast<std::size_t>(entry.what)] << ' ' << entry.note << '\n';
  return line.str();
}

Entry from_line(const std::string& text) {
  std::istringstream line(text);
  Entry entry;
  std::int64_t time = 0;
  std::string what;
  line >> time >> entry.order >> entry.activity >> entry.attempt >> entry.key >> what;
  line.ignore(1);
  std::getline(line, entry.note);
  entry.time = std::chrono::milliseconds(time);
  entry.what = static_cast<What>(std::ranges::find(names, what) - names.begin());
  return entry;
}

Entry entry_for(const duramen::ActivityContext& ctx, What what, const std::string& note) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(now),
          ctx.instance_id().value,
          ctx.activity_name(),
          ctx.attempt(),
          ctx.idempotency_key(),
          what,
          note};
}

/// The file, locked against other writers.
class LockedFile {
 public:
  explicit LockedFile(const std::filesystem::path& path)
      : file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_ < 0 || ::flock(file_, LOCK_EX) != 0) {
      throw std::system_error(errno, std::generic_category(), path.string());
    }
  }
  ~LockedFile() { ::close(file_); }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  /// One call of write(2): a killed process leaves the whole line or none of it.
  void append(const Entry& entry) {
    const std::string line = to_line(entry);
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      throw std::system_error(errno, std::generic_category(), "the ledger cannot be written");
    }
  }

 private:
  int file_;
};

}  // namespace

Ledger::Ledger(std::filesystem::path file) : file_(std::move(file)) { const LockedFile created(file_); }

void Ledger::write(const duramen::ActivityContext& ctx, What what, const std::string& note) {
  LockedFile(file_).append(entry_for(ctx, what, note));
}

bool Ledger::act_once(const duramen::ActivityContext& ctx, const std::string& note) {
  LockedFile locked(file_);
  const std::vector<Entry> entries = read();
  const bool known = std::ranges::any_of(entries, [key = ctx.idempotency_key()](const Entry& entry) {
    return entry.key == key && entry.what == What::done;
  });
  locked.append(entry_for(ctx, known ? What::repeated : What::done, note));
  return !known;
}

std::vector<Entry> Ledger::read() const {
  std::vector<Entry> entries;
  std::ifstream file(file_);
  for (std::string line; std::getline(file, line) && !file.eof();) entries.push_back(from_line(line));
  return entries;
}

}  // namespace shop
