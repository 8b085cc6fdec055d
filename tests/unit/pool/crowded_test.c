#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "region/collect.h"
#include "region/crowded.h"
#include "region/figures.h"
#include "region/owner.h"
#include "unit/pool/fixture.h"

static poolMemPool_t pool;
static CUstream stream;
static struct sp_lane *lane;

static int setup(void **state) {
    (void)state;
    if (fixture_begin("memory=16G") != 0)
        return -1;
    pool = fixture_pool();
    stream = simulated_stream();
    lane = fixture_lane(pool, stream);
    return 0;
}

static void make_crowded(struct sp_lane *of) {
    sp_store_relaxed(&of->lock.met, SP_BIASED_CROWDED);
}

static void *take(size_t size) {
    return fixture_malloc(pool, size, stream);
}

static void put(void *block) {
    fixture_free(block, stream);
}

static uint32_t in_fronts(void) {
    const struct sp_front *fronts = sp_load_relaxed(&lane->fronts);
    uint32_t count = 0;
    for (int i = 0; fronts && i < SP_FRONT_COUNT; i++)
        count += sp_load_relaxed(&fronts[i].count);
    return count;
}

// Has the lane's fronts open, with one block in that of this thread: its first free under a number
// is the lane's.
static void *block_in_front(size_t size) {
    put(take(size));
    make_crowded(lane);
    void *block = take(size);
    put(block);
    assert_int_equal(in_fronts(), 1);
    return block;
}

static void run_in_thread(void *(*function)(void *), void *argument) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void drain(void) {
    sp_biased_lock_acquire(&lane->lock);
    sp_crowded_drain_locked(lane);
    sp_biased_lock_release(&lane->lock);
}

// ------------------------------------------------------------------------------------ take and put

static void a_front_gives_out_again_what_was_freed_into_it(void **state) {
    (void)state;
    void *block = block_in_front(KIB(4));
    uint64_t hits = fixture_attribute(pool, poolMemPoolStatReuseSameStream);
    uint64_t unfenced = lane->unfenced_bytes;
    for (int i = 0; i < 20; i++) {
        assert_int_equal(fixture_used(pool), 0);
        assert_ptr_equal(take(KIB(4)), block);
        assert_int_equal(fixture_used(pool), KIB(4));
        assert_int_equal(in_fronts(), 0);
        put(block);
        fixture_check(pool);
    }
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatReuseSameStream), hits + 20);
    assert_int_equal(lane->unfenced_bytes, unfenced);
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), KIB(4));
}

static void a_block_in_a_front_is_free_to_who_asks(void **state) {
    (void)state;
    struct poolPointerAttributes attributes;
    void *block = block_in_front(KIB(4));
    assert_int_equal(poolPointerGetAttributes(&attributes, block), poolSuccess);
    assert_int_equal(attributes.state, poolPointerFree);
    assert_int_equal(poolFreeAsync(block, stream), poolErrorInvalidValue);
    assert_int_equal(poolFree(block), poolErrorInvalidValue);
    assert_int_equal(poolFreeAsync(block, simulated_stream()), poolErrorInvalidValue);
    assert_ptr_equal(take(KIB(4)), block);
}

static struct {
    struct sp_slab *slab;
    uint16_t index;
    int locks; // that are taken until the block is live again
} aside;

static void let_live_at_last_lock(void) {
    if (--aside.locks > 0)
        fixture_at_next_lock(let_live_at_last_lock);
    else
        sp_slab_set_live(aside.slab, aside.index, KIB(4));
}

// Another thread has claimed the block and finds that the lane has to free it.
static void a_free_that_comes_second_is_told_so(void **state) {
    (void)state;
    int refused = 0;
    block_in_front(KIB(4));
    for (int locks = 1; locks < 24; locks++) {
        void *block = take(KIB(4));
        uint64_t address = (uint64_t)(uintptr_t)block;
        aside.slab = sp_owner_slab(sp_owner_of(address));
        aside.index = sp_slab_find(aside.slab, address);
        aside.locks = locks;
        assert_true(sp_slab_claim(aside.slab, aside.index));
        fixture_at_next_lock(let_live_at_last_lock);
        poolError_t error = poolFreeAsync(block, stream);
        sp_lock_set_hook(NULL);
        if (error == poolSuccess)
            continue;
        refused++;
        assert_int_equal(error, poolErrorInvalidValue);
        assert_non_null(strstr(poolGetLastErrorDetail(), "was freed already"));
        sp_slab_set_live(aside.slab, aside.index, KIB(4));
        put(block);
    }
    assert_true(refused > 1);
    fixture_check(pool);
}

static void what_a_front_hands_out_is_covered(void **state) {
    (void)state;
    put(take(KIB(3) + 600));
    make_crowded(lane);
    put(take(KIB(3) + 600));
    void *larger = take(KIB(4)); // of the same class: more than the lane counts for the front
    assert_int_equal(fixture_used(pool), KIB(4));
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), KIB(4));
    fixture_check(pool);
    put(larger);
    fixture_check(pool);
}

static void used_bytes_and_their_highest_sum_are_exact(void **state) {
    (void)state;
    void *blocks[100];
    block_in_front(KIB(4));
    for (int round = 0; round < 10; round++) {
        make_crowded(lane);
        for (int i = 0; i < 100; i++) {
            blocks[i] = take((size_t)(i % 8 + 1) * 500);
            fixture_check(pool);
        }
        uint64_t used = fixture_used(pool);
        assert_int_equal(used, (12 * 36 + 10) * 500);
        assert_int_equal(fixture_attribute(pool, poolMemPoolAttrUsedMemHigh), used);
        for (int i = 0; i < 100; i++) {
            put(blocks[i]);
            fixture_check(pool);
        }
        assert_int_equal(fixture_used(pool), 0);
    }
}

// ------------------------------------------------------------------------- what others have of
// them

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
    uint64_t slabs = lane->slab_count, reserved = fixture_reserved(pool);
    run_in_thread(free_in_thread, blocks);
    assert_true(in_fronts() > 2);
    for (int i = 0; i < 16; i++)
        assert_non_null(take(KIB(4)));
    assert_int_equal(lane->slab_count, slabs);
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
    const struct sp_slab *slab = sp_owner_slab(sp_owner_of((uint64_t)(uintptr_t)block));
    uint64_t number = sp_load_relaxed(&lane->stream->sequence);
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
    lane = fixture_lane(pool, stream);
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
    sp_crowded_close(lane);
    assert_false(sp_front_is_any(lane));
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
        lane = fixture_lane(pool, stream);
        fixture_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
        fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
        block_in_front(KIB(4));
        put(take(KIB(8)));
        fixture_synchronize(stream);
        void *block = take(KIB(8)), *got;
        simulated_work(stream);
        put(take(KIB(4))); // the first free under this number is the lane's
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

static struct sp_slab *slab_of(void *block) {
    return sp_owner_slab(sp_owner_of((uint64_t)(uintptr_t)block));
}

// A thread that looks at a slab to claim a block there finds that slab, or none.
static void a_slab_is_made_anew_only_when_nobody_can_look_at_it(void **state) {
    (void)state;
    struct sp_slab *first = slab_of(block_in_front(KIB(4)));
    sp_collect_all(fixture_inside(pool));
    assert_int_equal(lane->slab_count, 0);
    poolMemPool_t other = fixture_pool();
    assert_ptr_not_equal(slab_of(fixture_malloc(other, KIB(4), stream)), first);
    bool again = false;
    for (int i = 0; i < 40 && !again; i++) {
        put(take(KIB(4)));
        put(take(KIB(4)));
        sp_collect_all(fixture_inside(pool));
        again = slab_of(fixture_malloc(other, KIB(4), stream)) == first;
    }
    assert_true(sp_front_is_any(lane));
    fixture_check(pool);
}

// As soon as a thread may be done with a front's lock that it took before the slab was given up.
static void a_slab_that_is_given_up_is_nobodys_to_who_comes_late(void **state) {
    (void)state;
    block_in_front(KIB(4));
    sp_collect_all(fixture_inside(pool));
    assert_non_null(lane->retired);
    assert_null(sp_slab_owner(lane->retired));
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
    fronts_looked_at += sp_biased_held == &lane->lock;
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
    on_its_way.front = sp_front_of_thread(lane);
    sp_biased_lock_acquire(&lane->lock);
    on_its_way.batch = (struct sp_front_batch){.class_index = slab->class_index, .count = 1};
    uint16_t index = sp_slab_set_aside(slab);
    uint64_t address = (uint64_t)(uintptr_t)block;
    on_its_way.batch.blocks[0] = (struct sp_front_block){slab, address, index};
    sp_list_remove(&slab->link);
    sp_biased_lock_release(&lane->lock);
}

// Another thread has just taken the pool's last free block out of the lane, for its front.
static void no_request_is_refused_while_a_block_is_on_its_way(void **state) {
    (void)state;
    static void *blocks[MIB(32) / KIB(32)];
    size_t count = 0;
    pool = fixture_pool_of_at_most(MIB(2));
    lane = fixture_lane(pool, stream);
    block_in_front(KIB(32));
    while (poolMallocFromPoolAsync(&blocks[count], KIB(32), pool, stream) == poolSuccess)
        count++;
    void *block = blocks[count - 1];
    for (int locks = 1; locks < 200; locks++) {
        put(block);
        do {
            make_crowded(lane);
            put(take(KIB(32)));
        } while (!sp_front_is_any(lane)); // they close now and then
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

static int locks_taken;

static void count_lock(int contended) {
    (void)contended;
    locks_taken++;
}

static int locks_for_own_memory(void) {
    void *block = NULL;
    locks_taken = 0;
    sp_lock_set_hook(count_lock);
    poolError_t error =
        poolMallocAsyncWithFlags(&block, KIB(4), pool, stream, poolMallocSameStreamOnly);
    sp_lock_set_hook(NULL);
    assert_int_equal(error, poolSuccess);
    put(block);
    return locks_taken;
}

static void memory_of_the_stream_alone_is_at_hand_in_a_crowd_too(void **state) {
    (void)state;
    put(take(KIB(4)));
    int locks = locks_for_own_memory();
    make_crowded(lane);
    assert_int_equal(locks_for_own_memory(), locks);
    fixture_check(pool);
}

static void four_powers_of_two_stand_in_a_front_together(void **state) {
    (void)state;
    block_in_front(KIB(4));
    for (size_t first = 512; first <= KIB(4); first *= 2) {
        for (int i = 0; i < 8; i++)
            put(take(first << i % 4));
        const struct sp_front *front = sp_front_of_thread(lane);
        for (int i = 0; i < 4; i++) {
            unsigned class_index = sp_slab_class_of(first << i), found = 0;
            for (int bin = 0; bin < SP_FRONT_BINS; bin++)
                found += front->bins[bin].count > 0 && front->bins[bin].class_index == class_index;
            assert_int_equal(found, 1);
        }
    }
    fixture_check(pool);
}

static unsigned class_in_bin_of(size_t size) {
    struct sp_front *front = sp_front_of_thread(lane);
    const struct sp_front_bin *bin = sp_front_bin_of(front, sp_slab_class_of(size));
    return bin->count > 0 ? bin->class_index : SP_CLASS_COUNT;
}

static void two_classes_of_one_place_do_not_evict_each_other_by_turns(void **state) {
    (void)state;
    unsigned small = sp_slab_class_of(512), large = sp_slab_class_of(KIB(8));
    assert_int_equal(sp_front_bin_at(small), sp_front_bin_at(large));
    put(take(512)); // a miss would empty the fronts
    block_in_front(KIB(8));
    for (int i = 0; i < 12; i++) {
        put(take(512));
        assert_int_equal(class_in_bin_of(512), large);
        put(take(KIB(8)));
    }
    for (int i = 0; i < 12; i++)
        put(take(512));
    assert_int_equal(class_in_bin_of(512), small);
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

// --------------------------------------------------------------------------------- unfenced bytes

static void what_is_freed_into_a_front_is_counted_as_unfenced(void **state) {
    (void)state;
    enum { BLOCKS = 64 };
    void *blocks[BLOCKS];
    block_in_front(KIB(4));
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = take(KIB(4));
    uint64_t before = lane->unfenced_bytes;
    for (int i = 0; i < BLOCKS; i++) {
        put(blocks[i]);
        assert_true(lane->unfenced_bytes >= before + (uint64_t)i * KIB(4));
    }
    assert_true(in_fronts() > 0);
}

static void where_each_free_records_none_goes_into_a_front(void **state) {
    (void)state;
    block_in_front(KIB(4));
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    for (int i = 0; i < 10; i++) {
        uint64_t events = fixture_attribute(pool, poolMemPoolStatEventsRecorded);
        put(take(KIB(4)));
        assert_int_equal(fixture_attribute(pool, poolMemPoolStatEventsRecorded), events + 1);
    }
    assert_int_equal(in_fronts(), 0);
    fixture_check(pool);
}

static void the_free_that_is_one_too_many_records(void **state) {
    (void)state;
    enum { BLOCKS = 200 };
    void *blocks[BLOCKS];
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, KIB(4) * 40);
    block_in_front(KIB(4));
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = take(KIB(4));
    uint64_t events = fixture_attribute(pool, poolMemPoolStatEventsRecorded);
    for (int i = 0; i < BLOCKS; i++)
        put(blocks[i]);
    uint64_t recorded = fixture_attribute(pool, poolMemPoolStatEventsRecorded) - events;
    assert_in_range(recorded, BLOCKS / 41, BLOCKS / 16); // slabs count too
    assert_true(in_fronts() > 0);
}

// ------------------------------------------------------------------------------------ open and
// close

static void a_thread_that_is_alone_closes_the_fronts(void **state) {
    (void)state;
    block_in_front(KIB(4));
    for (int i = 0; i < SP_FRONT_USES && sp_front_is_any(lane); i++)
        put(take(KIB(4)));
    assert_false(sp_front_is_any(lane));
    assert_false(sp_biased_lock_is_crowded(&lane->lock));
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

// A thread that has to make room for what it frees holds a claimed block meanwhile.
static void fronts_stay_open_while_a_block_is_on_its_way(void **state) {
    (void)state;
    block_in_front(KIB(4));
    void *block = take(KIB(4));
    uint64_t address = (uint64_t)(uintptr_t)block;
    struct sp_slab *slab = sp_owner_slab(sp_owner_of(address));
    struct sp_front *front = sp_front_of_thread(lane);
    struct sp_front_free claimed = {.lane = lane,
                                    .stream = lane->stream,
                                    .sequence = sp_load_relaxed(&lane->stream->sequence),
                                    .block = {.slab = slab, .address = address},
                                    .class_index = slab->class_index};
    struct poolPointerAttributes attributes;
    assert_true(sp_front_claim(front, &claimed));
    assert_false(sp_front_claim(front, &claimed));
    sp_crowded_look(lane, front);
    sp_crowded_look(lane, front);
    assert_true(sp_front_is_any(lane));
    assert_int_equal(poolPointerGetAttributes(&attributes, block), poolSuccess);
    assert_int_equal(attributes.state, poolPointerFree);
    assert_int_equal(poolFreeAsync(block, stream), poolErrorInvalidValue);
    assert_true(sp_front_put_claimed(front, &claimed));
    assert_int_equal(in_fronts(), 1);
    fixture_check(pool);
    sp_crowded_look(lane, front);
    assert_false(sp_front_is_any(lane));
    assert_false(sp_slab_is_fronted(slab));
    assert_int_equal(fixture_used(pool), 0);
    fixture_check(pool);
}

static void a_deterministic_pool_opens_none(void **state) {
    (void)state;
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    put(take(KIB(4)));
    make_crowded(lane);
    put(take(KIB(4)));
    assert_false(sp_front_is_any(lane));
    assert_false(sp_biased_lock_is_crowded(&lane->lock));
}

static void a_pool_that_becomes_deterministic_closes_them(void **state) {
    (void)state;
    block_in_front(KIB(4));
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    assert_false(sp_front_is_any(lane));
    assert_false(sp_biased_lock_is_crowded(&lane->lock));
    fixture_check(pool);
}

// A pool becomes Deterministic while another thread frees a block: the fronts close as soon as they
// can, and nothing goes through them until then.
static void fronts_that_could_not_close_are_closed_later(void **state) {
    (void)state;
    block_in_front(KIB(4));
    void *block = take(KIB(4));
    uint64_t address = (uint64_t)(uintptr_t)block;
    struct sp_slab *slab = slab_of(block);
    struct sp_front *front = sp_front_of_thread(lane);
    struct sp_front_free claimed = {.lane = lane,
                                    .stream = lane->stream,
                                    .sequence = sp_load_relaxed(&lane->stream->sequence),
                                    .block = {.slab = slab, .address = address},
                                    .class_index = slab->class_index};
    assert_true(sp_front_claim(front, &claimed));
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    assert_true(sp_front_is_any(lane));
    void *other = take(KIB(4));
    assert_int_equal(in_fronts(), 0);
    assert_false(sp_front_put_claimed(front, &claimed));
    put(other);
    put(take(KIB(4)));
    assert_false(sp_front_is_any(lane));
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

#define crowded_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        crowded_test(a_front_gives_out_again_what_was_freed_into_it),
        crowded_test(a_block_in_a_front_is_free_to_who_asks),
        crowded_test(a_free_that_comes_second_is_told_so),
        crowded_test(what_a_front_hands_out_is_covered),
        crowded_test(used_bytes_and_their_highest_sum_are_exact),
        crowded_test(a_miss_finds_what_other_fronts_have),
        crowded_test(threads_have_fronts_of_their_own),
        crowded_test(a_slab_learns_when_its_blocks_were_freed_into_fronts),
        crowded_test(a_trim_gives_back_what_fronts_have),
        crowded_test(another_stream_gets_what_fronts_have_when_it_is_complete),
        crowded_test(another_stream_gets_nothing_of_them_while_it_is_pending),
        crowded_test(a_block_out_of_a_front_keeps_the_number_of_its_last_free),
        crowded_test(a_slab_is_made_anew_only_when_nobody_can_look_at_it),
#ifndef NDEBUG
        crowded_test(what_is_freed_behind_a_settling_is_not_taken_over),
        crowded_test(no_request_is_refused_while_a_block_is_on_its_way),
#endif
        crowded_test(a_slab_that_is_given_up_is_nobodys_to_who_comes_late),
        crowded_test(memory_of_the_stream_alone_is_at_hand_in_a_crowd_too),
        crowded_test(four_powers_of_two_stand_in_a_front_together),
        crowded_test(two_classes_of_one_place_do_not_evict_each_other_by_turns),
        crowded_test(what_is_freed_into_a_front_is_counted_as_unfenced),
        crowded_test(where_each_free_records_none_goes_into_a_front),
        crowded_test(the_free_that_is_one_too_many_records),
        crowded_test(a_thread_that_is_alone_closes_the_fronts),
        crowded_test(fronts_stay_open_while_a_block_is_on_its_way),
        crowded_test(a_deterministic_pool_opens_none),
        crowded_test(a_pool_that_becomes_deterministic_closes_them),
        crowded_test(fronts_that_could_not_close_are_closed_later),
        crowded_test(a_given_up_pool_goes_with_the_last_free_of_a_crowded_lane),
    };
    return cmocka_run_group_tests_name("pool_crowded", tests, NULL, NULL);
}
