// What a Client is made of, for the files that implement it.
#pragma once

#include "client/waits.hpp"
#include <duramen/client.hpp>

#include <memory>
#include <utility>

namespace duramen::inline v0 {

class Client::Impl {
 public:
  explicit Impl(Store s)
      : store(std::move(s)), provider(*store.provider()), waits(std::make_shared<client::Waits>(store)) {}
  Store store;
  Provider& provider;
  std::shared_ptr<client::Waits> waits;
};

}  // namespace duramen::inline v0
