// A program without coroutines.
#include <duramen/client.hpp>
