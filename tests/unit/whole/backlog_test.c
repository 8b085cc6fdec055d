// Streams that free what other streams have allocated, while the device is so many pieces of work
// behind the host and stays so. What a pool holds goes by what is pending, and not by how long the
// program runs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/collect.h"
#include "region/row.h"
#include "unit/fixture/pool.h"

enum { BEHIND = 64, PIECES = 2000 };

static poolMemPool_t pool;
static CUstream producer, consumer, other;

static int setup(void **state) {
    int failed = fixture_setup(state);
    if (failed)
        return failed;
    pool = fixture_pool();
    producer = simulated_stream();
    consumer = simulated_stream();
    other = simulated_stream();
    return 0;
}

// Gives a stream one piece of work more, and has the device do the oldest.
static void work_on(CUstream stream) {
    simulated_work(stream);
    while (simcudaPending(stream) > BEHIND)
        assert_int_equal(simcudaComplete(stream, 1), CUDA_SUCCESS);
}

// The producer allocates so many pieces, and as many consumers free them in turn.
static void pass(int pieces, size_t size, const CUstream *consumers, int count) {
    for (int i = 0; i < pieces; i++) {
        void *piece = fixture_malloc(pool, size, producer);
        work_on(consumers[i % count]);
        fixture_free(piece, consumers[i % count]);
    }
    assert_true(fixture_reserved(pool) <= 2 * (size_t)count * BEHIND * size + 2 * SP_FOREIGN_MOST);
    fixture_check(pool);
}

static void what_is_freed_elsewhere_comes_back_when_it_is_complete(void **state) {
    (void)state;
    pass(PIECES, KIB(256), &consumer, 1);
}

// A lane whose threads stand in each other's way keeps what it frees, until somebody collects it.
static void so_does_what_a_crowded_lane_keeps(void **state) {
    (void)state;
    sp_store_relaxed(&fixture_lane(pool, consumer)->contended_frees, UINT32_MAX);
    pass(PIECES, KIB(256), &consumer, 1);
}

static void so_does_what_lies_among_memory_of_the_stream_that_frees(void **state) {
    (void)state;
    for (int i = 0; i < PIECES; i++) {
        void *piece = fixture_malloc(pool, KIB(256), producer);
        void *own = fixture_malloc(pool, KIB(256), consumer);
        work_on(consumer);
        fixture_free(piece, consumer);
        fixture_free(own, consumer);
    }
    assert_true(fixture_reserved(pool) <= 4 * BEHIND * KIB(256) + 2 * SP_FOREIGN_MOST);
    fixture_check(pool);
}

static void so_does_what_waits_for_several_streams(void **state) {
    (void)state;
    for (int i = 0; i < PIECES; i++) {
        void *piece = fixture_malloc(pool, KIB(256), producer);
        work_on(consumer);
        work_on(other);
        CUstream both[] = {consumer, other};
        assert_int_equal(poolFreeAsyncAfter(piece, both, 2), poolSuccess);
    }
    assert_true(fixture_reserved(pool) <= 2 * BEHIND * KIB(256) + 2 * SP_FOREIGN_MOST);
    fixture_check(pool);
}

// Small blocks: their slabs go back when other streams have freed the last block.
static void so_do_slabs_that_several_streams_free(void **state) {
    (void)state;
    const CUstream consumers[] = {consumer, other, simulated_stream(), simulated_stream()};
    pass(4 * PIECES, KIB(40), consumers, 4);
}

// The consumer frees so many pieces of the producer's, each under a number of its own.
static void free_parts(int parts, size_t size) {
    void *pieces[100];
    for (int i = 0; i < parts; i++)
        pieces[i] = fixture_malloc(pool, size, producer);
    for (int i = 0; i < parts; i++) {
        simulated_work(consumer);
        assert_int_equal(poolStreamQuery(consumer), poolErrorNotReady);
        fixture_free(pieces[i], consumer);
    }
}

static void parts_of_pending_memory_are_together_for_the_stream_that_freed_them(void **state) {
    (void)state;
    free_parts(32, MIB(1));
    uint64_t reserved = fixture_reserved(pool);
    fixture_free(fixture_malloc(pool, MIB(32), consumer), consumer);
    assert_int_equal(fixture_reserved(pool), reserved);
}

static void a_growth_maps_no_more_than_they_lack(void **state) {
    (void)state;
    free_parts(100, MIB(8));
    assert_int_equal(fixture_reserved(pool), MIB(800));
    fixture_free(fixture_malloc(pool, MIB(840), consumer), consumer);
    assert_int_equal(fixture_reserved(pool), MIB(840));
    fixture_check(pool);
}

static void nor_does_one_that_the_limit_leaves_little_for(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(MIB(96));
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    free_parts(4, MIB(16));
    fixture_free(fixture_malloc(pool, MIB(96), consumer), consumer);
    fixture_check(pool);
}

// Many holes share the looks, so each has one at the block in front of it in any case.
static void of_a_row_so_many_blocks_beside_the_last_are_looked_at(void **state) {
    (void)state;
    struct sp_request request;
    free_parts(4, MIB(16));
    struct sp_pool *inside = fixture_inside(pool);
    sp_collect_all(inside);
    sp_request_open(&request, inside, fixture_lane(pool, consumer), SP_REGION_LARGE, MIB(80),
                    poolMallocDefault);
    sp_lock_acquire(&inside->lock);
    const struct sp_list *segment = inside->regions[SP_REGION_LARGE].segments.next;
    struct sp_block *last =
        sp_chain_last(&SP_CONTAINER_OF(segment, struct sp_segment, link)->chain);
    if (sp_block_state(last) == SP_BLOCK_HOLE)
        last = last->prev;
    for (unsigned looks = 0; looks < 6; looks++) {
        unsigned left = looks, seen = looks < 3 ? looks + 1 : 4;
        struct sp_row row = sp_row_up_to(&request, last, MIB(80), &left);
        assert_int_equal(row.size, seen * MIB(16));
    }
    sp_lock_release(&inside->lock);
    sp_request_close(&request);
}

#define backlog_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        backlog_test(what_is_freed_elsewhere_comes_back_when_it_is_complete),
        backlog_test(so_does_what_a_crowded_lane_keeps),
        backlog_test(so_does_what_lies_among_memory_of_the_stream_that_frees),
        backlog_test(so_does_what_waits_for_several_streams),
        backlog_test(so_do_slabs_that_several_streams_free),
        backlog_test(parts_of_pending_memory_are_together_for_the_stream_that_freed_them),
        backlog_test(a_growth_maps_no_more_than_they_lack),
        backlog_test(of_a_row_so_many_blocks_beside_the_last_are_looked_at),
        backlog_test(nor_does_one_that_the_limit_leaves_little_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
