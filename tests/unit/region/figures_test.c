#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/fixture/pool.h"

#include "region/figures.h"
#include "region/lane.h"

static poolMemPool_t pool;
static CUstream a, b;

static int setup(void **state) {
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool();
    a = simulated_stream();
    b = simulated_stream();
    return 0;
}

static uint64_t used_high(void) {
    return fixture_attribute(pool, poolMemPoolAttrUsedMemHigh);
}

static uint64_t allowance(CUstream stream) {
    return sp_load_relaxed(&fixture_lane(pool, stream)->allowance);
}

static void streams_that_take_turns_raise_it_no_further(void **state) {
    (void)state;
    for (int i = 0; i < 10; i++)
        fixture_free(fixture_malloc(pool, MIB(3), i % 2 ? a : b), i % 2 ? a : b);
    assert_int_equal(used_high(), MIB(3));
}

static void streams_that_use_memory_at_once_raise_it_by_what_is_missing(void **state) {
    (void)state;
    fixture_free(fixture_malloc(pool, MIB(3), a), a);
    void *of_a = fixture_malloc(pool, MIB(1), a);
    void *of_b = fixture_malloc(pool, MIB(5), b);
    assert_int_equal(used_high(), MIB(6));
    fixture_free(of_a, a);
    fixture_free(of_b, b);
    assert_int_equal(allowance(a) + allowance(b), MIB(6));
}

static void what_is_missing_is_taken_from_several_streams(void **state) {
    (void)state;
    CUstream c = simulated_stream();
    void *of_a = fixture_malloc(pool, MIB(2), a);
    void *of_b = fixture_malloc(pool, MIB(2), b);
    fixture_free(of_a, a);
    fixture_free(of_b, b);
    void *of_c = fixture_malloc(pool, MIB(3), c);
    assert_int_equal(used_high(), MIB(4));
    assert_int_equal(allowance(c), MIB(3));
    fixture_free(of_c, c);
}

static void a_block_is_counted_where_it_was_allocated_whoever_frees_it(void **state) {
    (void)state;
    static const size_t sizes[] = {1000, MIB(1)};
    for (size_t i = 0; i < 2; i++) {
        const struct sp_lane *lane = fixture_lane(pool, a);
        void *freed_elsewhere = fixture_malloc(pool, sizes[i], a);
        void *freed_nowhere = fixture_malloc(pool, sizes[i], a);
        assert_int_equal(sp_load_relaxed(&lane->used), 2 * sizes[i]);
        fixture_free(freed_elsewhere, b);
        assert_int_equal(sp_load_relaxed(&lane->used), sizes[i]);
        assert_int_equal(poolFree(freed_nowhere), poolSuccess);
        assert_int_equal(sp_load_relaxed(&lane->used), 0);
        fixture_check(pool);
    }
}

static void setting_it_to_0_sets_it_to_what_is_used(void **state) {
    (void)state;
    void *of_a = fixture_malloc(pool, MIB(2), a);
    fixture_free(fixture_malloc(pool, MIB(4), b), b);
    fixture_set(pool, poolMemPoolAttrUsedMemHigh, 0);
    assert_int_equal(used_high(), MIB(2));
    void *of_b = fixture_malloc(pool, 1000, b);
    assert_int_equal(used_high(), MIB(2) + 1000);
    fixture_free(of_a, a);
    fixture_free(of_b, b);
}

// Another thread is at it: this one doesn't wait, and keeps what it needed.
static void a_thread_that_finds_another_one_at_it_raises_it_at_once(void **state) {
    (void)state;
    struct sp_lock *allowances = &fixture_inside(pool)->figures.allowances;
    fixture_free(fixture_malloc(pool, MIB(2), a), a);
    sp_lock_acquire(allowances);
    fixture_free(fixture_malloc(pool, MIB(1), b), b);
    sp_lock_release(allowances);
    assert_int_equal(used_high(), MIB(3));
    assert_int_equal(allowance(a), MIB(2));
    assert_int_equal(allowance(b), MIB(1));
}

struct shared {
    struct sp_pool pool;
    struct sp_device device;
    struct sp_stream stream;
    uint64_t news;
};

static void look(struct shared *shared, CUstream stream) {
    memcpy(&shared->pool, fixture_inside(pool), sizeof shared->pool);
    memcpy(&shared->device, fixture_inside(pool)->device, sizeof shared->device);
    memcpy(&shared->stream, fixture_stream(stream), sizeof shared->stream);
    shared->news = sp_progress_news(SP_FOUND);
}

// Neither the allocation nor the free: a number that is raised and lowered again would look the
// same after both. The first free after a record notes its number in the stream, the next ones
// don't.
static void a_pair_writes_nothing_that_other_streams_read(void **state) {
    (void)state;
    static const size_t sizes[] = {1000, MIB(1), MIB(4)};
    static struct shared before, between, after;
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, GIB(1));
    for (size_t i = 0; i < 3; i++) {
        fixture_free(fixture_malloc(pool, sizes[i], b), b);
        for (int warm = 0; warm < 2; warm++)
            fixture_free(fixture_malloc(pool, sizes[i], a), a);
        look(&before, a);
        void *pointer = fixture_malloc(pool, sizes[i], a);
        look(&between, a);
        fixture_free(pointer, a);
        look(&after, a);
        assert_memory_equal(&before, &between, sizeof before);
        assert_memory_equal(&before, &after, sizeof before);
    }
}

static void what_is_written_often_has_cache_lines_of_its_own(void **state) {
    (void)state;
    assert_int_equal(sizeof(struct sp_block) % 64, 0);
    assert_int_equal(offsetof(struct sp_block, fences) / 64,
                     (offsetof(struct sp_block, fences) + sizeof(struct sp_fence_set) - 1) / 64);
    assert_int_equal(_Alignof(struct sp_slab), 64);
    assert_int_equal(offsetof(struct sp_slab, returned) / 64, 0);
    assert_int_equal(offsetof(struct sp_lane, unfenced_sequence) / 64, 0);
    assert_int_equal(offsetof(struct sp_pool, statistics) % 64, 0);
    assert_int_equal(offsetof(struct sp_pool, figures.used_high) % 64, 0);
    assert_int_equal(offsetof(struct sp_pool, reserved) % 64, 0);
    assert_int_equal(offsetof(struct sp_pool, handle) / 64, 0);
    assert_int_equal(offsetof(struct sp_device, space) % 64, 0);
    assert_int_equal(offsetof(struct sp_device, lock) % 64, 0);
    assert_int_equal(sizeof(struct sp_stream) % 64, 0);
}

static void of_a_few_streams_the_late_sum_is_the_sum(void **state) {
    (void)state;
    for (size_t i = 1; i <= 5; i++) {
        fixture_malloc(pool, MIB(1), i % 2 ? a : b);
        assert_int_equal(sp_figures_used_lately(fixture_inside(pool)), i * MIB(1));
    }
}

static void of_many_streams_it_is_made_anew_now_and_then(void **state) {
    (void)state;
    enum { CROWD = 64 * 20 };
    struct sp_pool *inside = fixture_inside(pool);
    for (int i = 0; i < CROWD; i++)
        fixture_malloc(pool, KIB(1), simulated_stream());
    while (sp_figures_used_lately(inside) < CROWD * KIB(1))
        ;
    fixture_malloc(pool, MIB(1), a);
    unsigned calls = 1;
    while (sp_figures_used_lately(inside) < CROWD * KIB(1) + MIB(1))
        calls++;
    assert_in_range(calls, 2, CROWD / 64 + 1);
}

#define figures_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        figures_test(streams_that_take_turns_raise_it_no_further),
        figures_test(streams_that_use_memory_at_once_raise_it_by_what_is_missing),
        figures_test(what_is_missing_is_taken_from_several_streams),
        figures_test(a_block_is_counted_where_it_was_allocated_whoever_frees_it),
        figures_test(setting_it_to_0_sets_it_to_what_is_used),
        figures_test(a_thread_that_finds_another_one_at_it_raises_it_at_once),
        figures_test(a_pair_writes_nothing_that_other_streams_read),
        cmocka_unit_test(what_is_written_often_has_cache_lines_of_its_own),
        figures_test(of_a_few_streams_the_late_sum_is_the_sum),
        figures_test(of_many_streams_it_is_made_anew_now_and_then),
    };
    return cmocka_run_group_tests_name("region_figures", tests, NULL, NULL);
}
