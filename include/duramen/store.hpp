// The store handle of users: the provider, and the meeting point of clients and runtimes that share it in one
// process.
#pragma once

#include <duramen/provider.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace duramen::inline v0 {

namespace detail {
class LocalHub;
std::shared_ptr<LocalHub> make_local_hub();
}  // namespace detail

/// Copies `text` for display and logs: in addresses of stores and connection strings, each password or other
/// secret is replaced by `***`. Finds them in URIs (`postgresql://user:secret@host/db?password=secret`) and
/// after libpq's keywords (`host=db password='a secret'`), percent-encoded or not; copies everything else
/// unchanged. Any thread.
[[nodiscard]] std::string without_secrets(std::string_view text);

/// A handle; copies share the store. Runtimes and clients made from copies of one handle communicate
/// directly: a start runs its first turn in the commit that creates it, and waiters are notified without a
/// store call.
class Store {
 public:
  explicit Store(std::shared_ptr<Provider> provider)
      : provider_(std::move(provider)), local_hub_(detail::make_local_hub()) {}

  /// The provider of this store.
  [[nodiscard]] const std::shared_ptr<Provider>& provider() const noexcept { return provider_; }
  [[nodiscard]] const std::shared_ptr<detail::LocalHub>& local_hub() const noexcept { return local_hub_; }

 private:
  std::shared_ptr<Provider> provider_;
  std::shared_ptr<detail::LocalHub> local_hub_;
};

}  // namespace duramen::inline v0
