// Rows of reuse between streams, as far as it rests on the same stream or on what the host has
// waited for.
#include <stdint.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

// As large as one growth of any pool, so that a second one can't come out of what the first left
// over.
#define BLOCK MIB(64)

static poolMemPool_t pool_without_policies(void) {
    poolMemPool_t pool = test_keeping_pool();
    test_set_all_policies(pool, 0);
    return pool;
}

void row_with_all_policies_off_a_stream_reuses_what_was_freed_on_it(void) {
    poolMemPool_t pool = pool_without_policies();
    CUstream stream = test_stream();
    struct test_hold hold;
    void *pointer = test_malloc(pool, BLOCK, stream);
    test_hold(&hold, stream);
    test_free(pointer, stream);
    uint64_t reserved = test_reserved(pool);
    REQUIRE(test_malloc(pool, BLOCK, stream) == pointer);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
    EXPECT(poolStreamQuery(stream), poolErrorNotReady);
    test_let_go(&hold);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
}

// Memory freed on a held stream goes to no other stream until the host has waited for it by
// `synchronise`.
static void reuse_after(void (*synchronise)(CUstream held)) {
    poolMemPool_t pool = pool_without_policies();
    CUstream a = test_stream(), b = test_stream();
    struct test_hold hold;
    void *pointer = test_malloc(pool, BLOCK, a);
    test_fill(pointer, 1, BLOCK, a);
    test_hold(&hold, a);
    test_fill(pointer, 2, BLOCK, a);
    test_free(pointer, a);

    void *elsewhere = test_malloc(pool, BLOCK, b);
    REQUIRE(elsewhere != pointer);
    REQUIRE_EQUAL(test_reserved(pool), 2 * BLOCK);
    test_let_go(&hold);
    synchronise(a);
    REQUIRE(test_malloc(pool, BLOCK, b) == pointer);
    test_fill(pointer, 3, BLOCK, b);
    test_finish(b);
    REQUIRE(test_is_filled(pointer, 3, BLOCK));
    REQUIRE_EQUAL(test_reserved(pool), 2 * BLOCK);
}

static void synchronise_stream(CUstream held) {
    EXPECT(poolStreamSynchronize(held), poolSuccess);
}

static void synchronise_device(CUstream held) {
    (void)held;
    EXPECT(poolDeviceSynchronize(), poolSuccess);
}

void row_with_all_policies_off_another_stream_reuses_after_a_stream_synchronise(void) {
    reuse_after(synchronise_stream);
}

void row_with_all_policies_off_another_stream_reuses_after_a_device_synchronise(void) {
    reuse_after(synchronise_device);
}

// Makes streams until one has the handle of a destroyed one; the last stream where none does. A
// driver may wait for the device when it makes many.
enum { FEW = 6 };

static CUstream stream_at(CUstream destroyed) {
    CUstream stream = NULL;
    for (unsigned i = 0; i < FEW && stream != destroyed; i++)
        stream = test_stream();
    return stream;
}

// Memory freed on a stream that is destroyed meanwhile, before the stream's work has ended.
static void *free_and_destroy(poolMemPool_t pool, size_t size, struct test_spin *spin,
                              CUstream *stream) {
    *stream = test_stream();
    void *pointer = test_malloc(pool, size, *stream);
    test_spin(spin, *stream);
    test_fill(pointer, 1, size, *stream);
    test_free(pointer, *stream);
    DRIVER(test_driver()->cuStreamDestroy(*stream));
    return pointer;
}

// Where the driver can't tell the two streams apart, the memory may be handed out at once, to work
// that waits.
static void require_old_work_comes_first(const void *old_memory, const void *memory,
                                         CUstream young) {
    if (memory == old_memory)
        EXPECT(poolStreamQuery(young), poolErrorNotReady);
}

void row_a_new_stream_at_a_destroyed_streams_handle_inherits_nothing(void) {
    static const size_t sizes[] = {KIB(5), BLOCK};
    poolMemPool_t pool = pool_without_policies();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CUstream old;
        struct test_spin spin;
        void *freed = free_and_destroy(pool, sizes[i], &spin, &old);
        CUstream young = stream_at(old);
        void *memory = test_malloc(pool, sizes[i], young);
        require_old_work_comes_first(freed, memory, young);
        test_fill(memory, 2, sizes[i], young);
        test_stop_spinning(&spin);
        EXPECT(poolDeviceSynchronize(), poolSuccess);
        REQUIRE(test_is_filled(memory, 2, sizes[i]));
    }
}
