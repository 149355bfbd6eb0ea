// Checks the files of a store before SQLite touches them.
//
// SQLite is tolerant: it opens a file that cannot be written, treats a damaged WAL as empty and deletes a WAL
// whose file is empty. A store reports the problem instead and changes nothing.
#pragma once

#include <string>

namespace duramen::inline v0::sqlite::detail {

/// Throws StoreError if `path` cannot be opened as a store. Leaves the rest of the checks to SQLite.
void check_files(const std::string& path);

/// True if the file has a WAL that is not empty.
[[nodiscard]] bool has_log(const std::string& path);

}  // namespace duramen::inline v0::sqlite::detail
