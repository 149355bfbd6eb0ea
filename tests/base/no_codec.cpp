// Must not compile: nothing says how an Order becomes a payload.
#include <duramen/codec.hpp>

struct Order {
  int cents = 0;
};

duramen::Payload encode() { return duramen::encode_payload(std::vector<Order>(1)); }
