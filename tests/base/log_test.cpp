// The sinks in the box: one record is one line, whatever is in it.
#include <duramen/log.hpp>

#include "base/utf8.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <stdexcept>
#include <thread>
#include <vector>

namespace duramen {
namespace {

using ::testing::EndsWith;
using ::testing::MatchesRegex;

constexpr const char* moment = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z";

struct Lines {
  std::vector<std::string> lines;
  LineWriter writer() {
    return [this](std::string_view line) { lines.emplace_back(line); };
  }
};

void say(const LogSink& sink, LogLevel level, std::string_view message, std::vector<LogField> fields = {},
         LogSource source = LogSource::runtime) {
  sink(LogRecord{level, source, message, fields});
}

/// Everything that breaks naive writers: quotes, line ends, control characters, broken and overlong UTF-8,
/// NUL.
const std::vector<std::string> hostile{
    "",
    "\"",
    "\\",
    "a b",
    "a=b",
    "line one\nline two\r\n",
    std::string("nul\0nul", 7),
    "\x1b[31mred",
    "\x7f",
    "\xff\xfe",
    "\xc0\xaf",
    "\xed\xa0\x80",
    "cut \xe2\x82",
    "\xe2\x82\xac \xf0\x9f\x8c\xb3",
    "{\"a\":1}",
};

TEST(TextLog, WritesTimeLevelSourceMessageAndFields) {
  Lines out;
  const LogSink sink = text_log(LogLevel::debug, out.writer());
  say(sink, LogLevel::warning, "it is late", {{"instance_id", "order-1"}, {"attempt", "3"}});
  say(sink, LogLevel::info, "hello", {}, LogSource::activity);
  ASSERT_EQ(out.lines.size(), 2u);
  EXPECT_THAT(out.lines[0], MatchesRegex(std::string(moment) +
                                         " warning runtime: it is late instance_id=order-1 attempt=3"));
  EXPECT_THAT(out.lines[1], MatchesRegex(std::string(moment) + " info activity: hello"));
}

TEST(TextLog, QuotesAValueThatCouldBeMistaken) {
  Lines out;
  const LogSink sink = text_log(LogLevel::debug, out.writer());
  say(sink, LogLevel::error, "m", {{"a", "two words"}, {"b", ""}, {"c", "say \"hi\"\\"}, {"d", "x=y"}});
  EXPECT_THAT(out.lines.at(0), EndsWith(R"(m a="two words" b="" c="say \"hi\"\\" d="x=y")"));
}

TEST(TextLog, AnyRecordIsOneLineOfText) {
  Lines out;
  const LogSink sink = text_log(LogLevel::debug, out.writer());
  for (const std::string& text : hostile) say(sink, LogLevel::info, text, {{"value", text}});
  ASSERT_EQ(out.lines.size(), hostile.size());
  for (const std::string& line : out.lines) {
    EXPECT_TRUE(base::is_text(line)) << line;
    for (const char c : line) EXPECT_FALSE(static_cast<unsigned char>(c) < 0x20 || c == '\x7f') << line;
  }
}

TEST(Logs, DropRecordsBelowTheirLevel) {
  for (const auto make : {text_log, json_log}) {
    Lines out;
    const LogSink sink = make(LogLevel::warning, out.writer());
    for (const LogLevel level : {LogLevel::debug, LogLevel::info, LogLevel::warning, LogLevel::error}) {
      say(sink, level, to_string(level));
    }
    ASSERT_EQ(out.lines.size(), 2u);
    EXPECT_THAT(out.lines[0], ::testing::HasSubstr("warning"));
    EXPECT_THAT(out.lines[1], ::testing::HasSubstr("error"));
  }
}

TEST(JsonLog, WritesOneObjectWithTheFieldsAsMembers) {
  Lines out;
  const LogSink sink = json_log(LogLevel::debug, out.writer());
  say(sink, LogLevel::info, "done", {{"instance_id", "order-1"}, {"duration_ms", "12"}},
      LogSource::orchestration);
  const auto object = nlohmann::json::parse(out.lines.at(0));
  EXPECT_THAT(object.at("time").get<std::string>(), MatchesRegex(moment));
  EXPECT_EQ(object.at("level"), "info");
  EXPECT_EQ(object.at("source"), "orchestration");
  EXPECT_EQ(object.at("message"), "done");
  EXPECT_EQ(object.at("instance_id"), "order-1");
  EXPECT_EQ(object.at("duration_ms"), "12");
  EXPECT_EQ(object.size(), 6u);
}

TEST(JsonLog, AnyRecordIsOneLineOfValidJson) {
  Lines out;
  const LogSink sink = json_log(LogLevel::debug, out.writer());
  for (const std::string& text : hostile) say(sink, LogLevel::info, text, {{text, text}, {"value", text}});
  ASSERT_EQ(out.lines.size(), hostile.size());
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    EXPECT_EQ(out.lines[i].find('\n'), std::string::npos);
    const auto object = nlohmann::json::parse(out.lines[i]);  // refuses invalid UTF-8
    EXPECT_EQ(object.at("message"), base::to_text(hostile[i]));
    EXPECT_EQ(object.at("value"), base::to_text(hostile[i]));
  }
}

TEST(JsonLog, AFieldDoesNotReplaceAMemberOfTheRecord) {
  Lines out;
  say(json_log(LogLevel::debug, out.writer()), LogLevel::info, "real",
      {{"message", "forged"}, {"level", "error"}});
  const auto object = nlohmann::json::parse(out.lines.at(0));
  EXPECT_EQ(object.at("message"), "real");
  EXPECT_EQ(object.at("level"), "info");
  EXPECT_EQ(object.at("field_message"), "forged");
}

TEST(Logs, AWriterThatThrowsDoesNotStopTheCaller) {
  for (const auto make : {text_log, json_log}) {
    const LogSink sink =
        make(LogLevel::debug, [](std::string_view) { throw std::runtime_error("disk full"); });
    EXPECT_NO_THROW(say(sink, LogLevel::error, "x"));
    EXPECT_NO_THROW(say(sink, LogLevel::error, "again"));
  }
}

TEST(Logs, LinesOfManyThreadsComeOneAtATimeAndWhole) {
  for (const auto make : {text_log, json_log}) {
    Lines out;  // not guarded: the sink serialises
    const LogSink sink = make(LogLevel::debug, out.writer());
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&sink, t] {
        for (int i = 0; i < 200; ++i) say(sink, LogLevel::info, "m", {{"worker_id", std::to_string(t)}});
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(out.lines.size(), 1600u);
    for (const std::string& line : out.lines)
      EXPECT_TRUE(line.back() == '}' || line.find("worker_id=") != line.npos);
  }
}

}  // namespace
}  // namespace duramen
