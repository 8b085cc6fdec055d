#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/device.h"
#include "region/lane.h"
#include "unit/fixture/scattered.h"
#include "unit/random.h"

// Asking what an address is. The pool and its memory are those of scattered.h.

static struct poolPointerAttributes ask(const void *pointer) {
    struct poolPointerAttributes attributes = {.state = (enum poolPointerState)77};
    assert_int_equal(poolPointerGetAttributes(&attributes, pointer), poolSuccess);
    return attributes;
}

static void assert_nothing_known(const void *pointer, enum poolPointerState state) {
    struct poolPointerAttributes attributes = ask(pointer);
    assert_int_equal(attributes.state, state);
    assert_int_equal(attributes.device, -1);
    assert_null(attributes.pool);
    assert_null(attributes.base);
    assert_null(attributes.stream);
    assert_int_equal(attributes.size + attributes.requestedSize + attributes.extents, 0);
}

static void assert_in_block(const void *pointer, const void *base, size_t requested) {
    struct poolPointerAttributes attributes = ask(pointer);
    assert_int_equal(attributes.state, poolPointerLive);
    assert_int_equal(attributes.device, 0);
    assert_ptr_equal(attributes.pool, pool);
    assert_ptr_equal(attributes.base, base);
    assert_ptr_equal(attributes.stream, a);
    assert_int_equal(attributes.requestedSize, requested);
    assert_true(attributes.size >= requested);
}

static void an_address_of_nobodys_memory_is_foreign(void **state) {
    (void)state;
    CUdeviceptr others = 0;
    assert_nothing_known(NULL, poolPointerForeign);
    assert_nothing_known(&others, poolPointerForeign);
    assert_nothing_known((void *)UINTPTR_MAX, poolPointerForeign);
    fixture_malloc(pool, 1, a);
    assert_int_equal(sp_driver->cuMemAlloc(&others, MIB(2)), CUDA_SUCCESS);
    assert_nothing_known((void *)(uintptr_t)others, poolPointerForeign);
    assert_nothing_known(NULL, poolPointerForeign);
    assert_nothing_known((void *)UINTPTR_MAX, poolPointerForeign);
    assert_int_equal(sp_driver->cuMemFree(others), CUDA_SUCCESS);
    assert_int_equal(poolPointerGetAttributes(NULL, NULL), poolErrorInvalidValue);
}

static void every_address_of_a_block_answers_as_its_base(void **state) {
    (void)state;
    const size_t sizes[] = {1, 512, 600, 3000, SP_SMALL_MAX, SP_SMALL_MAX + 1, MIB(3) + 5, MIB(20)};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    char *bases[SIZES];
    for (int i = 0; i < SIZES; i++)
        bases[i] = fixture_malloc(pool, sizes[i], a);
    for (int i = 0; i < SIZES; i++) {
        size_t size = ask(bases[i]).size;
        size_t step = size / 7 + 1;
        for (size_t offset = 0; offset < size; offset += step)
            assert_in_block(bases[i] + offset, bases[i], sizes[i]);
        assert_in_block(bases[i] + size - 1, bases[i], sizes[i]);
        struct poolPointerAttributes behind = ask(bases[i] + size), before = ask(bases[i] - 1);
        assert_true(behind.state != poolPointerLive || behind.base == bases[i] + size);
        assert_ptr_not_equal(before.base, bases[i]);
    }
    assert_int_equal(ask(bases[1]).size, 512);
    assert_int_equal(ask(bases[6]).size, MIB(3) + 512);
}

static void a_freed_address_is_no_live_one_at_every_stage_of_the_memory(void **state) {
    (void)state;
    const size_t sizes[] = {1, 3000, SP_SMALL_MAX + 1, MIB(3), MIB(20)};
    for (int i = 0; i < 5; i++) {
        char *pointer = fixture_malloc(pool, sizes[i], a);
        simulated_work(a);
        fixture_free(pointer, a); // pending, in a list
        for (int stage = 0; stage < 4; stage++) {
            assert_nothing_known(pointer, poolPointerFree);
            assert_nothing_known(pointer + sizes[i] - 1, poolPointerFree);
            if (stage == 0)
                collect(); // in a tier
            if (stage == 1)
                fixture_synchronize(a);
            if (stage == 2)
                fixture_trim(pool, 0); // unmapped
        }
    }
}

// Words of blocks that were there before lie all over the new one, and their descriptors are those
// of other live blocks by now.
static void blocks_that_were_there_before_do_not_answer(void **state) {
    (void)state;
    fill_with(HALF);
    char *base = blocks[2];
    size_t size = (HALVES - 4) * HALF;
    for (size_t i = 2; i < HALVES - 2; i++)
        drop(i, a);
    settle();
    assert_ptr_equal(fixture_malloc(pool, size, a), base);
    drop(0, a);
    settle();
    for (size_t i = 0; i < HALF / SP_PAGE_SIZE; i++)
        assert_ptr_equal(fixture_malloc(pool, SP_PAGE_SIZE, a),
                         (char *)blocks[1] - HALF + i * SP_PAGE_SIZE);
    for (size_t offset = 0; offset < size; offset += KIB(700))
        assert_in_block(base + offset, base, size);
    assert_in_block(base + size - 1, base, size);
    assert_in_block(base - 1, blocks[1], HALF);
    assert_in_block(base + size, blocks[HALVES - 2], HALF);
    fixture_free(base, a);
    assert_nothing_known(base + size - 1, poolPointerFree);
    assert_in_block(base + size + HALF - 1, blocks[HALVES - 2], HALF);
}

static void the_extents_that_a_block_lies_in_are_counted(void **state) {
    (void)state;
    void *fixed = NULL;
    poolMemPool_t other = fixture_pool();
    fill_with(HALF);
    assert_int_equal(ask(blocks[0]).extents, 1);
    assert_int_equal(ask(blocks[1]).extents, 1);
    drop(3, a);
    drop(8, a);
    char *joined = fixture_malloc(pool, 2 * HALF, a); // of a tail and a front
    assert_true(lies_in_a_stitched_view(joined));
    assert_int_equal(ask(joined + 2 * HALF - 1).extents, 2);
    assert_in_block(joined + HALF, joined, 2 * HALF);
    assert_nothing_known((char *)blocks[2] + HALF, poolPointerFree); // lent, at its home
    for (size_t i = 0; i < HALVES; i++) {
        if (blocks[i])
            drop(i, a);
    }
    fixture_free(joined, a);
    settle();
    assert_int_equal(ask(fixture_malloc(pool, POOL, a)).extents, EXTENTS);
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, MIB(70), other, a, poolMallocFixed),
                     poolSuccess);
    assert_int_equal(ask(fixed).extents, 1);
}

static void the_streams_handle_is_told_while_the_stream_lives(void **state) {
    (void)state;
    const size_t sizes[] = {100, MIB(2)};
    for (int i = 0; i < 2; i++) {
        CUstream stream = simulated_stream();
        void *pointer = fixture_malloc(pool, sizes[i], stream);
        assert_ptr_equal(ask(pointer).stream, stream);
        assert_int_equal(poolStreamDestroy(stream), poolSuccess);
        assert_null(ask(pointer).stream);
        assert_int_equal(ask(pointer).state, poolPointerLive);
        assert_ptr_equal(ask(fixture_malloc(pool, sizes[i], NULL)).stream, CU_STREAM_LEGACY);
        assert_ptr_equal(ask(fixture_malloc(pool, sizes[i], CU_STREAM_PER_THREAD)).stream,
                         CU_STREAM_PER_THREAD);
    }
}

static void memory_of_a_destroyed_pool_is_live_and_has_no_pool(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    void *small = fixture_malloc(other, 100, a), *large = fixture_malloc(other, MIB(2), a);
    assert_ptr_equal(ask(small).pool, other);
    assert_int_equal(poolMemPoolDestroy(other), poolSuccess);
    assert_int_equal(ask(small).state, poolPointerLive);
    assert_null(ask(small).pool);
    assert_null(ask(large).pool);
    assert_int_equal(ask(large).requestedSize, MIB(2));
    fixture_free(small, a);
    fixture_free(large, a);
    assert_nothing_known(small, poolPointerFree);
    assert_nothing_known(large, poolPointerFree);
}

static uint64_t calls_in_all(void) {
    return simcudaCallCount("cuPointerGetAttribute") + simcudaCallCount("cuCtxGetId") +
           simcudaCallCount("cuStreamGetId") + simcudaCallCount("cuCtxGetCurrent") +
           simcudaCallCount("cuStreamIsCapturing");
}

// A lock that the call took would be taken twice by this thread.
static void it_takes_no_lock_and_makes_no_driver_call(void **state) {
    (void)state;
    char *small = fixture_malloc(pool, 100, a), *large = fixture_malloc(pool, MIB(5), a);
    struct sp_pool *inside = fixture_inside(pool);
    struct sp_lane *lane = fixture_lane(pool, a);
    uint64_t calls = calls_in_all();
    sp_lock_acquire(&inside->device->lock);
    sp_lock_acquire(&inside->map_lock);
    sp_biased_lock_acquire(&lane->lock);
    sp_lock_acquire(&inside->lock);
    struct poolPointerAttributes in_small = ask(small + 50), in_large = ask(large + MIB(4));
    sp_lock_release(&inside->lock);
    sp_biased_lock_release(&lane->lock);
    sp_lock_release(&inside->map_lock);
    sp_lock_release(&inside->device->lock);
    assert_int_equal(calls_in_all(), calls);
    assert_ptr_equal(in_small.base, small);
    assert_ptr_equal(in_large.base, large);
}

// ---------------------------------------------------------------- blocks of any size, in any place

enum { DRAWN = 24, STEPS = 4000, ASKED = 6 };

static int setup_large(void **state) {
    (void)state;
    int failed = fixture_begin("memory=64G");
    pool = fixture_pool_of_at_most(GIB(48));
    a = simulated_stream();
    return failed;
}

struct drawn {
    char *base;
    size_t requested, size;
};

struct drawing {
    struct drawn blocks[DRAWN];
    uint64_t seed;
    uintptr_t low, high; // no block was elsewhere
};

static uint64_t draw_below(struct drawing *drawing, uint64_t below) {
    return (random_next(&drawing->seed) << 31 | random_next(&drawing->seed)) % below;
}

// Each power of two is as likely as another, and most sizes are no multiple of a page.
static size_t draw_size(struct drawing *drawing) {
    return 1 + draw_below(drawing, (uint64_t)1 << draw_below(drawing, 34));
}

static void allocate_or_free(struct drawing *drawing) {
    struct drawn *block = &drawing->blocks[draw_below(drawing, DRAWN)];
    void *base = NULL;
    if (block->base) {
        fixture_free(block->base, a);
        *block = (struct drawn){0};
        return;
    }
    size_t size = draw_size(drawing);
    if (poolMallocFromPoolAsync(&base, size, pool, a) != poolSuccess)
        return; // the pool is full
    *block = (struct drawn){base, size, ask(base).size};
    assert_in_block(base, base, size);
    uintptr_t begin = (uintptr_t)base, end = begin + block->size;
    drawing->low = drawing->low == 0 || begin < drawing->low ? begin : drawing->low;
    drawing->high = end > drawing->high ? end : drawing->high;
}

static const struct drawn *block_at(const struct drawing *drawing, const char *address) {
    for (int i = 0; i < DRAWN; i++) {
        const struct drawn *block = &drawing->blocks[i];
        if (block->base && address >= block->base && address < block->base + block->size)
            return block;
    }
    return NULL;
}

static void ask_at(const struct drawing *drawing, const char *address) {
    const struct drawn *block = block_at(drawing, address);
    if (block)
        assert_in_block(address, block->base, block->requested);
    else
        assert_nothing_known(address, poolPointerFree);
}

// Anywhere, and about the ends of a block that is there.
static void ask_about(struct drawing *drawing) {
    const struct drawn *block = &drawing->blocks[draw_below(drawing, DRAWN)];
    if (drawing->low)
        ask_at(drawing, (char *)drawing->low + draw_below(drawing, drawing->high - drawing->low));
    if (!block->base)
        return;
    uint64_t near = draw_below(drawing, block->size < MIB(1) ? block->size : MIB(1));
    ask_at(drawing, block->base + near);
    ask_at(drawing, block->base + block->size - 1 - near);
    ask_at(drawing, block->base + draw_below(drawing, block->size));
}

static void every_address_among_drawn_blocks_answers_as_its_block(void **state) {
    (void)state;
    struct drawing drawing = {.seed = 38};
    for (int step = 0; step < STEPS; step++) {
        allocate_or_free(&drawing);
        if (draw_below(&drawing, 20) == 0)
            fixture_synchronize(a);
        if (draw_below(&drawing, 100) == 0)
            fixture_trim(pool, 0);
        for (int i = 0; i < ASKED; i++)
            ask_about(&drawing);
    }
    for (int i = 0; i < DRAWN; i++)
        fixture_free(drawing.blocks[i].base, a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_address_of_nobodys_memory_is_foreign),
        TEST(every_address_of_a_block_answers_as_its_base),
        TEST(a_freed_address_is_no_live_one_at_every_stage_of_the_memory),
        TEST(blocks_that_were_there_before_do_not_answer),
        TEST(the_extents_that_a_block_lies_in_are_counted),
        TEST(the_streams_handle_is_told_while_the_stream_lives),
        TEST(memory_of_a_destroyed_pool_is_live_and_has_no_pool),
        TEST(it_takes_no_lock_and_makes_no_driver_call),
        cmocka_unit_test_setup_teardown(every_address_among_drawn_blocks_answers_as_its_block,
                                        setup_large, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
