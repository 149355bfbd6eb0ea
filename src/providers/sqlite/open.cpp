#include <duramen/sqlite.hpp>

namespace duramen::inline v0::sqlite {

Store open(const std::string& path) { return open(Options{.path = path}); }

Store open(const Options& options) { return Store{open_provider(options).value()}; }

}  // namespace duramen::inline v0::sqlite
