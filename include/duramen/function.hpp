// UniqueFunction: a callable that may own move-only things. (std::move_only_function needs C++23.)
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace duramen::inline v0 {

template <class Signature>
class UniqueFunction;

template <class R, class... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;

  template <class F>
    requires(!std::is_same_v<std::decay_t<F>, UniqueFunction> &&
             std::is_invocable_r_v<R, std::decay_t<F>&, Args...>)
  UniqueFunction(F&& f)  // NOLINT: any callable is one
      : call_(std::make_unique<Call<std::decay_t<F>>>(std::forward<F>(f))) {}

  explicit operator bool() const noexcept { return call_ != nullptr; }
  R operator()(Args... args) { return call_->invoke(std::forward<Args>(args)...); }

 private:
  struct CallBase {
    virtual ~CallBase() = default;
    virtual R invoke(Args&&... args) = 0;
  };
  template <class F>
  struct Call final : CallBase {
    explicit Call(F&& f) : function(std::move(f)) {}
    explicit Call(const F& f) : function(f) {}
    R invoke(Args&&... args) override { return function(std::forward<Args>(args)...); }
    F function;
  };
  std::unique_ptr<CallBase> call_;
};

}  // namespace duramen::inline v0
