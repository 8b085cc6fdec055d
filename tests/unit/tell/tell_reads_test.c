// What only tells moves nothing: in scenes that are drawn by lot, each call of tell/ leaves every
// byte of the pools, their lanes, segments and blocks as it was, but for locks and for bounds that
// a search leaves for the next one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tell/explain.h"
#include "tell/pointer.h"
#include "tell/refusal.h"
#include "tell/statistic.h"
#include "tell/tell.h"
#include "unit/fixture/scene.h"

enum { SEEDS = 60 };

static unsigned told; // requests

// --------------------------------------------------------------------------------------- the bytes

struct bytes {
    char *begin;
    size_t size, room;
};

static void add(struct bytes *bytes, const void *from, size_t size) {
    if (bytes->size + size > bytes->room) {
        bytes->room = 2 * (bytes->size + size);
        bytes->begin = realloc(bytes->begin, bytes->room);
        assert_non_null(bytes->begin);
    }
    memcpy(bytes->begin + bytes->size, from, size);
    bytes->size += size;
}

static void add_chain(struct bytes *bytes, const struct sp_chain *chain) {
    for (const struct sp_block *block = chain->first; block; block = block->next) {
        add(bytes, block, sizeof *block);
        for (uint32_t i = 0; i < block->fences.count; i++)
            add(bytes, sp_fence_set_at(&block->fences, i), sizeof(struct sp_fence));
    }
}

static void add_segments(struct bytes *bytes, const struct sp_region *region) {
    SP_LIST_FOR_EACH(link, &region->segments) {
        const struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
        add(bytes, segment, sizeof *segment);
        add_chain(bytes, &segment->chain);
    }
}

static void add_lane(struct bytes *bytes, const struct sp_lane *lane) {
    static struct sp_lane copy;
    memcpy(&copy, lane, sizeof copy);
    memset(&copy.lock, 0, sizeof copy.lock);
    add(bytes, &copy, sizeof copy);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        add(bytes, lane->tiers[kind], sizeof *lane->tiers[kind]);
    SP_LIST_FOR_EACH(link, &lane->owned_slabs) {
        const struct sp_slab *slab = SP_CONTAINER_OF(link, struct sp_slab, owned_link);
        add(bytes, slab, sizeof *slab);
    }
}

static void add_pool(struct bytes *bytes, const struct sp_pool *pool) {
    static struct sp_pool copy;
    memcpy(&copy, pool, sizeof copy);
    copy.figures.allowances = copy.map_lock = copy.lock = copy.watch.telling = (struct sp_lock){0};
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        copy.regions[kind].lanes_most = 0; // what a search has found out
    add(bytes, &copy, sizeof copy);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        add_segments(bytes, &pool->regions[kind]);
    SP_LIST_FOR_EACH(link, &pool->lanes.list)
        add_lane(bytes, SP_CONTAINER_OF(link, struct sp_lane, link));
}

static void add_pools(struct bytes *bytes) {
    bytes->size = 0;
    for (unsigned i = 0; i < scene.pool_count; i++)
        add_pool(bytes, fixture_inside(scene.pools[i]));
}

// --------------------------------------------------------------------------------------- the calls

static void tell_figures(struct sp_pool *pool) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    uint64_t value;
#define READ(name, number, words)                                                                  \
    assert_true(sp_statistic_read(pool, poolMemPoolStat##name, &value));
    STREAMPOOL_POOL_STATISTICS(READ)
    STREAMPOOL_POOL_GAUGES(READ)
    assert_true(sp_tell_print(pool, out));
    sp_tell_note_destroyed(pool);
    fclose(out);
    assert_true(length > 0);
    free(text);
}

static void count(const struct sp_tell_pool *pool, void *data) {
    *(uint64_t *)data += pool->count;
}

static void tell_pointers(void) {
    struct poolPointerAttributes attributes;
    for (unsigned i = 0; i < scene.piece_count; i++) {
        sp_pointer_look(&attributes, (uintptr_t)scene.pieces[i].block + scene.pieces[i].size);
        sp_pointer_look(&attributes, (uintptr_t)scene.pieces[i].block);
        assert_int_equal(attributes.state, poolPointerLive);
    }
}

static void tell_refusal(const struct sp_request *request) {
    struct sp_outcome lacking = {.cause = scene_once_in(2) ? SP_BEYOND_LIMIT : SP_FORBIDDEN};
    struct sp_shortage shortage = sp_shortage_look(request, lacking, request->size);
    sp_shortage_look_at_others(&shortage);
    assert_int_equal(sp_refusal_tell(&shortage, lacking), poolErrorMemoryAllocation);
}

static void tell_growth(struct sp_request *request) {
    struct poolMemPoolGrowth growth = {0};
    struct sp_pool *pool = request->pool;
    sp_explain_watch(request, &growth);
    sp_pool_begin_mapping(pool);
    sp_request_tell(request, begin(request));
    sp_lock_acquire(&pool->lock);
    sp_request_tell(request, look(request));
    sp_request_tell(request, remap(request, poolGrowthRemapNoPieces, 0, 0));
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
    sp_explain_complete(request, true);
    sp_explain_growth(pool, &growth);
    assert_int_equal(growth.wanted, request->size);
}

// ---------------------------------------------------------------------------------------- the test

static void tell_all(const struct sp_request *drawn) {
    struct sp_request request = *drawn;
    uint64_t pools = 0;
    for (unsigned i = 0; i < scene.pool_count; i++)
        tell_figures(fixture_inside(scene.pools[i]));
    assert_true(sp_tell_visit(SP_TELL_GAUGES, count, &pools));
    tell_pointers();
    tell_refusal(&request);
    tell_growth(&request);
    told++;
}

static void expect_nothing_moved(void) {
    static struct bytes before, after;
    struct sp_lane *lane = fixture_lane(scene.pools[0], scene_any_stream());
    struct sp_request request;
    sp_request_open(&request, lane->pool, lane, (enum sp_region_kind)scene_below(SP_REGION_COUNT),
                    SP_PAGE_SIZE * (1 + scene_below(500)), 0);
    add_pools(&before);
    tell_all(&request);
    add_pools(&after);
    sp_request_close(&request);
    assert_int_equal(before.size, after.size);
    assert_memory_equal(before.begin, after.begin, before.size);
}

static void nothing_is_moved_by_what_tells(void **state) {
    (void)state;
    scene_play(SEEDS, "", expect_nothing_moved);
    assert_true(told > SEEDS / 2);
}

static void nor_is_it_without_virtual_memory(void **state) {
    (void)state;
    told = 0;
    scene_play(SEEDS, ",vmm=missing", expect_nothing_moved);
    assert_true(told > SEEDS / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_moved_by_what_tells),
        cmocka_unit_test(nor_is_it_without_virtual_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
