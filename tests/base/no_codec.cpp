// Must not compile: Order has no Codec.
#include <duramen/codec.hpp>

struct Order {
  int cents = 0;
};

duramen::Payload encode() { return duramen::encode_payload(std::vector<Order>(1)); }
