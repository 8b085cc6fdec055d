// What others have of the blocks in a thread's front: other threads, streams, pools, and a trim;
// and when the fronts of a contended lane open and close.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "region/collect.h"
#include "region/fronts.h"
#include "unit/fixture/crowded.h"

static void run_in_thread(void *(*function)(void *), void *argument) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void *free_in_thread(void *blocks) {
    for (void **block = blocks; *block; block++)
        put(*block);
    return NULL;
}

// The slab is full of what the other thread's front has.
static void a_miss_finds_what_other_fronts_have(void **state) {
    (void)state;
    void *blocks[17] = {NULL};
    block_in_front(KIB(4));
    for (int i = 0; i < 16; i++)
        blocks[i] = take(KIB(4));
    uint64_t slabs = crowded->slab_count, reserved = fixture_reserved(pool);
    run_in_thread(free_in_thread, blocks);
    assert_true(in_fronts() > 2);
    for (int i = 0; i < 16; i++)
        assert_non_null(take(KIB(4)));
    assert_int_equal(crowded->slab_count, slabs);
    assert_int_equal(fixture_reserved(pool), reserved);
    fixture_check(pool);
}

static void *look_in_thread(void *block) {
    void *taken = take(KIB(4));
    assert_int_not_equal(fixture_used(pool), 0);
    put(taken);
    *(void **)block = taken;
    return NULL;
}

static void threads_have_fronts_of_their_own(void **state) {
    (void)state;
    void *block = block_in_front(KIB(4)), *other = NULL;
    run_in_thread(look_in_thread, &other);
    assert_ptr_not_equal(other, block);
    assert_int_equal(in_fronts(), 2);
    fixture_check(pool);
    drain();
    assert_int_equal(in_fronts(), 0);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

// The first free under a number is the lane's, and leaves the slab of the other class as it was.
static void a_slab_learns_when_its_blocks_were_freed_into_fronts(void **state) {
    (void)state;
    block_in_front(KIB(4));
    put(take(KIB(8)));
    fixture_synchronize(stream);
    simulated_work(stream);
    put(take(KIB(4)));
    void *block = take(KIB(8));
    const struct sp_slab *slab = slab_of(block);
    uint64_t number = sp_load_relaxed(&crowded->stream->sequence);
    assert_true(slab->last_sequence < number);
    put(block);
    assert_true(slab->live > 0); // set aside
    drain();
    assert_int_equal(slab->live, 0);
    assert_int_equal(slab->last_sequence, number);
    fixture_check(pool);
}

static void a_trim_gives_back_what_fronts_have(void **state) {
    (void)state;
    block_in_front(KIB(4));
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
    assert_int_equal(in_fronts(), 0);
}

static void another_stream_gets_what_fronts_have_when_it_is_complete(void **state) {
    (void)state;
    poolMemPool_t small = fixture_pool_of_at_most(MIB(2));
    CUstream other = simulated_stream();
    pool = small;
    crowded = fixture_lane(pool, stream);
    block_in_front(KIB(4));
    fixture_synchronize(stream);
    assert_non_null(fixture_malloc(pool, MIB(2), other));
    fixture_check(pool);
}

// It is pending, so the other stream grows the pool.
static void another_stream_gets_nothing_of_them_while_it_is_pending(void **state) {
    (void)state;
    CUstream other = simulated_stream();
    void *block = block_in_front(KIB(4));
    simulated_work(stream);
    put(take(KIB(4)));
    assert_int_equal(in_fronts(), 1);
    poolMemPool_t bounded = pool;
    fixture_set_flag(bounded, poolMemPoolReuseAllowInternalDependencies, 0);
    fixture_set_flag(bounded, poolMemPoolReuseAllowOpportunistic, 0);
    for (int i = 0; i < 40; i++)
        assert_ptr_not_equal(fixture_malloc(pool, KIB(4), other), block);
    fixture_check(pool);
}

static poolError_t free_in_no_order(void *block) {
    return poolFree(block);
}

static poolError_t free_in_no_order_without_fronts(void *block) {
    sp_fronts_close(crowded);
    assert_false(sp_front_is_any(crowded));
    return poolFree(block);
}

static poolError_t free_on_another_stream(void *block) {
    return poolFreeAsync(block, simulated_stream());
}

// Each of them vouches for no more than its caller's own use of the block, and not for what the
// stream did with it before it came out of a front.
static void a_block_out_of_a_front_keeps_the_number_of_its_last_free(void **state) {
    (void)state;
    static poolError_t (*const frees[])(void *) = {
        free_in_no_order, free_in_no_order_without_fronts, free_on_another_stream};
    for (size_t i = 0; i < sizeof frees / sizeof frees[0]; i++) {
        stream = simulated_stream();
        pool = fixture_pool_of_at_most(MIB(2));
        crowded = fixture_lane(pool, stream);
        fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
        fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
        block_in_front(KIB(4));
        put(take(KIB(8)));
        fixture_synchronize(stream);
        void *block = take(KIB(8)), *got;
        simulated_work(stream);
        put(block);
        assert_int_equal(in_fronts(), 1);
        assert_ptr_equal(take(KIB(8)), block);
        assert_int_equal(frees[i](block), poolSuccess);
        CUstream other = simulated_stream();
        uintptr_t page = (uintptr_t)block / SP_PAGE_SIZE;
        while (poolMallocFromPoolAsync(&got, KIB(8), pool, other) == poolSuccess)
            assert_int_not_equal((uintptr_t)got / SP_PAGE_SIZE, page);
        fixture_check(pool);
    }
}

// A thread that looks at a slab to claim a block there finds that slab, or none.
static void a_slab_is_made_anew_only_when_nobody_can_look_at_it(void **state) {
    (void)state;
    struct sp_slab *first = slab_of(block_in_front(KIB(4)));
    sp_collect_all(fixture_inside(pool));
    assert_int_equal(crowded->slab_count, 0);
    poolMemPool_t other = fixture_pool();
    assert_ptr_not_equal(slab_of(fixture_malloc(other, KIB(4), stream)), first);
    bool again = false;
    for (int i = 0; i < 40 && !again; i++) {
        put(take(KIB(4)));
        put(take(KIB(4)));
        sp_collect_all(fixture_inside(pool));
        again = slab_of(fixture_malloc(other, KIB(4), stream)) == first;
    }
    assert_true(sp_front_is_any(crowded));
    fixture_check(pool);
}

// As soon as a thread may be done with a front's lock that it took before the slab was given up.
static void a_slab_that_is_given_up_is_nobodys_to_who_comes_late(void **state) {
    (void)state;
    block_in_front(KIB(4));
    sp_collect_all(fixture_inside(pool));
    assert_non_null(crowded->retired);
    assert_null(sp_slab_owner(crowded->retired));
    fixture_check(pool);
}

#ifndef NDEBUG // only then a thread tells which lock it holds

static void *taken_in_thread;

static void *take_out_of_front(void *unused) {
    (void)unused;
    put(take(KIB(4)));
    taken_in_thread = take(KIB(4));
    return NULL;
}

// A thread has a number, and so a front of its own, once it has taken a biased lock.
static void *put_into_front(void *unused) {
    (void)unused;
    static struct sp_biased_lock first;
    sp_biased_lock_acquire(&first);
    sp_biased_lock_release(&first);
    put(taken_in_thread);
    return NULL;
}

static int fronts_looked_at;

static void put_behind_settling(void) {
    fronts_looked_at += sp_biased_held == &crowded->lock;
    if (fronts_looked_at == SP_FRONT_COUNT)
        run_in_thread(put_into_front, NULL);
    else
        fixture_at_next_lock(put_behind_settling);
}

// Its front has these bytes still, and hands them out without a look at the allowance.
static void what_is_freed_behind_a_settling_is_not_taken_over(void **state) {
    (void)state;
    block_in_front(KIB(4));
    put(take(KIB(16))); // so the lane leaves some of its allowance unused
    run_in_thread(take_out_of_front, NULL);
    fronts_looked_at = 0;
    fixture_at_next_lock(put_behind_settling);
    fixture_set(pool, poolMemPoolAttrUsedMemHigh, 0);
    sp_lock_set_hook(NULL);
    fixture_check(pool);
    run_in_thread(take_out_of_front, NULL);
    assert_int_equal(fixture_used(pool), KIB(4));
    assert_true(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh) >= KIB(4));
    fixture_check(pool);
}

static struct {
    struct sp_front_batch batch;
    struct sp_front *front;
    int locks; // that are taken until it arrives
} on_its_way;

static void arrive_at_last_lock(void) {
    if (sp_biased_held || --on_its_way.locks > 0)
        fixture_at_next_lock(arrive_at_last_lock);
    else
        sp_front_fill(on_its_way.front, &on_its_way.batch);
}

static void set_aside_on_its_way(void *block) {
    struct sp_slab *slab = slab_of(block);
    on_its_way.front = sp_front_of_thread(crowded);
    sp_biased_lock_acquire(&crowded->lock);
    on_its_way.batch = (struct sp_front_batch){.class_index = slab->class_index, .count = 1};
    uint16_t index = sp_slab_set_aside(slab);
    uint64_t address = (uint64_t)(uintptr_t)block;
    on_its_way.batch.blocks[0] = (struct sp_front_block){slab, address, index};
    sp_list_remove(&slab->link);
    sp_biased_lock_release(&crowded->lock);
}

// Another thread has just taken the pool's last free block out of the lane, for its front.
static void no_request_is_refused_while_a_block_is_on_its_way(void **state) {
    (void)state;
    static void *blocks[MIB(32) / KIB(32)];
    size_t count = 0;
    pool = fixture_pool_of_at_most(MIB(2));
    crowded = fixture_lane(pool, stream);
    block_in_front(KIB(32));
    while (poolMallocFromPoolAsync(&blocks[count], KIB(32), pool, stream) == poolSuccess)
        count++;
    void *block = blocks[count - 1];
    for (int locks = 1; locks < 200; locks++) {
        put(block);
        do {
            make_crowded(crowded);
            put(take(KIB(32)));
        } while (!sp_front_is_any(crowded)); // they close now and then
        drain();
        set_aside_on_its_way(block);
        on_its_way.locks = locks;
        fixture_at_next_lock(arrive_at_last_lock);
        assert_ptr_equal(take(KIB(32)), block);
        sp_lock_set_hook(NULL);
    }
    fixture_check(pool);
}

#endif

// -------------------------------------------------------------------- when fronts open and close

static void a_thread_that_is_alone_closes_the_fronts(void **state) {
    (void)state;
    block_in_front(KIB(4));
    for (int i = 0; i < SP_FRONT_USES && sp_front_is_any(crowded); i++)
        put(take(KIB(4)));
    assert_false(sp_front_is_any(crowded));
    assert_false(sp_biased_lock_is_contended(&crowded->lock));
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

static struct sp_front_free free_of(void *block) {
    struct sp_slab *slab = slab_of(block);
    return (struct sp_front_free){.lane = crowded,
                                  .stream = crowded->stream,
                                  .sequence = sp_load_relaxed(&crowded->stream->sequence),
                                  .block = {.slab = slab, .address = (uint64_t)(uintptr_t)block},
                                  .class_index = slab->class_index};
}

// A thread that has to make room for what it frees holds a claimed block meanwhile.
static void fronts_stay_open_while_a_block_is_on_its_way(void **state) {
    (void)state;
    block_in_front(KIB(4));
    void *block = take(KIB(4));
    struct sp_slab *slab = slab_of(block);
    struct sp_front *front = sp_front_of_thread(crowded);
    struct sp_front_free claimed = free_of(block);
    struct poolPointerAttributes attributes;
    assert_true(sp_front_claim(front, &claimed));
    assert_false(sp_front_claim(front, &claimed));
    sp_fronts_look(crowded, front);
    sp_fronts_look(crowded, front);
    assert_true(sp_front_is_any(crowded));
    assert_int_equal(poolPointerGetAttributes(&attributes, block), poolSuccess);
    assert_int_equal(attributes.state, poolPointerFree);
    assert_int_equal(poolFreeAsync(block, stream), poolErrorInvalidValue);
    assert_true(sp_front_put_claimed(front, &claimed));
    assert_int_equal(in_fronts(), 1);
    fixture_check(pool);
    sp_fronts_look(crowded, front);
    assert_false(sp_front_is_any(crowded));
    assert_false(sp_slab_is_fronted(slab));
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

static void a_deterministic_pool_opens_none(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    put(take(KIB(4)));
    make_crowded(crowded);
    put(take(KIB(4)));
    assert_false(sp_front_is_any(crowded));
    assert_false(sp_biased_lock_is_contended(&crowded->lock));
}

static void a_pool_that_becomes_deterministic_closes_them(void **state) {
    (void)state;
    block_in_front(KIB(4));
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    assert_false(sp_front_is_any(crowded));
    assert_false(sp_biased_lock_is_contended(&crowded->lock));
    fixture_check(pool);
}

// A pool becomes Deterministic while another thread frees a block: the fronts close as soon as they
// can, and nothing goes through them until then.
static void fronts_that_could_not_close_are_closed_later(void **state) {
    (void)state;
    block_in_front(KIB(4));
    void *block = take(KIB(4));
    struct sp_front *front = sp_front_of_thread(crowded);
    struct sp_front_free claimed = free_of(block);
    assert_true(sp_front_claim(front, &claimed));
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    assert_true(sp_front_is_any(crowded));
    void *other = take(KIB(4));
    assert_int_equal(in_fronts(), 0);
    assert_false(sp_front_put_claimed(front, &claimed));
    put(other);
    put(take(KIB(4)));
    assert_false(sp_front_is_any(crowded));
    put(block);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

static void a_given_up_pool_goes_with_the_last_free_of_a_crowded_lane(void **state) {
    (void)state;
    block_in_front(KIB(4));
    void *last = take(KIB(4)), *other = take(KIB(4));
    put(other);
    struct sp_device *device = fixture_inside(pool)->device;
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_int_equal(sp_load_relaxed(&device->given_up), 1);
    put(last);
    fixture_synchronize(stream);
    assert_int_equal(sp_load_relaxed(&device->given_up), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_miss_finds_what_other_fronts_have),
        TEST(threads_have_fronts_of_their_own),
        TEST(a_slab_learns_when_its_blocks_were_freed_into_fronts),
        TEST(a_trim_gives_back_what_fronts_have),
        TEST(another_stream_gets_what_fronts_have_when_it_is_complete),
        TEST(another_stream_gets_nothing_of_them_while_it_is_pending),
        TEST(a_block_out_of_a_front_keeps_the_number_of_its_last_free),
        TEST(a_slab_is_made_anew_only_when_nobody_can_look_at_it),
        TEST(a_slab_that_is_given_up_is_nobodys_to_who_comes_late),
#ifndef NDEBUG
        TEST(what_is_freed_behind_a_settling_is_not_taken_over),
        TEST(no_request_is_refused_while_a_block_is_on_its_way),
#endif
        TEST(a_thread_that_is_alone_closes_the_fronts),
        TEST(fronts_stay_open_while_a_block_is_on_its_way),
        TEST(a_deterministic_pool_opens_none),
        TEST(a_pool_that_becomes_deterministic_closes_them),
        TEST(fronts_that_could_not_close_are_closed_later),
        TEST(a_given_up_pool_goes_with_the_last_free_of_a_crowded_lane),
    };
    return cmocka_run_group_tests_name("region_fronts", tests, NULL, NULL);
}
