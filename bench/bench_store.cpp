#include "bench/bench_store.hpp"

#include "bench/file_stores.hpp"
#ifdef DURAMEN_BENCH_POSTGRES
#include "bench/postgres_stores.hpp"
#endif
#include <duramen/sqlite.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace bench {

ScratchDirectory::ScratchDirectory(const std::filesystem::path& parent) {
  std::string name = (parent / "duramen-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw std::runtime_error("cannot make a directory in " + parent.string());
  path_ = name;
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::unique_ptr<StoreSource> make_store_source(const Arguments& arguments,
                                               const std::filesystem::path& directory) {
  if (arguments.store == "memory") return std::make_unique<MemorySource>();
  if (arguments.store == "sqlite") return std::make_unique<SqliteSource>(directory);
#ifdef DURAMEN_BENCH_POSTGRES
  return make_postgres_source(arguments.server, directory);
#else
  throw BadArguments("this program was built without PostgreSQL (Debian: libpq-dev)");
#endif
}

duramen::Store open_store(const std::string& address) {
  const auto space = address.find(' ');
  const std::string kind = address.substr(0, space);
  const std::string rest = space == std::string::npos ? "" : address.substr(space + 1);
  if (kind == "sqlite") return duramen::sqlite::open(rest);
#ifdef DURAMEN_BENCH_POSTGRES
  if (kind == "postgres") return open_postgres_store(rest);
#endif
  throw std::runtime_error("no store can be opened by the address it was given");
}

}  // namespace bench
