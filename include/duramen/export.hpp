// DURAMEN_API marks a type that must be the same in every part of a program.
//
// An exception thrown in one shared object and caught in another must have one type in both. A program may
// compile its own code with hidden visibility; types marked with DURAMEN_API stay visible.
#pragma once

#if defined(__GNUC__)
#define DURAMEN_API __attribute__((visibility("default")))
#else
#define DURAMEN_API
#endif
