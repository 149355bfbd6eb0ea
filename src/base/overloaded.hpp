// A visitor made of lambdas, one per alternative: std::visit(Overloaded{[](int) {...}, [](const auto&)
// {...}}, v).
#pragma once

namespace duramen::inline v0 {

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace duramen::inline v0
