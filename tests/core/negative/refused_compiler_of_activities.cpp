// The same for the other coroutine type.
#include <duramen/activity.hpp>
