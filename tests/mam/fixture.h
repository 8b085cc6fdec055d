// Managers under test, on the simulated driver: what a test does often, each with its own check.
#ifndef STREAMPOOL_TESTS_MAM_FIXTURE_H
#define STREAMPOOL_TESTS_MAM_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <streampool/mam.h>

#include "unit/fixture/pool.h"

// A manager of device 0 with a chunk of so many bytes.
poolMam_t mam_of(size_t chunk_size, unsigned int flags);

void *mam_malloc(poolMam_t mam, size_t size);
void mam_free(poolMam_t mam, void *pointer);
void mam_destroy(poolMam_t mam);
poolMemPool_t mam_pool(poolMam_t mam);

// The call has failed with this error, and its detail has these words.
void mam_refused(poolError_t got, poolError_t expected, const char *words);

// Nothing of the device is in use.
void mam_device_is_empty(int device);

// How many driver calls there have been.
uint64_t mam_driver_calls(void);

#endif
