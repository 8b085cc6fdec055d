// Memory in hands: where no lock is held each block is in a list or in somebody's hands; and looks
// that a request makes before it is refused, while other threads have free memory in hands.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

#include "calls/ladder.h"
#include "region/collect.h"
#include "region/find.h"
#include "region/held.h"
#include "region/in_flight.h"
#include "region/lane.h"
#include "region/settle.h"
#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

// A limit is a multiple of it.
#define WHOLE MIB(32)

static poolMemPool_t pool;
static CUstream stream;

// The library's own thread takes locks, too.
static _Thread_local bool is_tests_thread;

// A pool of one block, which is free.
static int setup(void **state) {
    (void)state;
    if (fixture_begin("memory=16G") != 0)
        return -1;
    is_tests_thread = true;
    pool = fixture_pool_of_at_most(WHOLE);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, WHOLE / SP_HELD_PART); // as by default
    fixture_set_flag(pool, poolMemPoolAttrReaper, 0);
    stream = simulated_stream();
    fixture_free(fixture_malloc(pool, WHOLE, stream), stream);
    fixture_synchronize(stream);
    return 0;
}

static int teardown(void **state) {
    sp_lock_set_hook(NULL);
    return fixture_teardown(state);
}

// ------------------------------------------------------------------------------- another's hands

static struct sp_block *aside;
static unsigned pauses; // of the request, so far
static unsigned put_at; // so many pauses later the memory is back; 0: never

static void others_take(void) {
    atomic_fetch_add(&fixture_inside(pool)->in_flight.taken, 1);
}

static void take_into_hands(size_t size) {
    struct sp_pool *inside = fixture_inside(pool);
    struct sp_lane *lane = fixture_lane(pool, stream);
    sp_collect_all(inside);
    others_take();
    sp_lock_acquire(&inside->lock);
    struct sp_request request;
    sp_request_open(&request, inside, lane, SP_REGION_LARGE, size, poolMallocDefault);
    aside = sp_find_aside(&request);
    sp_request_close(&request);
    sp_lock_release(&inside->lock);
    assert_non_null(aside);
}

static void put_out_of_hands(void) {
    struct sp_pool *inside = fixture_inside(pool);
    sp_lock_acquire(&inside->lock);
    sp_settle_insert(inside, aside);
    sp_lock_release(&inside->lock);
    sp_in_flight_put(&inside->in_flight);
}

static void count_pauses(int contended) {
    if (is_tests_thread && contended && ++pauses == put_at)
        put_out_of_hands();
}

static poolError_t allocate_while_it_is_away(unsigned comes_back_at, size_t size, void **block) {
    take_into_hands(WHOLE);
    pauses = 0;
    put_at = comes_back_at;
    sp_lock_set_hook(count_pauses);
    poolError_t error = poolMallocFromPoolAsync(block, size, pool, stream);
    sp_lock_set_hook(NULL);
    return error;
}

static void a_process_of_one_thread_waits_for_none(void **state) {
    (void)state;
    void *block = NULL;
    if (!sp_in_flight_is_ruled_out())
        skip();
    assert_int_equal(allocate_while_it_is_away(0, WHOLE, &block), poolErrorMemoryAllocation);
    assert_int_equal(pauses, 0);
    put_out_of_hands();
    assert_int_equal(poolMallocFromPoolAsync(&block, WHOLE, pool, stream), poolSuccess);
    fixture_free(block, stream);
}

static void *use_pool(void *unused) {
    (void)unused;
    sp_driver->cuCtxSetCurrent(simulated_context());
    CUstream other = simulated_stream();
    fixture_free(fixture_malloc(pool, WHOLE, other), other);
    fixture_synchronize(other);
    return NULL;
}

// Another thread has used the library beside this one.
static void be_not_alone(void) {
    pthread_t thread;
    fixture_free(fixture_malloc(pool, KIB(4), stream), stream);
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    assert_int_equal(pthread_create(&thread, NULL, use_pool, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(sp_in_flight_is_ruled_out());
}

static void a_block_that_comes_back_from_anothers_hands_is_taken(void **state) {
    (void)state;
    void *block = NULL;
    be_not_alone();
    assert_int_equal(allocate_while_it_is_away(3, WHOLE, &block), poolSuccess);
    assert_int_equal(pauses, 3);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatFailures), 0);
    assert_int_equal(fixture_reserved(pool), WHOLE);
    fixture_free(block, stream);
}

static void a_slab_is_made_of_what_comes_back(void **state) {
    (void)state;
    void *block = NULL;
    be_not_alone();
    assert_int_equal(allocate_while_it_is_away(3, KIB(4), &block), poolSuccess);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatFailures), 0);
    fixture_free(block, stream);
}

static void what_stays_away_is_not_waited_for_for_ever(void **state) {
    (void)state;
    void *block = NULL;
    be_not_alone();
    assert_int_equal(allocate_while_it_is_away(0, WHOLE, &block), poolErrorMemoryAllocation);
    assert_int_equal(pauses, SP_IN_FLIGHT_PAUSES);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatFailures), 1);
    put_out_of_hands();
}

static void where_nothing_moves_one_more_look_is_made(void **state) {
    (void)state;
    void *held, *block;
    be_not_alone();
    held = fixture_malloc(pool, WHOLE, stream);
    pauses = 0;
    sp_lock_set_hook(count_pauses);
    assert_int_equal(poolMallocFromPoolAsync(&block, WHOLE, pool, stream),
                     poolErrorMemoryAllocation);
    sp_lock_set_hook(NULL);
    assert_int_equal(pauses, 0);
    fixture_free(held, stream);
}

// ------------------------------------------------------------------------------ while one looks

static unsigned locks;    // that the request takes, before it is refused
static unsigned comes_at; // with so many taken the block comes back; 0: never
static enum { AS_LESS_USED, AS_HIT, AS_IN_HANDS } counted;

static void count_on(struct sp_lane *lane) {
    if (counted == AS_HIT)
        sp_store_relaxed(&lane->hits, sp_load_relaxed(&lane->hits) + 1);
    else if (counted == AS_LESS_USED)
        sp_store_relaxed(&lane->used, sp_load_relaxed(&lane->used) - 1);
    else
        sp_in_flight_put(&lane->pool->in_flight);
}

// Another thread frees a block and, where that counts as a hit, takes another one. What is counted
// as in its hands it has there for three locks.
static void come_back(int contended) {
    struct sp_pool *inside = fixture_inside(pool);
    if (!is_tests_thread || sp_load_relaxed(&inside->statistics[SP_STATISTIC_Failures]) > 0)
        return;
    locks += !contended;
    if (counted == AS_IN_HANDS && locks + 3 == comes_at && !contended)
        others_take();
    if (comes_at == 0 || locks < comes_at || !aside || sp_lock_is_held(&inside->lock))
        return;
    struct sp_block *block = aside;
    aside = NULL;
    sp_settle_insert(inside, block);
    count_on(fixture_lane(pool, stream));
}

// A block that is neither free nor in anybody's hands.
static void take_away(size_t size) {
    take_into_hands(size);
    sp_in_flight_put(&fixture_inside(pool)->in_flight);
}

static poolError_t allocate_while_it_comes(unsigned at, size_t size, void **block) {
    locks = 0;
    comes_at = at;
    sp_lock_set_hook(come_back);
    poolError_t error = poolMallocFromPoolAsync(block, size, pool, stream);
    sp_lock_set_hook(NULL);
    return error;
}

static void put_back(void) {
    struct sp_pool *inside = fixture_inside(pool);
    sp_lock_acquire(&inside->lock);
    sp_settle_insert(inside, aside);
    sp_lock_release(&inside->lock);
    aside = NULL;
    fixture_set(pool, poolMemPoolStatFailures, 0);
}

// However far the request has come.
static void expect_it_is_found_whenever_it_comes(void) {
    void *block;
    be_not_alone();
    take_away(WHOLE);
    assert_int_equal(allocate_while_it_comes(0, WHOLE, &block), poolErrorMemoryAllocation);
    put_back();
    unsigned all = locks;
    struct sp_lane *lane = fixture_lane(pool, stream);
    assert_true(all > 10);
    for (unsigned at = 4; at <= all; at++) {
        uint64_t used = sp_load_relaxed(&lane->used);
        sp_store_relaxed(&lane->used, used + 1);
        take_away(WHOLE);
        assert_int_equal(allocate_while_it_comes(at, WHOLE, &block), poolSuccess);
        fixture_free(block, stream);
        sp_store_relaxed(&lane->used, used);
    }
}

static void a_block_that_is_freed_behind_the_look_is_found(void **state) {
    (void)state;
    counted = AS_LESS_USED;
    expect_it_is_found_whenever_it_comes();
}

static void so_is_one_that_changes_places_with_another(void **state) {
    (void)state;
    counted = AS_HIT;
    expect_it_is_found_whenever_it_comes();
}

static void so_is_one_that_was_in_anothers_hands_for_a_part_of_the_look(void **state) {
    (void)state;
    counted = AS_IN_HANDS;
    expect_it_is_found_whenever_it_comes();
}

// A pool of 64 MiB has 40 in use, 16 come back, and 8 were never mapped. Says whether they came
// back before the request was refused.
static bool with_new_memory(unsigned at) {
    void *block;
    counted = AS_LESS_USED;
    pool = fixture_pool_of_at_most(2 * WHOLE);
    fixture_set_flag(pool, poolMemPoolAttrReaper, 0);
    fixture_malloc(pool, MIB(40), stream);
    fixture_free(fixture_malloc(pool, MIB(16), stream), stream);
    fixture_synchronize(stream);
    assert_int_equal(fixture_reserved(pool), MIB(56));
    struct sp_lane *lane = fixture_lane(pool, stream);
    take_away(MIB(16));
    sp_store_relaxed(&lane->used, sp_load_relaxed(&lane->used) + 1);
    poolError_t error = allocate_while_it_comes(at, MIB(24), &block);
    if (aside) {
        assert_int_equal(error, poolErrorMemoryAllocation);
        put_back();
        sp_store_relaxed(&lane->used, sp_load_relaxed(&lane->used) - 1);
        return false;
    }
    assert_int_equal(error, poolSuccess);
    return true;
}

static void so_is_one_that_new_memory_makes_large_enough(void **state) {
    unsigned at = 1;
    be_not_alone();
    while (with_new_memory(at)) {
        at++;
        assert_int_equal(teardown(state), 0);
        assert_int_equal(setup(state), 0);
    }
    assert_true(at > 10);
}

static void what_a_thread_moves_itself_counts_as_still(void **state) {
    (void)state;
    struct sp_pool *inside = fixture_inside(pool);
    struct sp_stillness begin = sp_in_flight_begin_look(inside);
    sp_in_flight_take(&inside->in_flight);
    sp_in_flight_put(&inside->in_flight);
    assert_true(sp_in_flight_end_look(inside, &begin));
    begin = sp_in_flight_begin_look(inside);
    others_take();
    sp_in_flight_put(&inside->in_flight);
    assert_false(sp_in_flight_end_look(inside, &begin));
}

// Half of the pool is pending in pieces. The first climb has waited in vain, or has found that it
// need not.
static void a_bound_on_growth_holds_no_second_look_back(void **state) {
    (void)state;
    enum { PIECES = 8 };
    void *pieces[PIECES];
    struct sp_request request;
    struct sp_block *block = NULL;
    CUstream other = simulated_stream();
    fixture_trim(pool, 0);
    fixture_set(pool, poolMemPoolAttrGrowthBeyondUse, 0);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentUnderPressure);
    for (int i = 0; i < PIECES; i++)
        pieces[i] = fixture_malloc(pool, WHOLE / PIECES, other);
    simulated_work(other);
    for (int i = 0; i < PIECES; i += 2)
        fixture_free(pieces[i], other);
    struct sp_pool *inside = fixture_inside(pool);
    sp_request_open(&request, inside, fixture_lane(pool, stream), SP_REGION_LARGE, WHOLE / 2,
                    poolMallocDefault);
    assert_int_equal(request.bound, SP_BOUND_HOLDS);
    assert_done(sp_ladder_climb(&request, SP_LADDER_AGAIN, &block));
    sp_request_close(&request);
    assert_non_null(block);
    block->quick_next = NULL;
    sp_collect_flush(inside, block, sp_settle_insert);
    for (int i = 1; i < PIECES; i += 2)
        fixture_free(pieces[i], other);
}

// ------------------------------------------------------------------------------------- threads

enum { THREADS = 4, SPARE = 0, TURNS = 12, SEEDS = 400 };
#define EACH (WHOLE / (THREADS + SPARE))

struct taker {
    CUstream *streams;
    CUcontext context;
    unsigned number;
    unsigned refused;
};

static size_t size_at(unsigned turn) {
    return EACH - (turn % 3 == 0 ? KIB(4) : 0);
}

// Takes one block at a time, on the streams by turns.
static void take_and_free(void *argument) {
    struct taker *taker = argument;
    sp_driver->cuCtxSetCurrent(taker->context);
    for (unsigned i = 0; i < TURNS; i++) {
        void *block;
        CUstream on = taker->streams[(taker->number + i) % THREADS];
        if (poolMallocFromPoolAsync(&block, size_at(i), pool, on) == poolSuccess)
            poolFreeAsync(block, on);
        else
            taker->refused++;
    }
}

static unsigned run_takers(CUstream streams[]) {
    struct taker takers[THREADS];
    void *arguments[THREADS];
    unsigned refused = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        takers[i] = (struct taker){.streams = streams, .context = simulated_context(), .number = i};
        arguments[i] = &takers[i];
    }
    sp_lock_set_hook(simcudaLockEvent);
    assert_int_equal(simcudaRunThreads(take_and_free, arguments, THREADS), 0);
    sp_lock_set_hook(NULL);
    for (int i = 0; i < THREADS; i++)
        refused += takers[i].refused;
    return refused;
}

// The pool has one more block than threads can have, whoever has freed them. Returns how many
// requests were refused.
static unsigned count_refused(unsigned seed) {
    void *blocks[THREADS + SPARE];
    CUstream streams[THREADS];
    char settings[80];
    snprintf(settings, sizeof settings, "memory=1G,mode=scheduled,seed=%u,burst=%u", seed,
             10 + seed % 25);
    assert_int_equal(fixture_begin(settings), 0);
    pool = fixture_pool_of_at_most(WHOLE);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, WHOLE / SP_HELD_PART); // as by default
    for (unsigned i = 0; i < THREADS; i++)
        streams[i] = simulated_stream();
    for (int i = 0; i < THREADS + SPARE; i++)
        blocks[i] = fixture_malloc(pool, EACH, streams[0]);
    for (int i = 0; i < THREADS + SPARE; i++)
        fixture_free(blocks[i], streams[0]);
    fixture_synchronize(streams[0]);
    unsigned refused = run_takers(streams);
    assert_int_equal(fixture_teardown(NULL), 0);
    return refused;
}

static void a_pool_with_a_block_for_each_thread_refuses_none(void **state) {
    (void)state;
    for (unsigned seed = 0; seed < SEEDS; seed++)
        assert_int_equal(count_refused(seed), 0);
}

// ----------------------------------------------------------- each block is in a list or in hands

static uint64_t in_lanes;  // blocks of quick lists and slabs
static uint64_t in_chains; // likewise, and blocks that are set aside
static unsigned seen_away; // so often more were in the chains than in the lanes
static unsigned seen_lost; // and in nobody's hands

static void count_lane(const struct sp_lane *lane) {
    for (int i = 0; i < SP_QUICK_BINS; i++)
        for (const struct sp_block *block = lane->quick[i].head; block; block = block->quick_next)
            in_lanes++;
    in_lanes += sp_load_relaxed(&lane->slab_count);
}

// A block that is set aside while something is mapped may have no memory yet, or none any more.
static bool counts_while_mapping;
// The size of live blocks that no program has; 0: none are counted.
static uint64_t counted_live;

static void count_region(const struct sp_pool *inside, const struct sp_region *region) {
    bool counts_busy = counts_while_mapping || !sp_lock_is_held(&inside->map_lock);
    SP_LIST_FOR_EACH(link, &region->segments) {
        const struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
        for (const struct sp_block *block = segment->chain.first; block; block = block->next) {
            enum sp_block_state state = sp_block_state(block);
            in_chains += state == SP_BLOCK_CACHED || (state == SP_BLOCK_BUSY && counts_busy) ||
                         block->is_run || (state == SP_BLOCK_LIVE && block->size == counted_live);
        }
    }
}

static bool any_lock_is_held(const struct sp_pool *inside) {
    bool held = sp_lock_is_held(&inside->lock) || sp_load_relaxed(&sp_this_thread->inside);
    SP_LIST_FOR_EACH(link, &inside->lanes.list) {
        const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        for (; lane; lane = sp_load_relaxed(&lane->next_shelf))
            held = held || sp_lock_is_held(&lane->lock.shared);
    }
    return held;
}

// Where no lock is held each block is in a list or in somebody's hands.
static void look_for_blocks(int contended) {
    struct sp_pool *inside = fixture_inside(pool);
    if (!is_tests_thread || contended || any_lock_is_held(inside))
        return;
    in_lanes = in_chains = 0;
    SP_LIST_FOR_EACH(link, &inside->lanes.list)
        for (const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link); lane;
             lane = sp_load_relaxed(&lane->next_shelf))
            count_lane(lane);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        count_region(inside, &inside->regions[kind]);
    seen_away += in_chains > in_lanes;
    seen_lost += in_chains > in_lanes && !sp_in_flight_is_any(inside);
}

static void begin_to_look(void) {
    seen_away = seen_lost = 0;
    sp_lock_set_hook(look_for_blocks);
}

static void end_to_look(void) {
    sp_lock_set_hook(NULL);
    assert_true(seen_away > 0);
    assert_int_equal(seen_lost, 0);
}

static void blocks_of_another_lane_are_in_hands_on_their_way(void **state) {
    (void)state;
    CUstream other = simulated_stream();
    fixture_free(fixture_malloc(pool, MIB(3), other), other);
    fixture_free(fixture_malloc(pool, MIB(5), other), other);
    begin_to_look();
    void *block = fixture_malloc(pool, WHOLE, stream);
    end_to_look();
    fixture_free(block, stream);
}

static void empty_slabs_of_another_lane_are_in_hands_on_their_way(void **state) {
    (void)state;
    CUstream other = simulated_stream();
    fixture_free(fixture_malloc(pool, KIB(4), other), other);
    counted_live = KIB(64); // what was a slab
    begin_to_look();
    void *block = fixture_malloc(pool, WHOLE, stream);
    end_to_look();
    counted_live = 0;
    fixture_free(block, stream);
}

static void a_slab_that_is_given_up_is_in_hands_on_its_way(void **state) {
    enum { COUNT = 64 };
    void *blocks[COUNT];
    (void)state;
    for (int i = 0; i < COUNT; i++)
        blocks[i] = fixture_malloc(pool, KIB(32), stream);
    begin_to_look();
    for (int i = 0; i < COUNT; i++)
        fixture_free(blocks[i], stream);
    end_to_look();
}

static void a_new_slab_is_in_hands_until_it_is_its_lanes(void **state) {
    (void)state;
    begin_to_look();
    void *block = fixture_malloc(pool, KIB(4), stream);
    end_to_look();
    fixture_free(block, stream);
}

// Bins are few, so a size that shares its bin drives the other out.
static void blocks_that_stand_in_the_way_of_a_free_are_in_hands(void **state) {
    (void)state;
    CUstream other = simulated_stream();
    void *first = fixture_malloc(pool, MIB(1), other), *held[8];
    for (int i = 0; i < 8; i++)
        held[i] = fixture_malloc(pool, MIB(1) + KIB(4) * (size_t)(i + 1), stream);
    fixture_free(first, other);
    sp_lock_set_hook(look_for_blocks);
    for (int i = 0; i < 8; i++)
        fixture_free(held[i], other);
    sp_lock_set_hook(NULL);
}

static void a_block_that_a_stream_is_to_wait_for_is_in_hands(void **state) {
    (void)state;
    CUstream other = simulated_stream();
    void *pending = fixture_malloc(pool, WHOLE, other);
    simulated_work(other);
    fixture_free(pending, other);
    begin_to_look();
    void *block = fixture_malloc(pool, WHOLE, stream);
    end_to_look();
    fixture_free(block, stream);
}

// Pieces of a full pool, pending or not.
static void remap_pieces(bool pends) {
    enum { PIECES = 8 };
    void *pieces[PIECES];
    CUstream other = simulated_stream();
    for (int i = 0; i < PIECES; i++)
        pieces[i] = fixture_malloc(pool, WHOLE / PIECES, other);
    if (pends)
        simulated_work(other);
    for (int i = 0; i < PIECES; i += 2)
        fixture_free(pieces[i], other);
    uint64_t remaps = fixture_attribute(pool, poolMemPoolStatRemaps);
    counts_while_mapping = true;
    begin_to_look();
    void *block = fixture_malloc(pool, WHOLE / 2, stream);
    end_to_look();
    counts_while_mapping = false;
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatRemaps) - remaps, !pends);
    fixture_free(block, stream);
    for (int i = 1; i < PIECES; i += 2)
        fixture_free(pieces[i], other);
}

static void pieces_that_are_to_be_mapped_side_by_side_are_in_hands(void **state) {
    (void)state;
    fixture_trim(pool, 0);
    remap_pieces(false);
}

static void so_are_pieces_that_a_stream_is_to_wait_for(void **state) {
    (void)state;
    fixture_trim(pool, 0);
    remap_pieces(true);
}

static void what_stands_behind_very_many_is_in_hands_on_its_way(void **state) {
    (void)state;
    enum { COUNT = SP_QUICK_BLOCKS + 300 };
    static void *blocks[COUNT];
    pool = fixture_pool();
    fixture_set_flag(pool, poolMemPoolAttrReaper, 0);
    for (int i = 0; i < COUNT; i++)
        blocks[i] = fixture_malloc(pool, KIB(128), stream);
    begin_to_look();
    for (int i = 0; i < COUNT; i++)
        fixture_free(blocks[i], stream);
    end_to_look();
}

#define hands_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        hands_test(a_process_of_one_thread_waits_for_none),
        hands_test(a_block_that_comes_back_from_anothers_hands_is_taken),
        hands_test(a_slab_is_made_of_what_comes_back),
        hands_test(what_stays_away_is_not_waited_for_for_ever),
        hands_test(where_nothing_moves_one_more_look_is_made),
        hands_test(a_block_that_is_freed_behind_the_look_is_found),
        hands_test(so_is_one_that_changes_places_with_another),
        hands_test(so_is_one_that_was_in_anothers_hands_for_a_part_of_the_look),
        hands_test(so_is_one_that_new_memory_makes_large_enough),
        hands_test(what_a_thread_moves_itself_counts_as_still),
        hands_test(a_bound_on_growth_holds_no_second_look_back),
        cmocka_unit_test(a_pool_with_a_block_for_each_thread_refuses_none),
        hands_test(blocks_of_another_lane_are_in_hands_on_their_way),
        hands_test(empty_slabs_of_another_lane_are_in_hands_on_their_way),
        hands_test(a_slab_that_is_given_up_is_in_hands_on_its_way),
        hands_test(a_new_slab_is_in_hands_until_it_is_its_lanes),
        hands_test(blocks_that_stand_in_the_way_of_a_free_are_in_hands),
        hands_test(a_block_that_a_stream_is_to_wait_for_is_in_hands),
        hands_test(pieces_that_are_to_be_mapped_side_by_side_are_in_hands),
        hands_test(so_are_pieces_that_a_stream_is_to_wait_for),
        hands_test(what_stands_behind_very_many_is_in_hands_on_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
