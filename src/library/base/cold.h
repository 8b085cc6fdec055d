// Hints to the compiler about hot paths.
//
// A function that is kept out of line costs its caller no registers and no prologue where it isn't
// called, and the compiler keeps its code apart from the hot path's.
#ifndef STREAMPOOL_BASE_COLD_H
#define STREAMPOOL_BASE_COLD_H

// A function that is seldom called.
#define SP_COLD __attribute__((noinline, cold))
// A function that is kept out of line but called often, and so is compiled for speed.
#define SP_APART __attribute__((noinline))
// A hot path that is inlined in each caller.
#define SP_HOT inline __attribute__((always_inline))

#define SP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SP_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
