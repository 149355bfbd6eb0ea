#include "bench/disk.hpp"

#include "bench/measure.hpp"

#include <fcntl.h>
#include <stdexcept>
#include <unistd.h>
#include <vector>

namespace bench {

double disk_rate(const std::filesystem::path& directory, double seconds) {
  const auto path = directory / "disk-rate";
  const int file = ::open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) throw std::runtime_error("cannot write in " + directory.string());
  const std::vector<char> page(4096, 'x');
  const Instant began = now();
  double writes = 0;
  while (seconds_between(began, now()) < seconds) {
    if (::write(file, page.data(), page.size()) != static_cast<ssize_t>(page.size()) ||
        ::fdatasync(file) != 0)
      break;
    writes += 1;
  }
  const double rate = writes / seconds_between(began, now());
  ::close(file);
  std::filesystem::remove(path);
  return rate;
}

}  // namespace bench
