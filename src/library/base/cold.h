// What a hot path leaves to others. A function that is kept out of line costs its caller no
// registers and no prologue where it isn't called, and a compiler keeps its code apart from what
// is.
#ifndef STREAMPOOL_BASE_COLD_H
#define STREAMPOOL_BASE_COLD_H

#define SP_COLD __attribute__((noinline, cold))
// The same for what is called often all the same, and so is made for speed.
#define SP_APART __attribute__((noinline))
// A hot path that is whole in its caller, however often it is written there.
#define SP_HOT inline __attribute__((always_inline))

#define SP_LIKELY(x)   __builtin_expect(!!(x), 1)
#define SP_UNLIKELY(x) __builtin_expect(!!(x), 0)

#endif
