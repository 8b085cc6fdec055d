#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "inside/check.h"
#include "region/collect.h"
#include "region/lane.h"
#include "region/quick.h"
#include "region/settle.h"
#include "unit/fixture/pool.h"

static poolMemPool_t pool;
static struct sp_pool *inside;
static CUstream stream;

// A pool with something of everything: live and free, large and small, in a quick list and in a
// tier.
static int setup(void **state) {
    (void)state;
    if (fixture_begin(NULL) != 0)
        return -1;
    pool = fixture_pool();
    inside = fixture_inside(pool);
    stream = simulated_stream();
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, GIB(1));
    simulated_work(stream);
    void *freed[3] = {fixture_malloc(pool, MIB(3), stream), fixture_malloc(pool, MIB(4), stream)};
    fixture_malloc(pool, MIB(5) + KIB(512), stream);
    freed[2] = fixture_malloc(pool, 100, stream);
    fixture_malloc(pool, 1000, stream);
    for (int i = 0; i < 3; i++)
        fixture_free(freed[i], stream);
    return 0;
}

static void assert_wrong(const char *part_of_why) {
    char why[256] = "";
    assert_false(inside_check(pool, why, sizeof why));
    if (!strstr(why, part_of_why))
        print_error("it says: %s\n", why);
    assert_non_null(strstr(why, part_of_why));
}

// All that is counted of the large region's mapped bytes.
static void count_mapped(int64_t bytes) {
    struct sp_region *region = &inside->regions[SP_REGION_LARGE];
    SP_CONTAINER_OF(region->segments.next, struct sp_segment, link)->view.mapped += (uint64_t)bytes;
    region->mapped += (uint64_t)bytes;
    inside->reserved += (uint64_t)bytes;
}

static struct sp_segment *segment_of(enum sp_region_kind kind) {
    return SP_CONTAINER_OF(inside->regions[kind].segments.next, struct sp_segment, link);
}

static struct sp_block *block_in_state(enum sp_block_state wanted) {
    struct sp_block *block = segment_of(SP_REGION_LARGE)->chain.first;
    while (sp_block_state(block) != wanted)
        block = block->next;
    return block;
}

static struct sp_slab *a_slab(void) {
    return SP_CONTAINER_OF(fixture_lane(pool, stream)->owned_slabs.next, struct sp_slab,
                           owned_link);
}

static void a_pool_that_was_used_is_in_order(void **state) {
    (void)state;
    fixture_check(pool);
}

static void what_is_no_pool_is_not_in_order(void **state) {
    (void)state;
    char why[256] = "";
    assert_false(inside_check(NULL, why, sizeof why));
    assert_string_equal(why, "not a pool");
}

static void wrong_figures_are_found(void **state) {
    (void)state;
    struct sp_lane *lane = fixture_lane(pool, stream);
    lane->used--;
    assert_wrong("used is");
    lane->used++;
    lane->allowance++;
    assert_wrong("lanes are allowed");
    lane->allowance--;
    uint64_t used = lane->used;
    lane->used = lane->allowance + 1;
    assert_wrong("is allowed");
    lane->used = used;
    inside->reserved += MIB(2);
    assert_wrong("reserved is");
    inside->reserved -= MIB(2);
    uint64_t high = inside->reserved_high;
    inside->reserved_high = 0;
    assert_wrong("high figure");
    inside->reserved_high = high;
    inside->regions[SP_REGION_LARGE].mapped--;
    assert_wrong("region's views");
    inside->regions[SP_REGION_LARGE].mapped++;
    size_t limit = inside->limit;
    inside->limit = MIB(2);
    assert_wrong("<= limit");
    inside->limit = limit;
    fixture_check(pool);
}

static void wrong_chains_and_states_are_found(void **state) {
    (void)state;
    struct sp_block *live = block_in_state(SP_BLOCK_LIVE);
    live->size += SP_ALIGNMENT;
    assert_wrong("chain");
    live->size -= SP_ALIGNMENT;
    sp_block_set_state(live, SP_BLOCK_BUSY);
    assert_wrong("set aside");
    sp_block_set_state(live, SP_BLOCK_LIVE);
    uint64_t requested = live->requested;
    live->requested = live->size + 1;
    assert_wrong("was asked for");
    live->requested = requested;
    sp_block_set_state(block_in_state(SP_BLOCK_CACHED), SP_BLOCK_NONE);
    assert_wrong("spare descriptor");
    sp_block_set_state(block_in_state(SP_BLOCK_NONE), SP_BLOCK_CACHED);
    fixture_check(pool);
}

static void memory_and_holes_that_do_not_agree_with_the_mappings_are_found(void **state) {
    (void)state;
    struct sp_view *view = &segment_of(SP_REGION_LARGE)->view;
    view->mapped--;
    assert_wrong("what it says is mapped");
    view->mapped++;
    struct sp_extent *extent = sp_view_extent_from(view, 0);
    extent->address += MIB(2);
    assert_wrong("not mapped");
    extent->address -= MIB(2);
    extent->size -= MIB(2);
    count_mapped(-(int64_t)MIB(2));
    assert_wrong("not mapped");
    extent->size += MIB(2);
    count_mapped((int64_t)MIB(2));
    fixture_check(pool);
}

static void an_extent_that_reaches_into_a_hole_is_found(void **state) {
    (void)state;
    char why[256] = "";
    struct sp_extent *extent = sp_view_extent_from(&segment_of(SP_REGION_LARGE)->view, 0);
    while (sp_view_extent_next(extent))
        extent = sp_view_extent_next(extent);
    extent->size += MIB(2);
    count_mapped((int64_t)MIB(2));
    inside->reserved_high += MIB(2);
    bool in_order = inside_check(pool, why, sizeof why);
    extent->size -= MIB(2);
    count_mapped(-(int64_t)MIB(2));
    inside->reserved_high -= MIB(2);
    assert_false(in_order);
    assert_non_null(strstr(why, "the hole"));
}

static void a_page_map_that_leads_elsewhere_is_found(void **state) {
    (void)state;
    struct sp_block *live = block_in_state(SP_BLOCK_LIVE);
    _Atomic uintptr_t *entry = sp_page_map_find(live->address);
    uintptr_t owner = *entry;
    *entry = 0;
    assert_wrong("page map");
    *entry = owner;
    entry = sp_page_map_find(a_slab()->address);
    owner = *entry;
    *entry = 0;
    assert_wrong("lead to its slab");
    *entry = owner;
    fixture_check(pool);
}

static void lists_that_hold_what_they_should_not_are_found(void **state) {
    (void)state;
    struct sp_lane *lane = fixture_lane(pool, stream);
    lane->quick_used ^= 1;
    assert_wrong("quick_used");
    lane->quick_used ^= 1;
    lane->slab_count++;
    assert_wrong("counts its slabs");
    lane->slab_count--;

    struct sp_block *cached = block_in_state(SP_BLOCK_CACHED);
    struct sp_quick_bin *bin = &lane->quick[sp_quick_index(cached->size)];
    bin->size += SP_ALIGNMENT;
    assert_wrong("not its own");
    bin->size -= SP_ALIGNMENT;

    struct sp_slab *slab = a_slab();
    slab->live++;
    assert_wrong("slab");
    slab->live--;
    slab->owner = NULL;
    assert_wrong("another lane");
    slab->owner = lane;
    struct sp_list *class_list = &lane->slabs[slab->class_index];
    sp_list_remove(&slab->link);
    assert_wrong("place in the lists");
    sp_list_push_back(class_list, &slab->link);
    sp_list_push_back(&lane->returned_slabs[slab->class_index], &slab->returned_link);
    assert_wrong("place in the lists");
    sp_list_remove(&slab->returned_link);
    fixture_check(pool);
}

static void a_block_in_a_tier_that_its_fences_forbid_is_found(void **state) {
    (void)state;
    struct sp_lane *lane = fixture_lane(pool, stream);
    sp_collect_quick(lane, sp_settle_insert);
    struct sp_block *own = sp_tier_first(&lane->tiers[SP_REGION_LARGE]->unfenced);
    assert_non_null(own);
    own->fences.some[0].slot++;
    assert_wrong("lane's tier");
    own->fences.some[0].slot--;
    struct sp_block *ready = sp_tier_first(&inside->regions[SP_REGION_LARGE].ready);
    assert_non_null(ready);
    sp_fence_set_add(&ready->fences, (struct sp_fence){1, 1});
    assert_wrong("ready block has a fence");
    sp_fence_set_clear(&ready->fences);
    lane->tiers[SP_REGION_LARGE]->unfenced.bytes++;
    assert_wrong("lane's tier");
    lane->tiers[SP_REGION_LARGE]->unfenced.bytes--;
    sp_list_remove(&own->fences.link);
    assert_wrong("calendar of what is covered");
    sp_calendar_add(&lane->tiers[SP_REGION_LARGE]->due, own);
    assert_wrong("calendar of what is due");
    sp_list_remove(&own->fences.link);
    sp_list_push_back(&lane->tiers[SP_REGION_LARGE]->covered.buckets[SP_CALENDAR_BUCKETS - 1],
                      &own->fences.link);
    assert_wrong("calendar of what is covered");
    sp_list_remove(&own->fences.link);
    sp_calendar_add(&lane->tiers[SP_REGION_LARGE]->covered, own);
    fixture_check(pool);
}

#define check_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        check_test(a_pool_that_was_used_is_in_order),
        check_test(what_is_no_pool_is_not_in_order),
        check_test(wrong_figures_are_found),
        check_test(wrong_chains_and_states_are_found),
        check_test(memory_and_holes_that_do_not_agree_with_the_mappings_are_found),
        check_test(an_extent_that_reaches_into_a_hole_is_found),
        check_test(a_page_map_that_leads_elsewhere_is_found),
        check_test(lists_that_hold_what_they_should_not_are_found),
        check_test(a_block_in_a_tier_that_its_fences_forbid_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
