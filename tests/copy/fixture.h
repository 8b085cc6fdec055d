// Copies under test, on the simulated driver: memory on both sides with bytes that tell where they
// come from.
#ifndef STREAMPOOL_TESTS_COPY_FIXTURE_H
#define STREAMPOOL_TESTS_COPY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <streampool/copy.h>

#include "unit/fixture/pool.h"

// Like those of the pools' fixture; the chunks' pool is gone behind a test, and the settings are
// those that the library chooses.
int copy_begin(const char *settings);
int copy_setup(void **state);
int copy_teardown(void **state);

// What the test has got is gone with the driver's state.
void copy_forget(void);

void copy_settings(unsigned threads, unsigned depth, size_t chunk_bytes);

// Memory of the device and pinned memory, which are freed behind the test, and pageable memory of
// the host, which the test frees.
CUdeviceptr copy_device(size_t bytes);
void *copy_pinned(size_t bytes);
unsigned char *copy_host(size_t bytes);

// Bytes of a seed, and whether bytes are these.
void copy_fill(unsigned char *memory, size_t bytes, uint64_t seed);
bool copy_is_filled(const unsigned char *memory, size_t bytes, uint64_t seed);

// What is in the device's memory now, without a call of the driver.
void copy_poke(CUdeviceptr address, const unsigned char *memory, size_t bytes);
void copy_peek(unsigned char *memory, CUdeviceptr address, size_t bytes);
bool copy_device_is_filled(CUdeviceptr address, size_t bytes, uint64_t seed);

// The call has succeeded, or has failed with this error and its detail has these words.
void copy_good(poolError_t error);
void copy_refused(poolError_t got, poolError_t expected, const char *words);

// What the driver does by itself, so as the program sees it.
void copy_finish(CUstream stream);

// A stream that stays behind a word of memory, until it is let go.
struct copy_hold {
    CUdeviceptr word;
    uint32_t *at;
};
struct copy_hold copy_hold(CUstream stream);
void copy_let_go(struct copy_hold *hold);

// From now on no more files can be opened: each descriptor that the process may have is in use. The
// second one undoes that, and so does the end of the test.
void copy_limit_files(void);
void copy_unlimit_files(void);

void *copy_pointer(CUdeviceptr address);

#endif
