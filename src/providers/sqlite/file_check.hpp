// A look at the files of a store before SQLite touches them.
//
// SQLite is kind to what it finds: it opens a file that cannot be written, takes a damaged log for an empty
// one and deletes a log whose file is empty. A store would rather say what is wrong, and change nothing.
#pragma once

#include <string>

namespace duramen::inline v0::sqlite::detail {

/// Throws StoreError if there is no use in opening `path`. What only SQLite can tell is not looked at.
void check_files(const std::string& path);

/// True if a log with something in it stands beside the file.
[[nodiscard]] bool has_log(const std::string& path);

}  // namespace duramen::inline v0::sqlite::detail
