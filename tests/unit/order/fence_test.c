#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "order/fence.h"
#include "unit/random.h"

enum { SLOTS = 12 };

static struct sp_fence_set set;

static int clear(void **state) {
    (void)state;
    sp_fence_set_clear(&set);
    return 0;
}

static bool add(struct sp_fence_set *to, uint32_t slot, uint64_t sequence) {
    return sp_fence_set_add(to, (struct sp_fence){slot, sequence});
}

// 0 when the set has no fence of the stream; fails when it has two.
static uint64_t sequence_of(const struct sp_fence_set *from, uint32_t slot) {
    uint64_t sequence = 0;
    for (uint32_t i = 0; i < from->count; i++) {
        const struct sp_fence *fence = sp_fence_set_at(from, i);
        if (fence->slot != slot)
            continue;
        assert_int_equal(sequence, 0);
        sequence = fence->sequence;
    }
    return sequence;
}

static void a_zeroed_set_is_empty(void **state) {
    (void)state;
    assert_true(sp_fence_set_empty(&set));
    assert_int_equal(set.count, 0);
}

static void a_set_holds_the_latest_fence_of_each_stream(void **state) {
    (void)state;
    assert_true(add(&set, 3, 5));
    assert_true(add(&set, 3, 9));
    assert_true(add(&set, 3, 7));
    assert_true(add(&set, 4, 1));
    assert_int_equal(set.count, 2);
    assert_int_equal(sequence_of(&set, 3), 9);
    assert_int_equal(sequence_of(&set, 4), 1);
}

static void a_set_outgrows_its_inline_room(void **state) {
    (void)state;
    for (uint32_t slot = 0; slot < 100; slot++)
        assert_true(add(&set, slot, slot + 1));
    assert_int_equal(set.count, 100);
    for (uint32_t slot = 0; slot < 100; slot++)
        assert_int_equal(sequence_of(&set, slot), slot + 1);
}

static void a_cleared_set_is_empty_and_can_be_used_again(void **state) {
    (void)state;
    for (uint32_t slot = 0; slot < 10; slot++)
        assert_true(add(&set, slot, 1));
    sp_fence_set_clear(&set);
    assert_true(sp_fence_set_empty(&set));
    assert_true(add(&set, 1, 2));
    assert_int_equal(sequence_of(&set, 1), 2);
}

static void additions_into_reserved_room_need_no_host_memory(void **state) {
    (void)state;
    uint64_t failed = 0;
    assert_true(add(&set, 0, 1));
    assert_true(sp_fence_set_reserve(&set, 7));
    host_memory_enter(1, true);
    for (uint32_t slot = 1; slot <= 7; slot++)
        add(&set, slot, 1);
    assert_int_equal(host_memory_leave(&failed), 0);
    assert_int_equal(set.count, 8);
}

static void without_host_memory_nothing_is_added(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_fence_set other = {0};
    add(&set, 0, 5);
    add(&set, 1, 5);
    add(&other, 0, 9);
    add(&other, 2, 9);
    host_memory_enter(1, true);
    bool reserved = sp_fence_set_reserve(&set, 1);
    bool added = add(&set, 2, 1);
    bool joined = sp_fence_set_join(&set, &other);
    host_memory_leave(&failed);
    assert_false(reserved || added || joined);
    assert_int_equal(set.count, 2);
    assert_int_equal(sequence_of(&set, 0), 5);
    assert_int_equal(sequence_of(&set, 1), 5);
}

static void a_known_stream_is_raised_without_host_memory(void **state) {
    (void)state;
    uint64_t failed = 0;
    add(&set, 0, 5);
    add(&set, 1, 5);
    host_memory_enter(1, true);
    bool added = add(&set, 1, 6);
    host_memory_leave(&failed);
    assert_true(added);
    assert_int_equal(sequence_of(&set, 1), 6);
}

static void a_join_of_known_streams_needs_no_host_memory(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_fence_set other = {0};
    add(&set, 0, 5);
    add(&set, 1, 5);
    add(&other, 1, 8);
    add(&other, 0, 3);
    host_memory_enter(1, true);
    bool joined = sp_fence_set_join(&set, &other);
    host_memory_leave(&failed);
    assert_true(joined);
    assert_int_equal(sequence_of(&set, 0), 5);
    assert_int_equal(sequence_of(&set, 1), 8);
}

static uint64_t completed[SLOTS];

static bool is_complete(struct sp_fence fence) {
    return fence.sequence <= completed[fence.slot];
}

static bool is_anything(struct sp_fence fence) {
    (void)fence;
    return true;
}

static void pruning_everything_gives_the_room_back(void **state) {
    (void)state;
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        add(&set, slot, 1);
    sp_fence_set_prune(&set, is_anything);
    assert_true(sp_fence_set_empty(&set));
    assert_null(set.more);
}

static void room_for_one_more_outlasts_pruning(void **state) {
    (void)state;
    uint64_t failed = 0;
    for (uint32_t kept = 0; kept < SLOTS; kept++) {
        sp_fence_set_clear(&set);
        for (uint32_t slot = 0; slot < SLOTS - 1; slot++) {
            add(&set, slot, 1);
            completed[slot] = slot >= kept;
        }
        assert_true(sp_fence_set_reserve(&set, 1));
        host_memory_enter(1, true);
        sp_fence_set_prune(&set, is_complete);
        bool added = add(&set, SLOTS - 1, 1);
        host_memory_leave(&failed);
        assert_true(added);
    }
}

static void join_model(uint64_t *to, const uint64_t *from) {
    for (int slot = 0; slot < SLOTS; slot++)
        to[slot] = to[slot] > from[slot] ? to[slot] : from[slot];
}

static void assert_same(const struct sp_fence_set *one, const uint64_t *model) {
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        assert_int_equal(sequence_of(one, slot), model[slot]);
        count += model[slot] != 0;
    }
    for (uint32_t i = 1; i < one->count; i++)
        assert_true(sp_fence_set_at(one, i - 1)->slot < sp_fence_set_at(one, i)->slot);
    assert_int_equal(one->count, count);
    assert_true(one->count <= SP_FENCE_INLINE + one->capacity);
}

static void prune_model(uint64_t *model) {
    for (int slot = 0; slot < SLOTS; slot++)
        model[slot] = model[slot] <= completed[slot] ? 0 : model[slot];
}

static void random_operations_agree_with_a_table(void **state) {
    (void)state;
    struct sp_fence_set sets[2] = {{0}, {0}};
    uint64_t models[2][SLOTS] = {{0}};
    uint64_t seed = 3;
    for (uint64_t step = 1; step < 20000; step++) {
        uint64_t which = random_below(&seed, 2);
        uint32_t slot = (uint32_t)random_below(&seed, SLOTS);
        uint64_t choice = random_below(&seed, 10);
        for (int i = 0; i < SLOTS; i++)
            completed[i] = random_below(&seed, step);
        if (choice < 7) {
            uint64_t sequence = 1 + random_below(&seed, step);
            assert_true(add(&sets[which], slot, sequence));
            models[which][slot] = models[which][slot] > sequence ? models[which][slot] : sequence;
        } else if (choice < 8) {
            assert_true(sp_fence_set_join(&sets[which], &sets[1 - which]));
            join_model(models[which], models[1 - which]);
        } else {
            sp_fence_set_prune(&sets[which], is_complete);
            prune_model(models[which]);
        }
        assert_same(&sets[which], models[which]);
    }
    sp_fence_set_clear(&sets[0]);
    sp_fence_set_clear(&sets[1]);
}

#define set_test(function) cmocka_unit_test_teardown(function, clear)

int main(void) {
    const struct CMUnitTest tests[] = {
        set_test(a_zeroed_set_is_empty),
        set_test(a_set_holds_the_latest_fence_of_each_stream),
        set_test(a_set_outgrows_its_inline_room),
        set_test(a_cleared_set_is_empty_and_can_be_used_again),
        set_test(additions_into_reserved_room_need_no_host_memory),
        set_test(without_host_memory_nothing_is_added),
        set_test(a_known_stream_is_raised_without_host_memory),
        set_test(a_join_of_known_streams_needs_no_host_memory),
        set_test(pruning_everything_gives_the_room_back),
        set_test(room_for_one_more_outlasts_pruning),
        set_test(random_operations_agree_with_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
