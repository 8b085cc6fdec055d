// Random operations on the pool, each compared with the ledger.
//
// One run is one seed: it makes the streams, does the operations, frees everything, and checks that
// the device has every byte back. The machine (granule, when work completes, API level) depends on
// the seed too. The first disagreement ends the process, with the seed and the number of the
// operation.
#ifndef STREAMPOOL_TESTS_MODEL_OPERATIONS_H
#define STREAMPOOL_TESTS_MODEL_OPERATIONS_H

#include <stdatomic.h>
#include <stdint.h>

// `done` counts the operations begun, for whoever must tell where a crash was.
void run_operations(uint64_t seed, uint64_t operations, _Atomic uint64_t *done);

#endif
