#include <duramen/postgres.hpp>

#include <utility>

namespace duramen::inline v0::postgres {

Store open(const std::string& conninfo, Options options) {
  options.conninfo = conninfo;
  return open(options);
}

Store open(const Options& options) { return Store{open_provider(options).value()}; }

}  // namespace duramen::inline v0::postgres
