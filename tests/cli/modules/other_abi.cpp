// A module that was built for another Duramen.
#include <duramen/module.hpp>

extern "C" DURAMEN_API const char* duramen_abi() { return "duramen 0.0 gcc libstdc++"; }
extern "C" DURAMEN_API void duramen_register(duramen::Registry&) {}
