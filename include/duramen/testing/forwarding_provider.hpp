// The base of providers that observe, fail or return wrong answers, under the name that tests use.
#pragma once

#include <duramen/forwarding_provider.hpp>

namespace duramen::inline v0::testing {

using duramen::ForwardingProvider;
using duramen::ProviderCall;

}  // namespace duramen::inline v0::testing
