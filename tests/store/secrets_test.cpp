// The visible part of addresses and connection strings.
#include <duramen/store.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace duramen::test {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

void expect_shown(const Pairs& pairs) {
  for (const auto& [text, shown] : pairs) EXPECT_EQ(without_secrets(text), shown) << text;
}

TEST(WithoutSecrets, ThePasswordOfAUriIsHidden) {
  expect_shown({
      {"postgresql://user:hunter2@host/db", "postgresql://user:***@host/db"},
      {"postgres://user:hunter2@host:5432,other:5433/db", "postgres://user:***@host:5432,other:5433/db"},
      {"postgres://user:hunt%40er%2F2@[::1]:5432/db", "postgres://user:***@[::1]:5432/db"},
      {"postgres://:hunter2@/db", "postgres://:***@/db"},
      {"POSTGRES://user:hunter2@host", "POSTGRES://user:***@host"},
  });
}

TEST(WithoutSecrets, AnUnencodedPasswordIsHidden) {
  expect_shown({
      {"postgres://user:hunt@er2@host/db", "postgres://user:***@host/db"},
      {"postgres://user:hunt/er2@host/db", "postgres://user:***@host/db"},
      {"postgres://user:hunt?er2@host/db", "postgres://user:***@host/db"},
      {"postgres://user:hunt er2@host/db", "postgres://user:***@host/db"},
      {"postgres://user:hunt:er2@host/db?sslmode=require", "postgres://user:***@host/db?sslmode=require"},
      {"postgres://user:hunter2", "postgres://user:***"},
  });
}

TEST(WithoutSecrets, SecretParametersOfAUriAreHidden) {
  expect_shown({
      {"postgres:///db?host=/run&password=hunter2&user=me", "postgres:///db?host=/run&password=***&user=me"},
      {"postgres://h/db?password=hunter2", "postgres://h/db?password=***"},
      {"postgres://h/db?%70assword=hunter2", "postgres://h/db?%70assword=***"},
      {"postgres://h/db?sslpassword=hunter2&sslkey=k", "postgres://h/db?sslpassword=***&sslkey=k"},
      {"postgres://u:hunter2@h/db?Password=hunter2", "postgres://u:***@h/db?Password=***"},
      {"postgres://h?scram_client_key=hunter2&oauth_client_secret=hunter2",
       "postgres://h?scram_client_key=***&oauth_client_secret=***"},
  });
}

TEST(WithoutSecrets, SecretsBehindKeywordsAreHidden) {
  expect_shown({
      {"host=h password=hunter2 user=me", "host=h password=*** user=me"},
      {"password='hunter2 and \\'more\\'' host=h", "password=*** host=h"},
      {"password = hunt\\ er2 host=h", "password = *** host=h"},
      {"host=h password=hunter2", "host=h password=***"},
      {"host=h PASSWORD=hunter2&x", "host=h PASSWORD=***"},
      {"dbname=postgres://u:hunter2@h/db user=me", "dbname=postgres://u:***@h/db user=me"},
  });
}

TEST(WithoutSecrets, SecretsInsideASentenceAreHidden) {
  expect_shown({
      {"database \"postgres://u:hunter2@h/db\" does not exist",
       "database \"postgres://u:***@h/db\" does not exist"},
      {"cannot open postgres://u@h/db?password=hunter2 now",
       "cannot open postgres://u@h/db?password=*** now"},
  });
}

TEST(WithoutSecrets, ATextThatIsShownAgainKeepsItsQuotes) {
  expect_shown({
      {"\"host=h password=***\" is no address", "\"host=h password=***\" is no address"},
      {"\"host=h password=hunter2\" is no address", "\"host=h password=*** is no address"},
      {"host=h password=***\"hunter2", "host=h password=***"},
  });
}

TEST(WithoutSecrets, EverythingElseStaysAsItIs) {
  for (const std::string text :
       {"", "sqlite:orders.db", "sqlite:/srv/password/orders.db", "postgres://user@host/db",
        "postgres://host:5432/db", "postgres://[::1]:5432,[fe80::1]/db",
        "postgres:///db?host=/run&user=me@tenant&schema=tenant%2017", "postgres://user%40tenant@host/db?",
        "host=h dbname=d user=me passfile=/home/me/.pgpass", "password authentication failed for user \"me\"",
        "there is no instance \"a=b://c\""}) {
    EXPECT_EQ(without_secrets(text), text);
  }
}

}  // namespace
}  // namespace duramen::test
