// Lanes that allocate, free and change the sizes of blocks at random, each its own. Contents are
// checked. Where memory may run out, a request may be refused.
#ifndef STREAMPOOL_TESTS_HEAP_CHURN_H
#define STREAMPOOL_TESTS_HEAP_CHURN_H

#include "heap/bed.h"

enum { CHURN_BLOCKS = 12, CHURN_THREADS_MOST = 32 };

struct churn {
    struct bed *bed;
    uint64_t seed;
    uint32_t operations; // of a thread, at most; some end earlier
    uint64_t bytes_most;
    bool may_fail;
    // What each thread has at its end. Each is written with its key, its own address.
    struct {
        void *address;
        size_t bytes;
    } block[CHURN_THREADS_MOST][CHURN_BLOCKS];
};

// A kernel, whose argument is a churn.
void churn_kernel(void *argument, uint32_t thread);

// Frees what the threads have left, alone.
void churn_end(struct churn *churn);

// A size: small, or up to `most` with equal parts for each power of two.
size_t churn_size(uint64_t number, uint64_t most);

#endif
