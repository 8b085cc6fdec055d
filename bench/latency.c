#include "latency.h"

// Times below LATENCY_PARTS have a count each; from there on each octave has so many.
static unsigned index_of(uint64_t nanoseconds) {
    unsigned shift = 0;
    while (nanoseconds >> shift >= 2 * LATENCY_PARTS)
        shift++;
    uint64_t index = shift * LATENCY_PARTS + (nanoseconds >> shift);
    return index < LATENCY_COUNTS ? (unsigned)index : LATENCY_COUNTS - 1;
}

static double middle_of(unsigned index) {
    if (index < 2 * LATENCY_PARTS)
        return index;
    unsigned shift = index / LATENCY_PARTS - 1;
    return ((double)(index - shift * LATENCY_PARTS) + 0.5) * (double)(UINT64_C(1) << shift);
}

void latency_add(struct latency *latency, uint64_t nanoseconds) {
    latency->counts[index_of(nanoseconds)]++;
    latency->total++;
    if (nanoseconds > latency->worst)
        latency->worst = nanoseconds;
}

void latency_join(struct latency *latency, const struct latency *other) {
    for (int i = 0; i < LATENCY_COUNTS; i++)
        latency->counts[i] += other->counts[i];
    latency->total += other->total;
    if (other->worst > latency->worst)
        latency->worst = other->worst;
}

double latency_at(const struct latency *latency, double fraction) {
    uint64_t seen = 0;
    for (unsigned i = 0; i < LATENCY_COUNTS; i++) {
        seen += latency->counts[i];
        if (seen > 0 && (double)seen >= fraction * (double)latency->total)
            return middle_of(i);
    }
    return 0;
}
