// Where no lock is held each block is in a list or counts as in somebody's hands.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/collect.h"
#include "region/hands.h"
#include "region/held.h"
#include "region/lane.h"
#include "unit/pool/fixture.h"

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
        count_lane(SP_CONTAINER_OF(link, struct sp_lane, link));
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        count_region(inside, &inside->regions[kind]);
    seen_away += in_chains > in_lanes;
    seen_lost += in_chains > in_lanes && !sp_hands_have_some(inside);
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
    enum { COUNT = SP_QUICK_KEPT + 300 };
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

#define in_hands_test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        in_hands_test(blocks_of_another_lane_are_in_hands_on_their_way),
        in_hands_test(empty_slabs_of_another_lane_are_in_hands_on_their_way),
        in_hands_test(a_slab_that_is_given_up_is_in_hands_on_its_way),
        in_hands_test(a_new_slab_is_in_hands_until_it_is_its_lanes),
        in_hands_test(blocks_that_stand_in_the_way_of_a_free_are_in_hands),
        in_hands_test(a_block_that_a_stream_is_to_wait_for_is_in_hands),
        in_hands_test(pieces_that_are_to_be_mapped_side_by_side_are_in_hands),
        in_hands_test(so_are_pieces_that_a_stream_is_to_wait_for),
        in_hands_test(what_stands_behind_very_many_is_in_hands_on_its_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
