// Stores on a PostgreSQL server: a schema each.
#pragma once

#include "bench/bench_store.hpp"
#include <duramen/store.hpp>

#include <filesystem>
#include <memory>
#include <string>

namespace bench {

/// On the server at `conninfo`; empty: on a new server with its data in `directory`.
[[nodiscard]] std::unique_ptr<StoreSource> make_postgres_source(const std::string& conninfo,
                                                                const std::filesystem::path& directory);

/// The part of an address after "postgres ".
[[nodiscard]] duramen::Store open_postgres_store(const std::string& address);

}  // namespace bench
