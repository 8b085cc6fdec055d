// Rows of memory in pieces that is mapped once more, side by side, to serve a large request.
#include <stdint.h>
#include <stdlib.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/simulated.h"

// A pool filled with blocks side by side, which can't grow where the limit needs no rounding.
enum { PIECES = 16, LAST = 9 };

struct pieces {
    poolMemPool_t pool;
    CUstream a, b, c;
    size_t size; // of each
    void *blocks[PIECES];
};

static void open_pieces(struct pieces *pieces, size_t size) {
    struct poolMemPoolProps props = test_pool_props(0);
    *pieces =
        (struct pieces){.size = size, .a = test_stream(), .b = test_stream(), .c = test_stream()};
    props.maxSize = PIECES * size;
    EXPECT(poolMemPoolCreate(&pieces->pool, &props), poolSuccess);
    test_set_attribute(pieces->pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    test_set_all_policies(pieces->pool, 0);
    for (unsigned i = 0; i < PIECES; i++) {
        pieces->blocks[i] = test_malloc(pieces->pool, size, pieces->a);
        test_fill(pieces->blocks[i], (unsigned char)(i + 1), size, pieces->a);
    }
    test_finish(pieces->a);
}

// Half of the pool, in eight pieces.
static void free_every_other(struct pieces *pieces, CUstream stream) {
    for (unsigned i = 0; i < PIECES; i += 2)
        test_free(pieces->blocks[i], stream);
}

static bool gives(const struct pieces *pieces, size_t size, CUstream stream) {
    void *pointer = NULL;
    poolError_t error = poolMallocFromPoolAsync(&pointer, size, pieces->pool, stream);
    if (error == poolSuccess)
        test_free(pointer, stream);
    else
        EXPECT(error, poolErrorMemoryAllocation);
    return error == poolSuccess;
}

static void require_neighbours(const struct pieces *pieces) {
    for (unsigned i = 1; i < PIECES; i += 2)
        REQUIRE(test_is_filled(pieces->blocks[i], (unsigned char)(i + 1), pieces->size));
}

void row_memory_in_pieces_serves_a_large_request_with_no_new_memory(void) {
    test_require_virtual_memory();
    struct pieces pieces;
    open_pieces(&pieces, MIB(8));
    free_every_other(&pieces, pieces.a);
    uint64_t remaps = test_attribute(pieces.pool, poolMemPoolStatRemaps);
    void *joined = test_malloc(pieces.pool, MIB(60), pieces.a);
    REQUIRE_EQUAL(test_reserved(pieces.pool), MIB(128));
    REQUIRE_EQUAL(test_used(pieces.pool), MIB(124));
    REQUIRE_EQUAL(test_attribute(pieces.pool, poolMemPoolStatRemaps), remaps + 1);
    test_fill(joined, 200, MIB(60), pieces.a);
    test_finish(pieces.a);
    REQUIRE(test_is_filled(joined, 200, MIB(60)));
    require_neighbours(&pieces);
    test_free(joined, pieces.a);
    for (unsigned i = 1; i < PIECES; i += 2)
        test_free(pieces.blocks[i], pieces.a);
    EXPECT(poolStreamSynchronize(pieces.a), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pieces.pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pieces.pool), 0);
}

// A piece is less than an extent here, so its ends are in extents that are partly used.
void row_joined_memory_and_its_neighbours_share_no_byte(void) {
    const size_t size = MIB(4) - 512;
    struct pieces pieces;
    void *joined[4] = {0};
    unsigned count = 0;
    open_pieces(&pieces, MIB(3));
    free_every_other(&pieces, pieces.a);
    while (count < 4 && poolMallocAsyncWithFlags(&joined[count], size, pieces.pool, pieces.a,
                                                 poolMallocNoGrowth) == poolSuccess) {
        test_fill(joined[count], (unsigned char)(100 + count), size, pieces.a);
        count++;
    }
    REQUIRE(count > 0);
    test_finish(pieces.a);
    require_neighbours(&pieces);
    for (unsigned i = 1; i < PIECES; i += 2)
        test_fill(pieces.blocks[i], (unsigned char)(50 + i), MIB(3), pieces.a);
    test_finish(pieces.a);
    for (unsigned i = 0; i < count; i++)
        REQUIRE(test_is_filled(joined[i], (unsigned char)(100 + i), size));
}

void row_a_view_of_pieces_serves_the_same_request_again(void) {
    test_require_virtual_memory();
    struct pieces pieces;
    open_pieces(&pieces, MIB(8));
    free_every_other(&pieces, pieces.a);
    void *joined = test_malloc(pieces.pool, MIB(50), pieces.a);
    for (unsigned round = 0; round < 10; round++) {
        test_fill(joined, (unsigned char)round, MIB(50), pieces.a);
        test_free(joined, pieces.a);
        // Of the same memory, at its other address.
        void *part = test_malloc(pieces.pool, MIB(8), pieces.a);
        test_fill(part, 77, MIB(8), pieces.a);
        test_free(part, pieces.a);
        REQUIRE(test_malloc(pieces.pool, MIB(50), pieces.a) == joined);
    }
    test_fill(joined, 9, MIB(50), pieces.a);
    test_finish(pieces.a);
    REQUIRE(test_is_filled(joined, 9, MIB(50)));
    require_neighbours(&pieces);
}

void row_joined_memory_comes_after_its_last_work_on_the_same_stream(void) {
    test_require_virtual_memory();
    struct pieces pieces;
    struct test_hold hold;
    open_pieces(&pieces, MIB(8));
    test_hold(&hold, pieces.a);
    for (unsigned i = 0; i < PIECES; i += 2)
        test_fill(pieces.blocks[i], 111, MIB(8), pieces.a);
    free_every_other(&pieces, pieces.a);
    void *joined = test_malloc(pieces.pool, MIB(64), pieces.a);
    EXPECT(poolStreamQuery(pieces.a), poolErrorNotReady);
    test_fill(joined, 112, MIB(64), pieces.a);
    test_let_go(&hold);
    test_finish(pieces.a);
    REQUIRE(test_is_filled(joined, 112, MIB(64)));
    require_neighbours(&pieces);
}

void row_memory_that_another_stream_has_pending_is_not_joined(void) {
    test_require_virtual_memory();
    struct pieces pieces;
    struct test_hold hold;
    open_pieces(&pieces, MIB(8));
    test_free(pieces.blocks[0], pieces.b);
    EXPECT(poolStreamSynchronize(pieces.b), poolSuccess);
    test_hold(&hold, pieces.a);
    for (unsigned i = 2; i < PIECES; i += 2)
        test_free(pieces.blocks[i], pieces.a);
    REQUIRE(!gives(&pieces, MIB(16), pieces.b));
    REQUIRE(gives(&pieces, MIB(16), pieces.a)); // which leaves a view of it
    REQUIRE(!gives(&pieces, MIB(16), pieces.b));
    test_let_go(&hold);
    EXPECT(poolStreamSynchronize(pieces.a), poolSuccess);
    REQUIRE(gives(&pieces, MIB(16), pieces.b));
}

// What is joined goes by its own address as by the joined one, and no stream comes too early by
// either.
void row_work_through_joined_memory_has_a_claim_on_the_pieces(void) {
    struct pieces pieces;
    struct test_hold hold;
    open_pieces(&pieces, MIB(8));
    free_every_other(&pieces, pieces.a);
    EXPECT(poolStreamSynchronize(pieces.a), poolSuccess);
    void *joined = test_malloc(pieces.pool, MIB(64), pieces.a);
    test_hold(&hold, pieces.a);
    test_fill(joined, 120, MIB(64), pieces.a);
    test_free(joined, pieces.a);
    REQUIRE(!gives(&pieces, MIB(8), pieces.b));
    EXPECT(poolMemPoolTrimTo(pieces.pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pieces.pool), MIB(128));
    test_let_go(&hold);
    EXPECT(poolStreamSynchronize(pieces.a), poolSuccess);
    REQUIRE(gives(&pieces, MIB(8), pieces.b));
    EXPECT(poolMemPoolTrimTo(pieces.pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pieces.pool), MIB(64));
}

// The first piece is complete, another one is ordered; the one who frees the whole has neither.
void row_joined_memory_keeps_the_claims_on_all_its_pieces(void) {
    test_require_virtual_memory();
    struct pieces pieces;
    struct test_hold hold;
    CUevent event = test_event();
    open_pieces(&pieces, MIB(8));
    test_set_flag(pieces.pool, poolMemPoolReuseFollowEventDependencies, 1);
    test_free(pieces.blocks[0], pieces.a);
    test_free(pieces.blocks[2], pieces.a);
    EXPECT(poolStreamSynchronize(pieces.a), poolSuccess);
    test_hold(&hold, pieces.a);
    test_free(pieces.blocks[4], pieces.a);
    EXPECT(poolEventRecord(event, pieces.a), poolSuccess);
    EXPECT(poolStreamWaitEvent(pieces.b, event, 0), poolSuccess);
    void *joined = test_malloc(pieces.pool, MIB(24), pieces.b);
    test_free(joined, pieces.c);
    REQUIRE(!gives(&pieces, MIB(24), pieces.c));
    test_let_go(&hold);
    EXPECT(poolStreamSynchronize(pieces.a), poolSuccess);
    REQUIRE(gives(&pieces, MIB(24), pieces.c));
}

void row_a_resident_kernel_does_not_delay_joining(void) {
    test_require_virtual_memory();
    struct pieces pieces;
    struct test_spin spin;
    open_pieces(&pieces, MIB(8));
    test_spin(&spin, pieces.b);
    free_every_other(&pieces, pieces.a);
    void *joined = test_malloc(pieces.pool, MIB(64), pieces.a);
    test_fill(joined, 130, MIB(64), pieces.a);
    test_finish(pieces.a);
    EXPECT(poolStreamQuery(pieces.b), poolErrorNotReady);
    test_stop_spinning(&spin);
    test_finish(pieces.b);
    REQUIRE(test_is_filled(joined, 130, MIB(64)));
    require_neighbours(&pieces);
}

void row_joined_memory_is_freed_by_its_first_address_alone(void) {
    test_require_virtual_memory();
    struct pieces pieces;
    open_pieces(&pieces, MIB(8));
    free_every_other(&pieces, pieces.a);
    char *joined = test_malloc(pieces.pool, MIB(64), pieces.a);
    EXPECT(poolFreeAsync(pieces.blocks[0], pieces.a), poolErrorInvalidValue);
    EXPECT(poolFreeAsync(joined + MIB(8), pieces.a), poolErrorInvalidValue);
    REQUIRE_EQUAL(test_used(pieces.pool), MIB(128));
    test_free(joined, pieces.a);
    EXPECT(poolFreeAsync(joined, pieces.a), poolErrorInvalidValue);
    REQUIRE_EQUAL(test_used(pieces.pool), MIB(64));
}

static int compare_addresses(const void *a, const void *b) {
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    return left < right ? -1 : left > right;
}

static void join(struct pieces *pieces, unsigned set) {
    void **last = &pieces->blocks[PIECES - LAST];
    for (unsigned i = 0; i < LAST; i++) {
        if (set >> i & 1)
            test_free(last[i], pieces->c);
    }
    size_t count = (size_t)__builtin_popcount(set);
    test_free(test_malloc(pieces->pool, count * pieces->size, pieces->c), pieces->c);
    for (unsigned i = 0; i < LAST; i++) {
        if (set >> i & 1)
            last[i] = test_malloc(pieces->pool, pieces->size, pieces->c);
    }
    qsort(last, LAST, sizeof *last, compare_addresses);
}

// Makes a large block of every set of the last blocks in which there is more than one: more views
// than a pool keeps.
static void join_every_set_of_the_last(struct pieces *pieces) {
    for (unsigned set = 0; set < 1 << LAST; set++) {
        if (__builtin_popcount(set) > 1)
            join(pieces, set);
    }
}

// One view, two blocks: the work through the first is pending, that through the second, which came
// later, is complete.
void row_a_view_that_makes_way_for_others_stands_until_all_work_through_it_is_complete(void) {
    test_require_virtual_memory();
    struct pieces pieces;
    struct test_spin spin;
    open_pieces(&pieces, MIB(8));
    for (unsigned i = 0; i < 8; i += 2)
        test_free(pieces.blocks[i], pieces.a);
    char *whole = test_malloc(pieces.pool, MIB(32), pieces.a);
    test_free(whole, pieces.a);
    EXPECT(poolStreamSynchronize(pieces.a), poolSuccess);
    REQUIRE(test_malloc(pieces.pool, MIB(16), pieces.a) == whole);
    REQUIRE(test_malloc(pieces.pool, MIB(16), pieces.b) == whole + MIB(16));
    test_spin(&spin, pieces.a);
    test_fill(whole, 140, MIB(16), pieces.a);
    test_free(whole, pieces.a);
    REQUIRE(!gives(&pieces, pieces.size, pieces.c)); // for which all free memory was looked through
    test_free(whole + MIB(16), pieces.b);
    EXPECT(poolStreamSynchronize(pieces.b), poolSuccess);
    uint64_t views = test_attribute(pieces.pool, poolMemPoolStatKeptViews);
    for (unsigned i = 0; i < 2; i++) // what b had, so that only the last blocks are free
        test_malloc(pieces.pool, pieces.size, pieces.b);
    join_every_set_of_the_last(&pieces);
    REQUIRE(test_attribute(pieces.pool, poolMemPoolStatKeptViews) == 256 && views == 1);
    EXPECT(poolStreamSynchronize(pieces.c), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pieces.pool, 0), poolSuccess);
    test_stop_spinning(&spin);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    test_require_no_complaints();
}
