// What the figures are of: the library, how it was built, and how its pools are set unless a case
// says otherwise.
#ifndef STREAMPOOL_BENCH_ABOUT_H
#define STREAMPOOL_BENCH_ABOUT_H

// "0.1.0", and "Release, GNU 12.2.0".
extern const char about_library[];
extern const char about_build[];

// "ReleaseThreshold 0, ...": every attribute that can be set, as a new pool of the device has it.
// Returns 0 or the error's number.
enum { ABOUT_TEXT = 1024 };
int about_defaults(char text[ABOUT_TEXT]);

#endif
