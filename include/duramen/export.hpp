// DURAMEN_API: a type that is one and the same in every part of a program.
//
// An exception that is thrown in one shared object and caught in another must be known to both under one
// type. A program may compile its own code with hidden visibility; the types marked with this stay visible
// all the same.
#pragma once

#if defined(__GNUC__)
#define DURAMEN_API __attribute__((visibility("default")))
#else
#define DURAMEN_API
#endif
