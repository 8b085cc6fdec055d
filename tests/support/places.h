// Places of memory that are no device, pools there, and what the host does with its memory: it
// reads and writes the bytes itself, and tells the simulated driver's race detector of it.
#ifndef STREAMPOOL_TESTS_SUPPORT_PLACES_H
#define STREAMPOOL_TESTS_SUPPORT_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include <streampool/streampool.h>

// Pinned memory of the host, the same for staging, and managed memory.
enum test_kind { TEST_PINNED = 1, TEST_STAGED = 2, TEST_MANAGED = 4 };
#define TEST_LIMITED (TEST_PINNED | TEST_STAGED) // what has limits, and lets devices in
#define TEST_ALL     (TEST_LIMITED | TEST_MANAGED)

struct test_place {
    enum test_kind kind;
    const char *name;
    struct poolMemLocation location;
};

// The whole host.
extern const struct test_place test_the_host;

// Runs a row for each place of these kinds that the driver has memory of: the whole host, and a
// NUMA node where that is mapped; managed memory where the host can touch it beside work. A failure
// names the place.
void test_for_each_place(unsigned kinds, void (*row)(const struct test_place *place));

// Skips the row where there is no memory of NUMA nodes; where that of the host is not mapped, so
// that it can't be put together from pieces; and where there is no managed memory.
void test_require_nodes(void);
void test_require_mapped_host(void);
void test_require_managed(void);

struct poolMemPoolProps test_props_at(const struct test_place *place);

// A pool with default attributes; the same with at most this many bytes reserved; the same that
// keeps all its memory at a synchronise.
poolMemPool_t test_pool_at(const struct test_place *place);
poolMemPool_t test_limited_pool_at(const struct test_place *place, size_t max_size);
poolMemPool_t test_keeping_pool_at(const struct test_place *place);

// Gives a device access to the pool's memory, or takes it.
void test_let_in(poolMemPool_t pool, int device);
void test_keep_out(poolMemPool_t pool, int device);

// The host itself writes one value to every byte, and finds out whether all bytes have it. No work
// that touches them may be pending.
void test_host_fill(void *address, unsigned char value, size_t size);
bool test_host_is_filled(const void *address, unsigned char value, size_t size);

#endif
