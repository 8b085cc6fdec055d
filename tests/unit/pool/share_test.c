// What the lanes of a pool may hold back, where some of its streams free much and others are idle.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "region/device.h"
#include "region/lane.h"
#include "region/share.h"
#include "region/unfenced.h"
#include "unit/pool/fixture.h"

enum {
    LANES = 8,
    EARLY = 8,           // claims of a stream that get nothing
    IN_VAIN = 64,        // claims of a stream before it brings the first review
    IN_VAIN_MOST = 4096, // before any
};

static poolMemPool_t pool;
static CUstream streams[LANES];

// Each of the streams has an equal part of 1 MiB, and has work that is pending.
static int setup(void **state) {
    int failed = fixture_setup(state);
    if (failed)
        return failed;
    pool = fixture_pool();
    for (int i = 0; i < LANES; i++) {
        streams[i] = simulated_stream();
        fixture_lane(pool, streams[i]);
        simulated_work(streams[i]);
    }
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(LANES));
    return 0;
}

static struct sp_lane *lane_of(int stream) {
    return fixture_lane(pool, streams[stream]);
}

static uint64_t share_of(int stream) {
    return atomic_load(&lane_of(stream)->unfenced_most);
}

static uint64_t claimable(void) {
    return atomic_load(&fixture_inside(pool)->shares.claimable);
}

static uint32_t review_after(void) {
    return atomic_load(&fixture_inside(pool)->shares.review_after);
}

static uint32_t reviews(void) {
    return atomic_load(&fixture_inside(pool)->shares.reviews);
}

static uint64_t records(void) {
    return simcudaCallCount("cuEventRecord");
}

// Frees a block of the size and takes it again; returns the events that this has recorded.
static uint64_t pair(size_t size, int stream) {
    uint64_t before = records();
    fixture_free(fixture_malloc(pool, size, streams[stream]), streams[stream]);
    return records() - before;
}

// Frees so many blocks of the size, one after the other.
static uint64_t free_many(int count, size_t size, int stream) {
    static void *blocks[256];
    assert_true(count <= 256);
    for (int i = 0; i < count; i++)
        blocks[i] = fixture_malloc(pool, size, streams[stream]);
    uint64_t before = records();
    for (int i = 0; i < count; i++)
        fixture_free(blocks[i], streams[stream]);
    return records() - before;
}

// The stream has recorded enough to claim, and has brought a review. For that each of the others
// that has freed something since the one before was busy. Ends with nothing held back.
static void make_busy(int stream) {
    uint32_t claims = EARLY + review_after();
    for (uint32_t i = 0; i < claims; i++)
        pair(KIB(1536), stream);
    fixture_synchronize(streams[stream]);
    simulated_work(streams[stream]);
}

// --------------------------------------------------------------------------------------- the claim

static void a_stream_that_frees_more_than_its_part_records_no_more_beside_idle_ones(void **state) {
    (void)state;
    uint64_t events = 0;
    for (int i = 0; i < EARLY + IN_VAIN; i++)
        events += pair(KIB(1536), 0);
    assert_int_equal(events, EARLY + IN_VAIN - 1); // the last claim brings the review
    for (int i = 0; i < 1000; i++)
        events += pair(KIB(1536), 0);
    assert_int_equal(events, EARLY + IN_VAIN - 1);
    fixture_check(pool);
}

static void the_blocks_of_many_slabs_are_freed_without_an_event_beside_idle_streams(void **state) {
    (void)state;
    enum { SLABS = 60 };
    static void *blocks[SLABS * 16];
    make_busy(0);
    for (int i = 0; i < SLABS * 16; i++)
        blocks[i] = fixture_malloc(pool, KIB(4), streams[0]);
    uint64_t before = records();
    for (int i = 0; i < SLABS * 16; i += 16) // 3.75 MiB, for a slab counts whole
        fixture_free(blocks[i], streams[0]);
    assert_int_equal(records(), before);
    assert_true(share_of(0) >= SLABS * KIB(64));
}

static void the_first_claims_of_a_stream_get_nothing(void **state) {
    (void)state;
    make_busy(0);
    assert_true(claimable() > MIB(2));
    for (int i = 0; i < EARLY; i++)
        assert_int_equal(pair(KIB(1536), 1), 1);
    assert_int_equal(pair(KIB(1536), 1), 0);
}

static void a_stream_claims_no_more_than_2_mib_for_large_blocks(void **state) {
    (void)state;
    make_busy(0);
    assert_true(claimable() > MIB(4));
    assert_int_equal(free_many(16, KIB(128), 0), 0);
    assert_int_equal(free_many(17, KIB(128), 0), 1);
    assert_int_equal(atomic_load(&lane_of(0)->large_most), MIB(2));
}

// One after the other they have the lane's place in the pool.
static void so_do_those_of_each_stream_that_comes_and_goes(void **state) {
    (void)state;
    const struct sp_lane *first = NULL;
    for (int i = 0; i < 4; i++) {
        CUstream one = simulated_stream();
        const struct sp_lane *lane = fixture_lane(pool, one);
        first = first ? first : lane;
        assert_ptr_equal(lane, first);
        atomic_store(&fixture_inside(pool)->shares.claimable, MIB(4));
        uint64_t before = records();
        for (int k = 0; k < EARLY; k++)
            fixture_free(fixture_malloc(pool, KIB(1536), one), one);
        assert_int_equal(records() - before, EARLY);
        assert_int_equal(poolStreamDestroy(one), poolSuccess);
    }
}

// Small blocks have claimed more, and large ones may be freed beside them.
static void of_what_small_blocks_have_claimed_large_ones_have_2_mib(void **state) {
    (void)state;
    enum { SLABS = 64 };
    static void *blocks[SLABS * 16];
    make_busy(0);
    void *large = fixture_malloc(pool, KIB(256), streams[0]);
    for (int i = 0; i < SLABS * 16; i++)
        blocks[i] = fixture_malloc(pool, KIB(4), streams[0]);
    uint64_t before = records();
    for (int i = 0; i < SLABS * 16; i += 16)
        fixture_free(blocks[i], streams[0]);
    assert_int_equal(records(), before);
    assert_true(share_of(0) >= SLABS * KIB(64));
    assert_int_equal(atomic_load(&lane_of(0)->large_most), MIB(2));
    fixture_free(large, streams[0]);
    assert_int_equal(records(), before + 1);
}

static void a_claim_takes_some_more_than_it_needs(void **state) {
    (void)state;
    make_busy(0);
    uint64_t share = share_of(0), rest = claimable();
    uint64_t number = atomic_load(&fixture_stream(streams[0])->sequence);
    assert_false(sp_unfenced_count(lane_of(0), number, share, false));
    assert_int_equal(share_of(0), share);
    assert_false(sp_unfenced_count(lane_of(0), number, 1, false));
    assert_int_equal(share_of(0), share + 1 + (rest - 1) / 8);
    assert_int_equal(claimable(), rest - (share_of(0) - share));
}

static void a_stream_that_is_alone_has_all_and_claims_nothing(void **state) {
    (void)state;
    poolMemPool_t own = fixture_pool();
    fixture_set(own, poolMemPoolAttrUnfencedBytesMax, MIB(2));
    struct sp_lane *lane = fixture_lane(own, streams[0]);
    assert_int_equal(atomic_load(&lane->unfenced_most), MIB(2));
    assert_false(sp_share_may_claim(lane));
    fixture_lane(own, streams[1]);
    assert_true(sp_share_may_claim(lane));
    lane->records_each_free = true; // an anonymous stream
    assert_false(sp_share_may_claim(lane));
    lane->records_each_free = false;
    fixture_set(own, poolMemPoolAttrUnfencedBytesMax, 0);
    assert_false(sp_share_may_claim(lane));
}

// -------------------------------------------------------------------------------------- the others

static void an_idle_stream_may_hold_back_its_part_all_the_same(void **state) {
    (void)state;
    make_busy(0);
    for (int i = 1; i < LANES; i++)
        assert_int_equal(free_many(1, MIB(1), i), 0);
    for (int i = 1; i < LANES; i++)
        assert_int_equal(share_of(i), MIB(1));
}

static void what_idle_streams_hold_back_can_not_be_claimed(void **state) {
    (void)state;
    for (int i = 1; i < LANES; i++)
        assert_int_equal(free_many(1, KIB(768), i), 0);
    make_busy(0);
    make_busy(0); // the others were busy at the first review
    assert_true(claimable() + share_of(0) <= MIB(LANES) - (LANES - 1) * KIB(768));
    assert_true(claimable() > 0);
}

static void what_is_known_complete_is_held_back_from_nobody(void **state) {
    (void)state;
    for (int i = 1; i < LANES; i++)
        assert_int_equal(free_many(1, MIB(1), i), 0);
    make_busy(0);
    assert_int_equal(claimable(), 0);
    for (int i = 1; i < LANES; i++)
        fixture_synchronize(streams[i]);
    make_busy(0);
    assert_true(claimable() > MIB(LANES) - MIB(3));
}

static void nothing_can_be_claimed_beside_streams_that_all_free(void **state) {
    (void)state;
    for (int round = 0; round < 4 * IN_VAIN; round++) {
        for (int i = 0; i < LANES; i++)
            pair(KIB(1536), i);
    }
    for (int i = 0; i < LANES; i++)
        assert_int_equal(share_of(i), MIB(1));
    assert_int_equal(claimable(), 0);
}

// They bring a review each, but fewer and fewer.
static void reviews_that_bring_nothing_become_rare(void **state) {
    (void)state;
    uint64_t least = IN_VAIN;
    assert_int_equal(review_after(), least);
    for (int round = 0; round < 4 * IN_VAIN_MOST; round++) {
        pair(KIB(1536), round % 2);
        pair(KIB(1536), 2 + round % (LANES - 2));
        assert_true(review_after() == least || review_after() == 2 * least);
        least = review_after();
    }
    assert_int_equal(review_after(), IN_VAIN_MOST);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(LANES));
    assert_int_equal(review_after(), IN_VAIN);
}

static void a_claim_looks_at_64_lanes_of_many_at_most(void **state) {
    (void)state;
    enum { MANY = 200, LOOKS = (MANY + 63) / 64 };
    for (int i = LANES; i < MANY; i++)
        fixture_lane(pool, simulated_stream());
    uint64_t events = 0;
    for (int i = 0; i < EARLY + 2 * IN_VAIN; i++)
        events += pair(KIB(100), 0);
    assert_int_equal(events, EARLY + IN_VAIN - 1 + LOOKS - 1);
}

// Both claim all the while; what one of them brings is for the other one, too.
static void a_review_has_all_count_their_claims_anew(void **state) {
    (void)state;
    for (int i = 0; i < EARLY + IN_VAIN - 4; i++)
        pair(KIB(1536), 1);
    for (int i = 0; i < EARLY + IN_VAIN; i++)
        pair(KIB(1536), 2);
    assert_int_equal(reviews(), 1);
    atomic_store(&fixture_inside(pool)->shares.claimable, 0);
    for (int i = 0; i < 2 * IN_VAIN - 1; i++)
        pair(KIB(1536), 1);
    assert_int_equal(reviews(), 1);
    pair(KIB(1536), 1);
    assert_int_equal(reviews(), 2);
}

// Four given-up pools that wait are a reason for new lanes to record each free, and a promise that
// ends is one to open no lane.
static void a_review_closes_and_opens_no_lane(void **state) {
    (void)state;
    struct sp_device *device = fixture_inside(pool)->device;
    atomic_store(&lane_of(1)->unfenced_most, UINT64_MAX);
    atomic_store(&lane_of(2)->unfenced_most, 0);
    uint32_t given_up = atomic_load(&device->given_up);
    atomic_store(&device->given_up, 4);
    make_busy(0);
    atomic_store(&device->given_up, given_up);
    assert_true(claimable() > MIB(2));
    assert_true(share_of(1) == UINT64_MAX);
    assert_int_equal(share_of(2), 0);
    assert_int_equal(share_of(3), MIB(1));
}

static void a_review_leaves_each_the_part_that_was_dealt(void **state) {
    (void)state;
    fixture_lane(pool, simulated_stream()); // by less than an eighth
    make_busy(0);
    for (int i = 1; i < LANES; i++)
        assert_int_equal(share_of(i), MIB(1));
}

// ------------------------------------------------------------------------------------ dealing anew

static void a_stream_that_has_claimed_has_its_part_when_less_is_allowed(void **state) {
    (void)state;
    make_busy(0);
    assert_int_equal(free_many(12, KIB(128), 0), 0);
    assert_true(share_of(0) > MIB(1));
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, MIB(LANES) - 1);
    assert_true(share_of(0) < MIB(1));
    assert_int_equal(claimable(), 0);
    assert_int_equal(free_many(1, KIB(128), 0), 1);
}

// --------------------------------------------------------------------------------------- at random

static uint64_t held_back(void) {
    uint64_t sum = 0;
    for (int i = 0; i < LANES; i++)
        sum += sp_share_used(lane_of(i));
    return sum;
}

// Each holds back its part, and together they have claimed no more than what is allowed.
static void streams_hold_back_at_most_twice_what_is_allowed(void **state) {
    (void)state;
    enum { BLOCKS = 64, STEPS = 60000 };
    static void *blocks[LANES][BLOCKS];
    uint64_t most = 0;
    unsigned seed = 7;
    for (int step = 0; step < STEPS; step++) {
        seed = seed * 1103515245 + 12345;
        int busy = 1 + step / 3000 % LANES; // so many streams free for a while
        int i = (int)(seed >> 16) % busy, k = (int)(seed >> 8) % BLOCKS;
        size_t size = seed & 64 ? KIB(4) : KIB(16) << (seed >> 20) % 6;
        if (blocks[i][k])
            fixture_free(blocks[i][k], streams[i]);
        blocks[i][k] = step < STEPS - 4000 ? fixture_malloc(pool, size, streams[i]) : NULL;
        most = held_back() > most ? held_back() : most;
        assert_true(held_back() <= 2 * MIB(LANES));
    }
    assert_true(most > MIB(2));
    for (int i = 0; i < LANES; i++) {
        for (int k = 0; k < BLOCKS; k++) {
            if (blocks[i][k])
                fixture_free(blocks[i][k], streams[i]);
        }
    }
    fixture_check(pool);
}

#define share_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        share_test(a_stream_that_frees_more_than_its_part_records_no_more_beside_idle_ones),
        share_test(the_blocks_of_many_slabs_are_freed_without_an_event_beside_idle_streams),
        share_test(the_first_claims_of_a_stream_get_nothing),
        share_test(a_stream_claims_no_more_than_2_mib_for_large_blocks),
        share_test(so_do_those_of_each_stream_that_comes_and_goes),
        share_test(of_what_small_blocks_have_claimed_large_ones_have_2_mib),
        share_test(a_claim_takes_some_more_than_it_needs),
        share_test(a_stream_that_is_alone_has_all_and_claims_nothing),
        share_test(an_idle_stream_may_hold_back_its_part_all_the_same),
        share_test(what_idle_streams_hold_back_can_not_be_claimed),
        share_test(what_is_known_complete_is_held_back_from_nobody),
        share_test(nothing_can_be_claimed_beside_streams_that_all_free),
        share_test(reviews_that_bring_nothing_become_rare),
        share_test(a_claim_looks_at_64_lanes_of_many_at_most),
        share_test(a_review_has_all_count_their_claims_anew),
        share_test(a_review_closes_and_opens_no_lane),
        share_test(a_review_leaves_each_the_part_that_was_dealt),
        share_test(a_stream_that_has_claimed_has_its_part_when_less_is_allowed),
        share_test(streams_hold_back_at_most_twice_what_is_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
