// How long each of millions of calls took, in a table of counts.
#ifndef STREAMPOOL_BENCH_LATENCY_H
#define STREAMPOOL_BENCH_LATENCY_H

#include <stdint.h>

// An octave is divided into 32 parts: a time is known to 3 %. What takes longer than 2^40 ns counts
// as that.
enum { LATENCY_PARTS = 32, LATENCY_OCTAVES = 36, LATENCY_COUNTS = LATENCY_PARTS * LATENCY_OCTAVES };

struct latency {
    uint64_t counts[LATENCY_COUNTS];
    uint64_t total;
    uint64_t worst; // exactly
};

void latency_add(struct latency *latency, uint64_t nanoseconds);
void latency_join(struct latency *latency, const struct latency *other);

// The time that this share of the calls doesn't exceed, in nanoseconds; 0 without any.
double latency_at(const struct latency *latency, double fraction);

#endif
