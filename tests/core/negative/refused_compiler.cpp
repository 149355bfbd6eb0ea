// Fine but for the compiler that is given it.
#include <duramen/task.hpp>
