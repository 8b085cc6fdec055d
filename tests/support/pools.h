// Pools as tests use them: made with default properties, read by attribute, compared as a whole.
#ifndef STREAMPOOL_TESTS_SUPPORT_POOLS_H
#define STREAMPOOL_TESTS_SUPPORT_POOLS_H

#include <stdint.h>

#include <streampool/streampool.h>

// What every failing call must leave as it was.
struct test_figures {
    uint64_t reserved;
    uint64_t reserved_high;
    uint64_t used;
    uint64_t used_high;
};

struct poolMemPoolProps test_pool_props(int device);

// A pool of device 0 with default attributes; the same with at most this many bytes reserved; the
// same that keeps all its memory at a synchronise.
poolMemPool_t test_pool(void);
poolMemPool_t test_pool_of_at_most(size_t max_size);
poolMemPool_t test_keeping_pool(void);
poolMemPool_t test_default_pool(int device);

// Skips the row where device 0 has no virtual memory management: nothing is mapped a second time
// there, memory is that of one context, and giving it back waits for the device.
void test_require_virtual_memory(void);

uint64_t test_attribute(poolMemPool_t pool, enum poolMemPoolAttr attr);
int test_flag(poolMemPool_t pool, enum poolMemPoolAttr attr);
void test_set_attribute(poolMemPool_t pool, enum poolMemPoolAttr attr, uint64_t value);
void test_set_flag(poolMemPool_t pool, enum poolMemPoolAttr attr, int value);
void test_set_all_policies(poolMemPool_t pool, int value);

uint64_t test_reserved(poolMemPool_t pool);
uint64_t test_used(poolMemPool_t pool);
struct test_figures test_figures(poolMemPool_t pool);

// An allocation that succeeds and is not null, and a free that succeeds.
void *test_malloc(poolMemPool_t pool, size_t size, CUstream stream);
void test_free(void *pointer, CUstream stream);

// Behind the macro.
void test_same_figures(const char *file, int line, poolMemPool_t pool,
                       struct test_figures expected);

#define REQUIRE_FIGURES(pool, expected) test_same_figures(__FILE__, __LINE__, (pool), (expected))

#endif
