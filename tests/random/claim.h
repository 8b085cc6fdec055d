// Claims: several threads may use a thing at a time, or one thread may have it for itself.
//
// Nobody waits for a claim: who can't have it chooses something else to do, so claims are taken in
// any order.
//
//   state is -1 when one thread has it, else the number of those who share it
#ifndef STREAMPOOL_TESTS_RANDOM_CLAIM_H
#define STREAMPOOL_TESTS_RANDOM_CLAIM_H

#include <stdatomic.h>
#include <stdbool.h>

struct claim {
    _Atomic int state;
};

static inline bool claim_alone(struct claim *claim) {
    int nobody = 0;
    return atomic_compare_exchange_strong(&claim->state, &nobody, -1);
}

static inline bool claim_shared(struct claim *claim) {
    int state = atomic_load(&claim->state);
    while (state >= 0) {
        if (atomic_compare_exchange_weak(&claim->state, &state, state + 1))
            return true;
    }
    return false;
}

static inline void claim_return(struct claim *claim) {
    if (atomic_load(&claim->state) < 0)
        atomic_store(&claim->state, 0);
    else
        atomic_fetch_sub(&claim->state, 1);
}

#endif
