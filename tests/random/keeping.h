// What a synchronise must leave of a pool, and what it must not: a ledger of what the program has
// asked for by poolMemPoolPrime, ReleaseThreshold, ReleaseDelay and poolMemPoolTrimTo, kept by the
// promises of the public header.
//
// It counts on what the program itself did: memory that is live. The pool may count more as in use
// (what is pending, or at hand for a stream), so it may keep more for a delay, never less.
#ifndef STREAMPOOL_TESTS_RANDOM_KEEPING_H
#define STREAMPOOL_TESTS_RANDOM_KEEPING_H

#include <stdint.h>

enum { INTERVALS = 4 }; // the longest delay of a program

struct keeping {
    uint64_t threshold;
    uint64_t primed;               // bytes that are to be free,
    uint64_t primed_until;         // as long as no more than these are reserved
    uint64_t delay;                // intervals
    uint64_t most_used[INTERVALS]; // at once, in the interval that runs and in those before it
};

// So many bytes, a multiple of the granule, were primed; a trim was to keep so many; a delay was
// set; so many are in use now.
void keeping_primed(struct keeping *keeping, uint64_t bytes, uint64_t reserved);
void keeping_trimmed(struct keeping *keeping, uint64_t keep);
void keeping_delayed(struct keeping *keeping, uint64_t delay, uint64_t used);
void keeping_used(struct keeping *keeping, uint64_t used);

// A synchronise ends an interval with so many in use; and the least that it must leave, of a pool
// that has as much.
void keeping_synchronized(struct keeping *keeping, uint64_t used);
uint64_t keeping_least(const struct keeping *keeping, uint64_t used);

// The most that it may leave, without a delay, where so many bytes can't go.
uint64_t keeping_most(const struct keeping *keeping, uint64_t stays);

#endif
