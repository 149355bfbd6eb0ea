// The base of providers that watch, fail or lie, under the name tests know it by.
#pragma once

#include <duramen/forwarding_provider.hpp>

namespace duramen::inline v0::testing {

using duramen::ForwardingProvider;
using duramen::ProviderCall;

}  // namespace duramen::inline v0::testing
