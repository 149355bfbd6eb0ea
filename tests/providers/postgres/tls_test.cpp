// TLS with certificates that the test makes: the identity of server and client, and no secrets in messages.
#include "store.hpp"
#include "support/find_program.hpp"
#include "support/postgres_process.hpp"
#include "support/postgres_server.hpp"

#include <fstream>
#include <mutex>
#include <netinet/in.h>
#include <optional>
#include <sstream>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace duramen::test {
namespace {

namespace detail = postgres::detail;

constexpr const char* password = "hunter2-of-the-database";
constexpr const char* passphrase = "hunter3-of-the-key";

/// A free port of the loopback device.
int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  ::bind(fd, reinterpret_cast<const sockaddr*>(&address), length);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
  ::close(fd);
  return ntohs(address.sin_port);
}

/// Keys and certificates, and a server that uses them. Made once for all cases.
class Certified {
 public:
  Certified() : server(free_port()) {
    for (const char* authority : {"ca", "other-ca"}) {
      openssl("req -x509 -nodes -days 2 -subj /CN=" + std::string(authority) + key_of(authority) + " -out " +
              file(std::string(authority) + ".crt"));
    }
    sign("server", "db.duramen.test", "subjectAltName=DNS:db.duramen.test");
    sign("client", "app", "extendedKeyUsage=clientAuth");
    openssl("pkcs8 -topk8 -in " + file("client.key") + " -out " + file("locked.key") +
            " -passout pass:" + passphrase);
    const std::string own = "127.0.0.1/32";
    server.allow("hostssl all app " + own + " cert");
    server.allow("hostssl all somebody " + own + " scram-sha-256");
    server.start({"listen_addresses=127.0.0.1", "ssl=on", "ssl_cert_file=" + file("server.crt"),
                  "ssl_key_file=" + file("server.key"), "ssl_ca_file=" + file("ca.crt")});
    detail::Connection{detail::ConnInfo{server.conninfo()}, 30s, false, nullptr}.script(
        "CREATE ROLE app LOGIN SUPERUSER; CREATE ROLE somebody LOGIN SUPERUSER PASSWORD '" +
        std::string(password) + "'");
  }
  /// Readable only by the owner, as for the server's files.
  [[nodiscard]] std::string file(const std::string& name) const { return server.directory() + "/" + name; }
  [[nodiscard]] std::string client_file(const std::string& name) const {
    // libpq requires that the user of a key owns it.
    const std::string copy = file("mine-" + name);
    if (::access(copy.c_str(), F_OK) != 0) {
      std::ofstream{copy} << std::ifstream{file(name)}.rdbuf();
      ::chmod(copy.c_str(), 0600);
    }
    return copy;
  }
  [[nodiscard]] std::string conninfo(const std::string& more) const {
    return "host=db.duramen.test hostaddr=127.0.0.1 port=" + std::to_string(server.port()) +
           " dbname=postgres " + more;
  }

  PostgresServer server;

 private:
  [[nodiscard]] std::string key_of(const std::string& name) const {
    return " -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -keyout " + file(name + ".key");
  }
  void openssl(const std::string& words) const {
    std::vector<std::string> command{find_program("openssl")};
    std::istringstream stream{words};
    for (std::string word; stream >> word;) command.push_back(word);
    run_as_owner(command, file("openssl.log"));
  }
  void sign(const std::string& name, const std::string& subject, const std::string& extension) const {
    openssl("req -new -nodes -subj /CN=" + subject + key_of(name) + " -out " + file(name + ".csr"));
    std::ofstream{file(name + ".ext")} << extension << "\n";
    openssl("x509 -req -days 2 -in " + file(name + ".csr") + " -CA " + file("ca.crt") + " -CAkey " +
            file("ca.key") + " -CAcreateserial -extfile " + file(name + ".ext") + " -out " +
            file(name + ".crt"));
  }
};

class PostgresTls : public ::testing::Test {
 protected:
  static void TearDownTestSuite() { certified.reset(); }
  void SetUp() override {
    DURAMEN_NEEDS_POSTGRES();
    if (find_program("openssl").empty()) GTEST_SKIP() << "no openssl here (Debian: openssl)";
    if (!certified) certified.emplace();
  }
  [[nodiscard]] Result<std::shared_ptr<Provider>> open(const std::string& conninfo) {
    postgres::Options options;
    options.conninfo = conninfo;
    options.reconnect_patience = 0ms;
    options.log = [this](const LogRecord& record) {
      const std::lock_guard lock(mutex);
      said.append(record.message);
      for (const auto& field : record.fields) said.append(" ").append(field.value);
      said += '\n';
    };
    auto opened = postgres::open_provider(options);
    const std::lock_guard lock(mutex);
    if (!opened) said += opened.error().describe();
    return opened;
  }
  void expect_works(const std::string& conninfo) {
    const auto store = open(conninfo);
    ASSERT_TRUE(store) << store.error().describe();
    EXPECT_TRUE((*store)->get_metrics());
  }
  void expect_refused(const std::string& conninfo, const std::string& words) {
    const auto store = open(conninfo);
    ASSERT_FALSE(store);
    EXPECT_EQ(store.error().code, ErrorCode::unavailable);
    EXPECT_NE(store.error().message.find(words), std::string::npos) << store.error().message;
  }
  void TearDown() override {
    for (const char* secret : {password, passphrase, "hunter", "PRIVATE KEY"}) {
      EXPECT_EQ(said.find(secret), std::string::npos) << said;
    }
  }
  [[nodiscard]] static std::string verified(const std::string& authority = "ca") {
    return " sslmode=verify-full sslrootcert=" + certified->client_file(authority + ".crt");
  }
  [[nodiscard]] static std::string with_password(const std::string& word = password) {
    return " user=somebody password=" + word;
  }
  static inline std::optional<Certified> certified;
  std::mutex mutex;
  std::string said;
};

TEST_F(PostgresTls, AServerIsTrustedOnlyIfTheAuthorityHasSignedItsCertificateForItsName) {
  expect_works(certified->conninfo(with_password() + verified()));
  expect_refused(certified->conninfo(with_password() + verified("other-ca")), "certificate verify failed");
  expect_refused(
      "host=elsewhere.duramen.test hostaddr=127.0.0.1 port=" + std::to_string(certified->server.port()) +
          " dbname=postgres" + with_password() + verified(),
      "does not match host name \"elsewhere.duramen.test\"");
  expect_refused(certified->conninfo(with_password("hunter5") + verified()),
                 "password authentication failed");
}

TEST_F(PostgresTls, AClientWithACertificateNeedsNoPasswordAndAllItsConnectionsAreEncrypted) {
  const std::string by = " user=app sslcert=" + certified->client_file("client.crt") + " sslkey=";
  const std::string key = certified->client_file("client.key");
  const std::string locked = certified->client_file("locked.key");
  expect_works(certified->conninfo(by + locked + " sslpassword=" + passphrase + verified()));
  expect_refused(certified->conninfo(by + locked + " sslpassword=hunter4" + verified()), "private key");
  expect_refused(certified->conninfo(" user=app sslcert= sslkey=" + verified()), "certificate");

  const auto store = open(certified->conninfo(by + key + verified() + " application_name=encrypted")).value();
  struct : ProviderListener {
    void turns_ready() override {}
    void activities_ready() override {}
    void leases_stolen(std::span<const StolenLease>) override {}
    void stolen_leases_pending() override {}
    void instances_changed(std::span<const ChangedInstance>) override {}
    void unknown_instances_changed() override {}
  } listener;
  const auto subscription = store->subscribe("n", listener);  // on a separate connection
  detail::Connection aside{detail::ConnInfo{certified->server.conninfo()}, 30s, false, nullptr};
  const std::string of_ours =
      "SELECT count(*) FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid) WHERE a.application_name = "
      "'encrypted'";
  while (aside.run(of_ours).integer(0, 0) < 2) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(aside.run(of_ours + " AND NOT s.ssl").integer(0, 0), 0);
}

}  // namespace
}  // namespace duramen::test
