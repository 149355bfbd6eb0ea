// New and bad files. A bad file is refused with an error that names the remedy, and nothing on the disk
// changes.
#include "providers/sqlite/fixture.hpp"

#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace duramen::sqlite::test {

namespace {

std::string bytes_of(const std::string& path) {
  std::ostringstream bytes;
  bytes << std::ifstream{path, std::ios::binary}.rdbuf();
  return bytes.str();
}

/// Every file of a directory, by name. No store there may be open. The index of a WAL is left out: SQLite
/// rebuilds it.
std::map<std::string, std::string> content_of(const std::string& directory) {
  std::map<std::string, std::string> content;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with("-shm")) continue;
    content[name] = entry.is_directory() ? "a directory" : bytes_of(entry.path().string());
  }
  return content;
}

class BadFiles : public ::testing::Test {
 protected:
  BadFiles() { std::filesystem::create_directory(where); }

  /// Opens the file, and expects a refusal that changes nothing.
  Error refusal(const std::string& file) {
    const auto before = content_of(where);
    const auto opened = open_provider({.path = file});
    EXPECT_FALSE(opened.has_value());
    if (opened) return {};
    EXPECT_TRUE(before == content_of(where)) << "something was changed";
    EXPECT_NE(opened.error().message.find(file), std::string::npos) << opened.error().message;
    EXPECT_EQ(opened.error().operation, "open");
    EXPECT_FALSE(opened.error().retryable) << opened.error().message;
    return opened.error();
  }
  void expect(const Error& error, ErrorCode code, const std::string& advice) {
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_NE(error.message.find(advice), std::string::npos) << error.message;
  }

  /// A store with some instances, closed.
  void make_store() {
    const auto provider = open_at(path);
    for (int i = 0; i < 200; ++i) start(*provider, "instance-" + std::to_string(i));
  }
  /// A store as a killed process leaves it: some of it in the file, some in the WAL only.
  void make_crashed_store(const std::function<void(RawConnection&)>& change = {}) {
    const std::string original = dir.file("original.db");
    {
      const auto provider = open_at(original);
      for (int i = 0; i < 50; ++i) start(*provider, "in-file-" + std::to_string(i));
    }
    const auto provider = open_at(original);
    for (int i = 0; i < 50; ++i) start(*provider, "in-log-" + std::to_string(i));
    RawConnection raw{original};
    if (change) change(raw);
    std::filesystem::copy_file(original, path);
    std::filesystem::copy_file(original + "-wal", log);
  }
  void overwrite(const std::string& file, std::streamoff at, const std::string& bytes) {
    std::fstream stream{file, std::ios::in | std::ios::out | std::ios::binary};
    stream.seekp(at);
    stream << bytes;
  }

  TempDir dir;
  const std::string where = dir.file("place");
  const std::string path = where + "/t.db";
  const std::string log = path + "-wal";
};

/// Acts as the user "nobody": root could write everywhere.
class AsNobody {
 public:
  explicit AsNobody(const std::vector<std::string>& owned) {
    if (::geteuid() != 0) return;
    for (const std::string& path : owned) {
      if (::chown(path.c_str(), nobody, nobody) != 0) std::abort();
    }
    changed_ = ::seteuid(nobody) == 0;
  }
  ~AsNobody() {
    if (changed_ && ::seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t nobody = 65534;
  bool changed_ = false;
};

TEST_F(BadFiles, ANewerVersionIsRefused) {
  make_store();
  RawConnection{path}.execute("UPDATE duramen_schema SET version = 999");
  const Error error = refusal(path);
  expect(error, ErrorCode::wrong_version, "999");
  expect(error, ErrorCode::wrong_version, "use the newer Duramen");
}

TEST_F(BadFiles, ANewerVersionWithAWalIsRefusedAndKeepsItsWal) {
  make_crashed_store([](RawConnection& raw) { raw.execute("UPDATE duramen_schema SET version = 999"); });
  expect(refusal(path), ErrorCode::wrong_version, "999");
  EXPECT_GT(std::filesystem::file_size(log), 0u);
}

TEST_F(BadFiles, TheDatabaseOfAnotherProgramIsRefused) {
  RawConnection{path}.execute("CREATE TABLE theirs (x); PRAGMA user_version = 1;");
  expect(refusal(path), ErrorCode::corrupt, "another program");
}

TEST_F(BadFiles, SomethingThatIsNoDatabaseIsRefused) {
  for (const std::size_t size : {1u, 20u, 600u, 5000u, 100'000u}) {
    SCOPED_TRACE(size);
    std::ofstream{path, std::ios::binary | std::ios::trunc} << std::string(size, 'x');
    expect(refusal(path), ErrorCode::corrupt, "choose another path");
  }
}

TEST_F(BadFiles, AStoreWithADamagedHeaderIsRefused) {
  make_store();
  overwrite(path, 0, "SQLite format 4");
  expect(refusal(path), ErrorCode::corrupt, "restore the file from a backup");
}

TEST_F(BadFiles, AStoreWithADamagedHeaderAndAWalIsRefused) {
  make_crashed_store();
  overwrite(path, 0, std::string(100, '\x5a'));
  overwrite(log, 32, std::string(64, '\x5a'));  // its first frame would restore the header
  expect(refusal(path), ErrorCode::corrupt, "restore the file from a backup");
}

TEST_F(BadFiles, AStoreWithADamagedSchemaIsRefused) {
  make_store();
  overwrite(path, 100, std::string(1000, '\x5a'));
  expect(refusal(path), ErrorCode::corrupt, "restore the file from a backup");
}

TEST_F(BadFiles, ADamagedPageIsReportedWhenItIsReadAndNothingIsWritten) {
  make_store();
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
  // Everything after the schema, which is at the beginning.
  for (std::streamoff at = size / 3 / 4096 * 4096; at < size; at += 4096)
    overwrite(path, at, std::string(4096, '\x5a'));
  const std::string before = bytes_of(path);
  {
    const auto opened = open_provider({.path = path});
    if (opened) {
      int damaged = 0;
      for (int i = 0; i < 200; ++i) {
        const auto read = (*opened)->get_instance("instance-" + std::to_string(i));
        if (read) continue;
        ++damaged;
        expect(read.error(), ErrorCode::corrupt, "restore the file from a backup");
        EXPECT_FALSE(read.error().retryable);
      }
      EXPECT_GT(damaged, 0);
    } else {
      expect(opened.error(), ErrorCode::corrupt, "restore the file from a backup");
    }
  }
  EXPECT_TRUE(bytes_of(path) == before);
}

TEST_F(BadFiles, ADirectoryIsRefused) {
  std::filesystem::create_directory(path);
  expect(refusal(path), ErrorCode::unavailable, "is a directory; name a file in it");
}

TEST_F(BadFiles, AnEmptyPathIsRefused) {
  const auto opened = open_provider({.path = ""});
  ASSERT_FALSE(opened.has_value());
  EXPECT_EQ(opened.error().code, ErrorCode::invalid_argument);
}

TEST_F(BadFiles, SomethingThatIsNoFileIsRefused) {
  const auto opened = open_provider({.path = "/dev/null"});
  ASSERT_FALSE(opened.has_value());
  expect(opened.error(), ErrorCode::unavailable, "not a regular file");
}

TEST_F(BadFiles, AMissingDirectoryIsNamed) {
  expect(refusal(where + "/nowhere/t.db"), ErrorCode::unavailable, "create it first");
  EXPECT_FALSE(std::filesystem::exists(where + "/nowhere"));
}

TEST_F(BadFiles, AFileInThePlaceOfTheDirectoryIsNamed) {
  std::ofstream{where + "/file"} << "x";
  expect(refusal(where + "/file/t.db"), ErrorCode::unavailable, where + "/file");
}

TEST_F(BadFiles, AFileThatCannotBeWrittenIsRefused) {
  make_store();
  for (const char* part : {"-lock", "-bell"}) std::filesystem::remove(path + part);
  std::filesystem::permissions(path, std::filesystem::perms::owner_read);
  std::filesystem::permissions(dir.file(""), std::filesystem::perms::all);
  const AsNobody nobody{{where, path}};
  expect(refusal(path), ErrorCode::unavailable, "make it writable");
}

TEST_F(BadFiles, ADirectoryThatCannotBeWrittenIsRefused) {
  make_store();
  for (const char* part : {"-lock", "-bell"}) std::filesystem::remove(path + part);
  std::filesystem::permissions(dir.file(""), std::filesystem::perms::all);
  {
    const AsNobody nobody{{where, path}};
    std::filesystem::permissions(where,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
    expect(refusal(path), ErrorCode::unavailable, "cannot be written to");
    expect(refusal(where + "/new.db"), ErrorCode::unavailable, "cannot be written to");
  }
  std::filesystem::permissions(where, std::filesystem::perms::owner_all);
}

TEST_F(BadFiles, ANewFileGetsASchemaVersionAndAWal) {
  open_at(path);
  RawConnection raw{path};
  EXPECT_EQ(raw.text("SELECT version FROM duramen_schema"), "1");
  EXPECT_EQ(raw.text("PRAGMA application_id"), "0");
  EXPECT_EQ(raw.text("PRAGMA journal_mode"), "wal");
}

TEST_F(BadFiles, AnEmptyFileBecomesAStore) {
  std::ofstream{path}.flush();
  start(*open_at(path), "a");
  EXPECT_TRUE(open_at(path)->get_instance("a").value().has_value());
}

TEST_F(BadFiles, AnEmptyFileWithAWalIsRefusedAndKeepsTheWal) {
  // SQLite deletes the WAL of an empty file, and with it every commit.
  make_crashed_store();
  std::filesystem::resize_file(path, 0);
  expect(refusal(path), ErrorCode::corrupt, "put");
}

TEST_F(BadFiles, AWalWithoutItsFileIsRefusedAndKept) {
  make_crashed_store();
  std::filesystem::remove(path);
  expect(refusal(path), ErrorCode::corrupt, "whose file is missing");
}

TEST_F(BadFiles, AnInvalidWalIsRefused) {
  // SQLite would treat it as empty, and commits would be lost without an error.
  make_crashed_store();
  overwrite(log, 0, std::string(32, '\x5a'));
  expect(refusal(path), ErrorCode::corrupt, "move the log away");
}

TEST_F(BadFiles, ADamagedWalCountsUpToTheDamageAsAfterACrash) {
  // A damaged frame looks the same as one that was being written when the power failed.
  make_crashed_store();
  overwrite(log, 32 + 30 * (24 + 4096), std::string(100, '\x5a'));
  const auto provider = open_at(path);
  EXPECT_TRUE(provider->get_instance("in-file-49").value().has_value());
  EXPECT_TRUE(provider->get_instance("in-log-0").value().has_value());
  EXPECT_FALSE(provider->get_instance("in-log-49").value().has_value());
  EXPECT_EQ(RawConnection{path}.text("PRAGMA integrity_check"), "ok");
}

TEST_F(BadFiles, ARemovedWalLosesWhatHadNotReachedTheFile) {
  // A closed store has no WAL either: the two cases look the same.
  make_crashed_store();
  std::filesystem::remove(log);
  const auto provider = open_at(path);
  EXPECT_TRUE(provider->get_instance("in-file-49").value().has_value());
  EXPECT_FALSE(provider->get_instance("in-log-0").value().has_value());
  EXPECT_EQ(RawConnection{path}.text("PRAGMA integrity_check"), "ok");
}

}  // namespace

}  // namespace duramen::sqlite::test
