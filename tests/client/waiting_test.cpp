// Waiting for a change of an instance. The clock stands still, so waiters learn of it by push and not by the
// slow poll.
#include "client/scripted_provider.hpp"
#include "store/local_hub.hpp"

#include <future>

namespace duramen::test {
namespace {

class Waiting : public ByHand {
 protected:
  /// Runs `wait` on a new thread, lets it read the store once without success, and then runs `change`.
  template <class PendingWait, class Change>
  auto told_after_looking(std::string_view look, PendingWait wait, Change change) {
    Signal<bool> looked;
    provider->watch([&](std::string_view operation) {
      if (operation == look) looked.set(true);
    });
    auto answer = std::async(std::launch::async, wait);
    EXPECT_TRUE(looked.wait());
    change();
    auto answered = answer.get();
    provider->watch({});
    return answered;
  }

  void set_status(const InstanceId& instance, std::optional<std::string> status) {
    go_on(instance, {event::CustomStatusUpdated{status}},
          [&](TurnCommit& commit) { commit.change.custom_status = CustomStatusChange{status}; });
  }
  void set_value(const InstanceId& instance, std::string key, Payload value) {
    go_on(instance, {event::KeyValueSet{key, value, clock.now()}},
          [&](TurnCommit& commit) { commit.change.key_values.push_back({key, value, clock.now()}); });
  }
};
DURAMEN_ON_BOTH_STORES(Waiting);

TEST_P(Waiting, TheEndOfAnInstanceIsPushed) {
  begin("a");
  const auto end = told_after_looking(
      "get_instance", [&] { return client.wait("a", forever); },
      [&] { go_on("a", {event::OrchestrationCompleted{Payload::json("7")}}); });
  EXPECT_EQ(end.value().status, Status::completed);
  EXPECT_EQ(end.value().output_as<int>(), 7);
}

TEST_P(Waiting, AnEndedInstanceAnswersAtOnce) {
  finish("a");
  EXPECT_EQ(client.wait("a", forever).value().output_as<std::string>(), "out");
  EXPECT_EQ(client.get_instance("a").value().output_as<std::string>(), "out");
}

TEST_P(Waiting, AnInstanceThatIsDeletedWhileWaitedForIsNotFound) {
  begin("a");
  const auto end = told_after_looking(
      "get_instance", [&] { return client.wait("a", forever); },
      [&] { client.delete_instance("a", DeleteMode::force).value(); });
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::not_found);
}

/// A store that another process changes: it reports a change, but not the instance.
class Distant final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  [[nodiscard]] std::unique_ptr<Subscription> subscribe(NodeId /*node*/,
                                                        ProviderListener& listener) override {
    listener_ = &listener;
    return std::make_unique<Subscription>();
  }
  void hint() { listener_->unknown_instances_changed(); }

 private:
  ProviderListener* listener_ = nullptr;
};

TEST_P(Waiting, AfterAHintFromAnotherProcessOneReadFindsAllEndedInstances) {
  constexpr int all = 20;
  const auto distant = std::make_shared<Distant>(provider);
  Client far{Store(distant)};
  std::atomic<int> looks = 0;
  std::atomic<int> questions = 0;
  Signal<bool> all_have_looked;
  provider->watch([&](std::string_view operation) {
    if (operation == "list_instances") ++questions;
    if (operation == "get_instance" && ++looks == all) all_have_looked.set(true);
  });
  Signal<std::string> ended;
  for (int i = 0; i < all; ++i) {
    const InstanceId instance("i" + std::to_string(i));
    begin(instance);
    far.wait_async(instance, [&, instance](const Result<InstanceState>& end) {
      if (end) ended.set(instance.value);
    });
  }
  ASSERT_TRUE(all_have_looked.wait());
  go_on("i7", {event::OrchestrationCompleted{Payload::json("7")}});
  looks = 0;
  questions = 0;
  distant->hint();
  EXPECT_EQ(ended.wait(), "i7");
  EXPECT_EQ(questions, 1);
  EXPECT_EQ(looks, 1);
  provider->watch({});
}

/// A runtime that leaves its starts to the test.
class IdleRuntime final : public detail::LocalRuntime {
 public:
  [[nodiscard]] const NodeId& node() const override { return node_; }
  [[nodiscard]] bool runs(const message::StartOrchestration&) const override { return true; }
  void start(StartRequest, UniqueFunction<void(Result<StartOutcome>)> done) override {
    started = std::move(done);
  }
  void cancel(std::shared_ptr<detail::LocalCancel>) override {}
  void counted(const detail::StoreGauges&) override {}
  UniqueFunction<void(Result<StartOutcome>)> started;

 private:
  NodeId node_{"idle"};
};

TEST_P(Waiting, AReadThatBeganBeforeTheStartWasDurableDoesNotMissTheInstance) {
  IdleRuntime runtime;
  store.local_hub()->attach(runtime);
  StartRequest request;
  request.instance = "a";
  request.start.orchestration = "Work";
  Signal<Result<InstanceState>> end;
  client.run_async(std::move(request), [&](Result<InstanceState> state) { end.set(std::move(state)); });

  // The store was read before the start became durable: the result of that read is stale.
  Signal<bool> looked;
  provider->watch([&](std::string_view operation) {
    if (operation != "get_instance" || !runtime.started) return;
    std::exchange(runtime.started, {})(StartOutcome::created);
    looked.set(true);
  });
  clock.advance(5s);
  ASSERT_TRUE(looked.wait());
  provider->watch({});
  store.local_hub()->detach(runtime);

  begin("a", {event::OrchestrationCompleted{Payload::text("done")}});
  const auto answered = end.wait();
  ASSERT_TRUE(answered && *answered);
  EXPECT_EQ((*answered)->status, Status::completed);
}

TEST_P(Waiting, AResultIsReadAsItsType) {
  begin("a", {event::OrchestrationCompleted{Payload::json("7")}});
  const auto end = client.wait_for<int>("a", forever);
  EXPECT_TRUE(end.value().completed());
  EXPECT_EQ(end.value().value(), 7);
  EXPECT_EQ(end.value().failure(), nullptr);
  EXPECT_TRUE(client.wait_for<void>("a", forever).value().completed());
}

TEST_P(Waiting, AFailureIsNoErrorOfTheWait) {
  begin("a", {event::OrchestrationFailed{Failure::application("NoMoney", "the card is empty")}});
  const auto end = client.wait_for<int>("a", forever);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->status(), Status::failed);
  ASSERT_NE(end->failure(), nullptr);
  EXPECT_EQ(end->failure()->type, "NoMoney");
  EXPECT_THROW((void)end->value(), DurableError);
  EXPECT_THROW((void)client.get_instance("a").value().output_as<int>(), DurableError);
}

TEST_P(Waiting, AResultOfAnotherTypeIsAnError) {
  finish("a", "not a number");
  const auto end = client.wait_for<int>("a", forever);
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().code, ErrorCode::invalid_argument);
}

TEST_P(Waiting, AChangeOfTheCustomStatusIsPushed) {
  begin("a");
  const auto first = told_after_looking(
      "get_instance", [&] { return client.wait_for_status_change("a", 0, forever); },
      [&] { set_status("a", "half way"); });
  ASSERT_TRUE(first);
  EXPECT_EQ(first->custom_status, "half way");
  EXPECT_EQ(first->status, Status::running);

  const auto second = told_after_looking(
      "get_instance",
      [&] { return client.wait_for_status_change("a", first->custom_status_version, forever); },
      [&] { set_status("a", std::nullopt); });
  ASSERT_TRUE(second);
  EXPECT_FALSE(second->custom_status);
  EXPECT_GT(second->custom_status_version, first->custom_status_version);
}

TEST_P(Waiting, ANewerStatusIsReturnedAtOnce) {
  begin("a");
  set_status("a", "one");
  set_status("a", "two");
  EXPECT_EQ(client.wait_for_status_change("a", 1, forever).value().custom_status, "two");
}

TEST_P(Waiting, AWaitForAStatusReturnsAtTheEnd) {
  begin("a");
  const auto end = told_after_looking(
      "get_instance", [&] { return client.wait_for_status_change("a", 5, forever); },
      [&] { go_on("a", {event::OrchestrationCompleted{Payload::text("x")}}); });
  EXPECT_EQ(end.value().status, Status::completed);
}

TEST_P(Waiting, TheValueOfAKeyIsPushed) {
  begin("a");
  const auto value = told_after_looking(
      "get_key_values", [&] { return client.wait_for_key_value<int>("a", "progress", forever); },
      [&] {
        set_value("a", "other", Payload::json("1"));
        set_value("a", "progress", Payload::json("42"));
      });
  EXPECT_EQ(value.value(), 42);
}

TEST_P(Waiting, AKeyIsReadAsItsType) {
  begin("a");
  set_value("a", "n", Payload::json("3"));
  EXPECT_EQ(client.get_key_value<int>("a", "n").value(), 3);
  EXPECT_EQ(client.get_key_value("a", "n").value(), Payload::json("3"));
  EXPECT_EQ(client.wait_for_key_value("a", "n", forever).value(), Payload::json("3"));
  EXPECT_EQ(client.get_key_value<int>("a", "missing").value(), std::nullopt);
  EXPECT_EQ(client.get_key_value<std::vector<int>>("a", "n").error().code, ErrorCode::invalid_argument);
}

TEST_P(Waiting, AKeyThatCanNeverComeIsNotFound) {
  finish("a");
  const auto value = client.wait_for_key_value("a", "n", forever);
  ASSERT_FALSE(value);
  EXPECT_EQ(value.error().code, ErrorCode::not_found);
  EXPECT_THAT(value.error().message, ::testing::HasSubstr("has ended without"));
}

TEST_P(Waiting, AnUnknownInstanceIsNotWaitedFor) {
  EXPECT_EQ(client.wait("nobody", forever).error().code, ErrorCode::not_found);
  EXPECT_EQ(client.wait_for_status_change("nobody", 0, forever).error().code, ErrorCode::not_found);
  EXPECT_EQ(client.wait_for_key_value("nobody", "k", forever).error().code, ErrorCode::not_found);
}

TEST_P(Waiting, WaitingNoLongerThanAskedIsATimeoutThatMayBeTriedAgain) {
  begin("a");
  for (const Error& error :
       {client.wait("a", 1ms).error(), client.wait_for_status_change("a", 0, 1ms).error(),
        client.wait_for_key_value("a", "k", 1ms).error()}) {
    EXPECT_EQ(error.code, ErrorCode::timed_out);
    EXPECT_TRUE(error.retryable);
    EXPECT_THAT(error.message, ::testing::HasSubstr("instance \"a\" has not "));
  }
}

/// A store whose hints are lost.
class Silent final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;
  std::unique_ptr<Subscription> subscribe(NodeId, ProviderListener&) override {
    return std::make_unique<Subscription>();
  }
};

TEST_P(Waiting, TheSlowPollFindsTheEndWhenEveryHintIsLost) {
  begin("a");
  Client without_hints{Store(std::make_shared<Silent>(provider))};
  const auto end = told_after_looking(
      "get_instance", [&] { return without_hints.wait("a", forever); },
      [&] {
        go_on("a", {event::OrchestrationCompleted{Payload::text("x")}});
        clock.advance(10s);
      });
  EXPECT_EQ(end.value().status, Status::completed);
  EXPECT_EQ(without_hints.wait_for_status_change("a", 7, forever).value().status, Status::completed);
}

TEST_P(Waiting, ManyWaitersOfEveryKindAreNotifiedOnce) {
  begin("a");
  std::vector<std::future<bool>> answered;
  int looks = 0;
  Signal<bool> all_looked;
  provider->watch([&](std::string_view operation) {
    if (operation == "get_instance" && ++looks == 30) all_looked.set(true);
  });
  for (int i = 0; i < 10; ++i) {
    answered.push_back(std::async(std::launch::async, [&] { return client.wait("a", forever).has_value(); }));
    answered.push_back(std::async(
        std::launch::async, [&] { return client.wait_for_status_change("a", 0, forever).has_value(); }));
    answered.push_back(std::async(std::launch::async,
                                  [&] { return client.wait_for_key_value("a", "k", forever).has_value(); }));
  }
  EXPECT_TRUE(all_looked.wait());
  set_status("a", "s");
  set_value("a", "k", Payload::text("v"));
  go_on("a", {event::OrchestrationCompleted{Payload::text("x")}});
  for (auto& one : answered) EXPECT_TRUE(one.get());
  provider->watch({});
}

}  // namespace
}  // namespace duramen::test
