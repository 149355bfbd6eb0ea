// A program of no coroutines, which says so.
#include <duramen/client.hpp>
