// What a pool's observer is told of a growth: every cause for which memory is free and not used,
// and what a remap was refused for. Pools consist of extents of one size.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "region/owner.h"
#include "supply/remap.h"
#include "tell/shortage.h"
#include "unit/fixture/scattered.h"

static struct poolMemPoolGrowth told; // the last growth
static unsigned growths;              // that were told
static void *given;                   // to the observer, the last time

static void note(const struct poolMemPoolGrowth *growth, void *user) {
    assert_int_equal(growth->structSize, sizeof told);
    told = *growth;
    given = user;
    growths++;
}

static void observe(poolMemPool_t observed, poolMemPoolGrowthObserver observer, void *user) {
    assert_int_equal(poolMemPoolSetGrowthObserver(observed, observer, user), poolSuccess);
}

// The pool may grow without a limit, and is told what it needs by what is in use from now on.
static void watch(void) {
    growths = 0;
    fixture_set(pool, poolMemPoolAttrUsedMemHigh, 0);
    observe(pool, note, NULL);
}

static int setup_unlimited(void **state) {
    int failed = setup(state);
    pool = fixture_pool();
    return failed;
}

static int setup_plain(void **state) {
    (void)state;
    int failed = fixture_begin("vmm=missing");
    pool = fixture_pool();
    a = simulated_stream();
    return failed;
}

#define EXPLAIN(function)                                                                          \
    cmocka_unit_test_setup_teardown(function, setup_unlimited, fixture_teardown)

static uint64_t free_of(const struct poolMemPoolGrowth *growth) {
    return growth->freeWhole + growth->freePinned + growth->freeBesidePending +
           growth->pendingWhole + growth->pendingPinned + growth->unfencedWhole +
           growth->unfencedPinned + growth->listedFree + growth->listedPending + growth->otherKinds;
}

static uint64_t id_of(CUstream stream) {
    unsigned long long id = 0;
    assert_int_equal(sp_driver->cuStreamGetId(stream, &id), CUDA_SUCCESS);
    return id;
}

// One growth was told, whose sum is right.
static void told_once(void) {
    assert_int_equal(growths, 1);
    assert_ptr_equal(told.pool, pool);
    assert_int_equal(told.reservedBefore, told.used + free_of(&told) + told.slack);
    assert_int_equal(fixture_reserved(pool), told.reservedBefore + told.mapped);
    fixture_check(pool);
}

// --------------------------------------------------------------------------------------- by causes

static void a_growth_of_an_empty_pool_is_told_with_what_was_wanted(void **state) {
    (void)state;
    int mine;
    watch();
    observe(pool, note, &mine);
    fixture_malloc(pool, MIB(20), a);
    told_once();
    assert_ptr_equal(given, &mine);
    assert_ptr_equal(told.stream, a);
    assert_int_equal(told.kind, poolGrowthLarge);
    assert_int_equal(told.remap, poolGrowthRemapFilling);
    assert_int_equal(told.wanted, MIB(20));
    assert_int_equal(told.mapped, MIB(20));
    assert_int_equal(told.extents, 1);
    assert_int_equal(told.reservedBefore, 0);
    assert_int_equal(told.cause, poolGrowthCauseNeed);
    char name[STREAMPOOL_NAME_BYTES];
    assert_int_equal(poolMemPoolGetName(pool, name, sizeof name), poolSuccess);
    assert_string_equal(told.poolName, name);
    assert_int_equal(told.used + free_of(&told) + told.fromFree + told.largestPiece, 0);
    assert_int_equal(told.askedDriver, 1);
    assert_int_equal(told.mayWait, 1);
    assert_int_equal(told.cutShort, 0);
    assert_int_equal(told.afterTrim, 0);
}

// One half of each extent is free.
static void what_is_free_beside_blocks_in_use_is_pinned(void **state) {
    (void)state;
    fill_with(HALF);
    for (size_t i = 1; i < HALVES; i += 2)
        drop(i, a);
    watch();
    fixture_malloc(pool, 4 * EXTENT, a);
    told_once();
    assert_int_equal(told.freePinned, POOL / 2);
    assert_int_equal(told.pinningBlocks, EXTENTS);
    assert_int_equal(told.pinningBytes, POOL / 2);
    assert_int_equal(told.largestPinning, HALF);
    assert_int_equal(told.freeWhole, 0);
    assert_int_equal(told.used, POOL / 2);
    assert_int_equal(told.largestPiece, HALF);
    assert_int_equal(told.remap, poolGrowthRemapSavesLittle);
    assert_int_equal(told.remapMissing, 4 * EXTENT - HALF); // a tail begins the view
    assert_int_equal(told.fromFree, HALF);                  // the last one, before the new memory
    assert_int_equal(told.mapped, 4 * EXTENT - HALF);
}

static void whole_extents_that_a_remap_uses_are_told_with_the_new_memory(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    watch();
    fixture_malloc(pool, 10 * EXTENT, a);
    told_once();
    assert_int_equal(told.freeWhole, POOL / 2);
    assert_int_equal(told.freePinned, 0);
    assert_int_equal(told.remap, poolGrowthRemapUsed);
    assert_int_equal(told.wanted, 10 * EXTENT);
    assert_int_equal(told.fromFree, POOL / 2);
    assert_int_equal(told.mapped, 2 * EXTENT);
    assert_int_equal(told.largestPiece, EXTENT);
}

static void what_another_stream_s_work_may_use_is_pending(void **state) {
    (void)state;
    fill_with(EXTENT);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    simulated_work(a);
    drop_every_other(a);
    watch();
    fixture_malloc(pool, 8 * EXTENT, b);
    told_once();
    assert_ptr_equal(told.stream, b);
    assert_int_equal(told.pendingWhole, POOL / 2);
    assert_int_equal(free_of(&told), POOL / 2);
    assert_ptr_equal(told.pendingStream, a);
    assert_int_equal(told.pendingStreamId, id_of(a));
    assert_int_equal(told.streamId, id_of(b));
    assert_int_equal(told.pendingStreamBytes, POOL / 2);
    assert_int_equal(told.cause, poolGrowthCausePending);
    assert_null(told.unfencedStream);
    assert_int_equal(told.remap, poolGrowthRemapNoPieces);
}

static void pending_memory_beside_blocks_in_use_is_told_apart(void **state) {
    (void)state;
    fill_with(HALF);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    simulated_work(a);
    for (size_t i = 1; i < 16; i += 2)
        drop(i, a);
    drop(16, a);
    drop(17, a);
    watch();
    fixture_malloc(pool, 8 * EXTENT, b);
    told_once();
    assert_int_equal(told.pendingPinned, 8 * HALF);
    assert_int_equal(told.pendingWhole, EXTENT);
}

static void what_has_no_event_behind_its_free_is_unfenced(void **state) {
    (void)state;
    fill_with(HALF);
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0); // a question would record one
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, GIB(1));
    simulated_work(a);
    drop(0, a);
    drop(1, a);
    drop(3, a);
    watch();
    fixture_malloc(pool, 8 * EXTENT, b);
    told_once();
    assert_int_equal(told.unfencedWhole, EXTENT);
    assert_int_equal(told.unfencedPinned, HALF);
    assert_int_equal(free_of(&told), EXTENT + HALF);
    assert_ptr_equal(told.unfencedStream, a);
    assert_int_equal(told.unfencedStreamBytes, EXTENT + HALF);
    assert_int_equal(told.askedDriver, 0);
}

// Where each free records an event, nothing is told to have none, also right after the frees.
static void what_has_got_its_event_meanwhile_is_pending(void **state) {
    (void)state;
    CUevent freed;
    void *taken[2];
    assert_int_equal(sp_driver->cuEventCreate(&freed, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    void *first = fixture_malloc(pool, MIB(20), a);
    simulated_work(a);
    fixture_free(first, a);
    assert_int_equal(poolEventRecord(freed, a), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(b, freed, 0), poolSuccess);
    for (int i = 0; i < 2; i++)
        taken[i] = fixture_malloc(pool, MIB(10), b);
    simulated_work(b);
    simulated_finish(a);
    for (int i = 0; i < 2; i++)
        fixture_free(taken[i], b);
    watch();
    fixture_malloc(pool, MIB(28), a);
    told_once();
    assert_int_equal(told.unfencedWhole + told.unfencedPinned, 0);
    assert_int_equal(told.pendingWhole, MIB(20));
    assert_ptr_equal(told.pendingStream, b);
    assert_int_equal(poolEventDestroy(freed), poolSuccess);
}

// In each extent one half is the stream's own, and the other stream's work may use the other.
static void what_lies_beside_pending_memory_is_neither_whole_nor_pinned(void **state) {
    (void)state;
    fill_with(HALF);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    simulated_work(a);
    simulated_work(b);
    for (size_t i = 0; i < 16; i++)
        drop(i, i % 2 == 0 ? a : b);
    watch();
    fixture_malloc(pool, 6 * EXTENT, a);
    told_once();
    assert_int_equal(told.freeBesidePending, 8 * HALF);
    assert_int_equal(told.pendingWhole, 8 * HALF);
    assert_int_equal(free_of(&told), 16 * HALF);
}

static void what_has_completed_is_within_reach(void **state) {
    (void)state;
    fill_with(EXTENT);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    simulated_work(a);
    drop_every_other(a);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentNever);
    simulated_finish(a);
    watch();
    fixture_malloc(pool, 8 * EXTENT, b);
    told_once();
    assert_int_equal(told.freeWhole, POOL / 2);
    assert_int_equal(free_of(&told), POOL / 2);
}

// A block stays in its tier until a miss settles it.
static void what_is_known_to_be_complete_is_ready_before_it_is_settled(void **state) {
    (void)state;
    struct sp_request request;
    fill_with(EXTENT);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, 0);
    simulated_work(a);
    uint64_t address = (uintptr_t)blocks[4];
    const struct sp_chain *chain = sp_owner_block(sp_owner_of(address))->chain;
    drop(4, a);
    collect();
    sp_request_open(&request, fixture_inside(pool), fixture_lane(pool, b), SP_REGION_LARGE, EXTENT,
                    0);
    const struct sp_block *block = sp_chain_find(chain, address);
    assert_int_equal(sp_request_part(&request, block), SP_PENDING);
    simulated_finish(a);
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    assert_ptr_equal(block->tier, &fixture_lane(pool, a)->tiers[SP_REGION_LARGE]->fenced);
    assert_int_equal(sp_request_part(&request, block), SP_READY);
    sp_request_close(&request);
}

// A request looks at few of very many lanes before it grows.
static void what_lies_in_the_lists_of_many_streams_is_told(void **state) {
    (void)state;
    enum { STREAMS = SP_LANES_AT_ONCE + 16 };
    CUstream streams[STREAMS];
    void *freed[STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        streams[i] = simulated_stream();
        freed[i] = fixture_malloc(pool, MIB(8), streams[i]);
    }
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, GIB(1));
    fixture_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    simulated_work(streams[0]);
    for (int i = 0; i < STREAMS; i++)
        fixture_free(freed[i], streams[i]);
    for (int i = 1; i < STREAMS; i++)
        fixture_synchronize(streams[i]);
    watch();
    fixture_malloc(pool, GIB(1), a);
    told_once();
    assert_true(told.listedFree > 0);
    assert_int_equal(told.listedFree % MIB(8), 0);
    assert_int_equal(told.cutShort, 1);
    assert_int_equal(free_of(&told), STREAMS * MIB(8));
    assert_int_equal(told.listedPending + told.unfencedWhole, MIB(8)); // the first stream's
}

static void pages_are_told_apart_from_large_memory(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    watch();
    fixture_malloc(pool, KIB(1), a);
    told_once();
    assert_int_equal(told.kind, poolGrowthPages);
    assert_int_equal(told.remap, poolGrowthRemapWrongKind);
    assert_int_equal(told.otherKinds, POOL / 2);
    assert_int_equal(free_of(&told), POOL / 2);
}

static void free_pages_are_another_kind_to_a_large_block(void **state) {
    (void)state;
    uint64_t pages;
    fixture_malloc(pool, KIB(1), a);
    pages = fixture_reserved(pool);
    watch();
    fixture_malloc(pool, MIB(20), a);
    told_once();
    assert_int_equal(told.used, KIB(1));
    assert_true(told.otherKinds > 0);
    assert_int_equal(told.otherKinds + told.slack + told.used, pages);
    assert_true(told.slack >= KIB(63)); // the rest of the slab
}

static void a_fixed_block_is_told_as_one(void **state) {
    (void)state;
    void *pointer;
    watch();
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(4), pool, a, poolMallocFixed),
                     poolSuccess);
    told_once();
    assert_int_equal(told.kind, poolGrowthFixed);
    assert_int_equal(told.remap, poolGrowthRemapWrongKind);
}

// What lies in a stitched view is in use there, and lent at home.
static void stitched_memory_in_a_quick_list_is_told_as_listed(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    void *joined = fixture_malloc(pool, 8 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(joined));
    fixture_free(joined, a);
    watch();
    fixture_malloc(pool, KIB(1), b); // collects from no lane that has large blocks alone
    told_once();
    assert_int_equal(told.otherKinds + told.listedFree, POOL / 2);
}

// -------------------------------------------------------------------------------- refused remaps

static void a_remap_that_would_take_too_long_is_told_with_its_extents(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_set(pool, poolMemPoolAttrRemapTimeMax, 7 * SP_REMAP_TIME_EACH);
    watch();
    fixture_malloc(pool, 8 * EXTENT, a);
    told_once();
    assert_int_equal(told.remap, poolGrowthRemapTooLong);
    assert_int_equal(told.remapExtents, 8);
    assert_int_equal(told.freeWhole, POOL / 2);
}

static void a_remap_that_the_attribute_forbids_is_told(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_set_flag(pool, poolMemPoolAttrDefragmentation, poolDefragmentUnderPressure);
    watch();
    fixture_malloc(pool, 8 * EXTENT, a);
    told_once();
    assert_int_equal(told.remap, poolGrowthRemapForbidden);
}

static void a_pool_that_is_filling_grows_first(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop(0, a);
    watch();
    fixture_malloc(pool, 2 * EXTENT, a);
    told_once();
    assert_int_equal(told.remap, poolGrowthRemapFilling);
    assert_int_equal(told.freeWhole, EXTENT);
}

static void a_remap_that_the_driver_has_no_memory_for_is_told_to_have_failed(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    watch();
    simcudaFailCall("cuMemMap", 1, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    fixture_malloc(pool, 8 * EXTENT, a);
    told_once();
    assert_int_equal(told.remap, poolGrowthRemapFailed);
}

static void flags_that_forbid_waits_and_questions_are_told(void **state) {
    (void)state;
    void *pointer;
    watch();
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(8), pool, a, poolMallocNoInsertedWaits),
                     poolSuccess);
    told_once();
    assert_int_equal(told.mayWait, 0);
    assert_int_equal(told.askedDriver, 1);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(8), pool, a, poolMallocSameStreamOnly),
                     poolSuccess);
    assert_int_equal(told.askedDriver, 0);
}

// ------------------------------------------------------------------------- which growths are told

static void a_growth_that_raises_nothing_is_not_told(void **state) {
    (void)state;
    fixture_free(fixture_malloc(pool, MIB(40), a), a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    watch();
    fixture_malloc(pool, MIB(20), a);
    assert_int_equal(growths, 0);
    fixture_malloc(pool, MIB(20), a); // as much as there was before
    assert_int_equal(growths, 0);
    fixture_malloc(pool, MIB(20), a);
    told_once();
    assert_int_equal(told.reservedBefore, MIB(40));
}

static void a_peak_that_is_reset_begins_anew(void **state) {
    (void)state;
    fixture_free(fixture_malloc(pool, MIB(40), a), a);
    fixture_synchronize(a);
    fixture_trim(pool, 0);
    fixture_set(pool, poolMemPoolAttrReservedMemHigh, 0);
    watch();
    fixture_malloc(pool, MIB(20), a);
    told_once();
}

static void memory_that_is_primed_is_not_told(void **state) {
    (void)state;
    watch();
    assert_int_equal(poolMemPoolPrime(pool, MIB(40)), poolSuccess);
    assert_int_equal(growths, 0);
}

static void an_allocation_that_fails_is_not_told(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(POOL);
    watch();
    fixture_malloc(pool, MIB(40), a);
    refuse(MIB(40), a, 0);
    assert_int_equal(growths, 1);
}

// The limit lets the pool grow once it has given back what is free.
static void a_growth_after_a_trim_says_so(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(POOL);
    fixture_malloc(pool, MIB(40), a);
    fixture_free(fixture_malloc(pool, MIB(20), a), a);
    fixture_synchronize(a);
    watch();
    void *pointer;
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(24), pool, a, poolMallocFixed),
                     poolSuccess);
    told_once();
    assert_int_equal(told.afterTrim, 1);
}

static void on_a_plain_device_growths_are_told_too(void **state) {
    (void)state;
    fixture_free(fixture_malloc(pool, MIB(40), a), a);
    watch();
    fixture_malloc(pool, MIB(44), a);
    told_once();
    assert_int_equal(told.extents, 1);
    assert_int_equal(told.remap, poolGrowthRemapForbidden);
}

// ------------------------------------------------------------------------------------ the observer

static void an_observer_that_is_taken_away_or_replaced_is_not_called(void **state) {
    (void)state;
    int second;
    watch();
    fixture_malloc(pool, MIB(8), a);
    observe(pool, note, &second);
    fixture_malloc(pool, MIB(8), a);
    assert_ptr_equal(given, &second);
    observe(pool, NULL, &second);
    fixture_malloc(pool, MIB(8), a);
    assert_int_equal(growths, 2);
    assert_false(sp_load_relaxed(&fixture_inside(pool)->watch.is_on));
}

static void an_observer_of_one_pool_is_told_nothing_of_another(void **state) {
    (void)state;
    watch();
    fixture_malloc(fixture_pool(), MIB(8), a);
    assert_int_equal(growths, 0);
}

// A struct is used again for a later pool.
static void a_new_pool_has_no_observer(void **state) {
    (void)state;
    watch();
    struct sp_pool *inside = fixture_inside(pool);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    pool = fixture_pool();
    assert_ptr_equal(fixture_inside(pool), inside);
    fixture_malloc(pool, MIB(8), a);
    assert_int_equal(growths, 0);
}

static poolError_t of_other;
static void call_the_library(const struct poolMemPoolGrowth *growth, void *user) {
    (void)user;
    growths++;
    void *pointer = fixture_malloc(growth->pool, MIB(64), a); // grows
    fixture_free(pointer, a);
    fixture_check(growth->pool);
    of_other = poolMemPoolSetGrowthObserver(*(poolMemPool_t *)user, note, NULL);
    observe(growth->pool, note, NULL);
}

static void an_observer_may_call_the_library_and_is_not_told_of_that(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    watch();
    observe(pool, call_the_library, &other);
    fixture_malloc(pool, MIB(8), a);
    assert_int_equal(growths, 1);
    assert_int_equal(of_other, poolErrorNotPermitted);
    assert_non_null(strstr(poolGetLastErrorDetail(), "another pool"));
    fixture_malloc(other, MIB(8), a);
    assert_int_equal(growths, 1);
    fixture_malloc(pool, MIB(100), a); // it has set another one for its own pool
    assert_int_equal(growths, 2);
    assert_int_equal(told.wanted, MIB(100));
    observe(other, note, NULL); // behind the observer nothing forbids it
}

static _Atomic int inside, ended;
static void take_long(const struct poolMemPoolGrowth *growth, void *user) {
    (void)growth, (void)user;
    atomic_store(&inside, 1);
    for (int i = 0; i < 2000; i++)
        sched_yield();
    atomic_store(&ended, 1);
}

static void *grow_in_thread(void *stream) {
    void *pointer = NULL;
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    return poolMallocFromPoolAsync(&pointer, MIB(8), pool, stream) == poolSuccess ? pointer : NULL;
}

static void an_observer_that_runs_in_another_thread_is_waited_for(void **state) {
    (void)state;
    pthread_t thread;
    void *pointer;
    observe(pool, take_long, NULL);
    assert_int_equal(pthread_create(&thread, NULL, grow_in_thread, a), 0);
    while (!atomic_load(&inside))
        sched_yield();
    observe(pool, NULL, NULL);
    assert_true(atomic_load(&ended));
    pthread_join(thread, &pointer);
    assert_non_null(pointer);
}

// The same program, watched and not.
static void play(poolMemPool_t played, void *pointers[8]) {
    for (int i = 0; i < 8; i++)
        pointers[i] = fixture_malloc(played, MIB(5) + (size_t)i * KIB(100), i % 2 ? a : b);
    for (int i = 0; i < 8; i += 3)
        fixture_free(pointers[i], a);
    pointers[0] = fixture_malloc(played, MIB(30), b);
    pointers[3] = fixture_malloc(played, MIB(11), a);
    pointers[6] = fixture_malloc(played, MIB(5), a);
}

static void a_pool_that_is_watched_serves_what_it_would_have_served(void **state) {
    (void)state;
    static const enum poolMemPoolAttr figures[] = {poolMemPoolAttrReservedMemCurrent,
                                                   poolMemPoolStatGrowths,
                                                   poolMemPoolStatRemaps,
                                                   poolMemPoolStatReuseSameStream,
                                                   poolMemPoolStatPendingBytes,
                                                   poolMemPoolStatEventsRecorded};
    void *pointers[8];
    uint64_t expected[sizeof figures / sizeof figures[0]];
    for (int watched = 0; watched < 2; watched++) {
        pool = fixture_pool();
        growths = 0;
        if (watched)
            observe(pool, note, NULL);
        play(pool, pointers);
        for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
            uint64_t value = fixture_attribute(pool, figures[i]);
            assert_true(!watched || value == expected[i]);
            expected[i] = value;
        }
    }
    assert_true(growths > 3);
}

static void arguments_that_make_no_sense_are_refused(void **state) {
    (void)state;
    assert_int_equal(poolMemPoolSetGrowthObserver(NULL, note, NULL), poolErrorInvalidValue);
    assert_int_equal(poolMemPoolSetGrowthObserver((poolMemPool_t)&told, note, NULL),
                     poolErrorInvalidValue);
    assert_int_equal(poolMemPoolPrintGrowth(NULL, stdout), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "growth is null");
    assert_int_equal(poolMemPoolPrintGrowth(&told, NULL), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "out is null");
}

// ---------------------------------------------------------------------------------------- in words

static void says(const struct poolMemPoolGrowth *growth, const char *expected) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    assert_int_equal(poolMemPoolPrintGrowth(growth, out), poolSuccess);
    fclose(out);
    if (!strstr(text, expected))
        fail_msg("'%s' isn't in: %s", expected, text);
    assert_int_equal(text[length - 1], '\n');
    assert_ptr_equal(strchr(text, '\n'), text + length - 1);
    free(text);
}

static const struct poolMemPoolGrowth example = {
    .structSize = sizeof example,
    .pool = (poolMemPool_t)0x10,
    .poolName = "cache",
    .stream = (CUstream)0x20,
    .wanted = MIB(40),
    .fromFree = MIB(10),
    .mapped = MIB(30),
    .extents = 3,
    .reservedBefore = MIB(100),
    .used = MIB(50),
    .freeWhole = MIB(1),
    .freePinned = MIB(12),
    .freeBesidePending = MIB(3),
    .pendingWhole = MIB(4),
    .pendingPinned = MIB(5),
    .unfencedWhole = MIB(6),
    .unfencedPinned = MIB(7),
    .listedFree = MIB(8),
    .listedPending = MIB(9),
    .otherKinds = MIB(3) / 2,
    .slack = KIB(256),
    .largestPiece = MIB(2),
    .pendingStream = (CUstream)0x30,
    .pendingStreamId = 7,
    .pendingStreamBytes = MIB(3),
    .unfencedStreamBytes = MIB(2),
    .askedDriver = 1,
    .mayWait = 1,
};

static void a_growth_is_one_line_that_begins_with_the_cause(void **state) {
    (void)state;
    says(&example,
         "cache grew by 30.0 MiB in 3 extents to 130.0: 18.0 MiB more are free, but on other "
         "streams and "
         "not yet complete (3.0 of stream 7 (0x30)); 13.0 on other streams with no event behind it "
         "yet (2.0 of a stream that is gone); 3.0 beside memory that is not yet complete; 3.0 "
         "beside blocks in use; 8.0 listed for blocks of the same size; 1.5 kept for blocks of "
         "another kind; largest piece 2.0; for a block of 40.0 with 10.0 of free memory on stream "
         "0x20; in use 50.0; slack 0.2; remapped beside new memory\n");
}

static void what_is_0_is_left_out(void **state) {
    (void)state;
    const struct poolMemPoolGrowth growth = {.structSize = sizeof growth,
                                             .stream = (CUstream)0x2,
                                             .kind = poolGrowthPages,
                                             .remap = poolGrowthRemapWrongKind,
                                             .wanted = KIB(64),
                                             .mapped = MIB(2),
                                             .extents = 1,
                                             .otherKinds = 100};
    says(&growth,
         "a pool grew by 2.0 MiB in 1 extent to 2.0: too little is free; for pages of 0.1 "
         "on a per-thread default stream; not remapped: never of this kind; driver not "
         "asked; no waits allowed\n");
}

// Each in its turn has most of what is free, or there is too little.
static void the_cause_that_has_most_leads(void **state) {
    (void)state;
    static const struct {
        size_t field;
        const char *words;
    } rows[] = {
#define ROW(field, words) {offsetof(struct poolMemPoolGrowth, field), words}
        ROW(pendingWhole, ": 90.0 MiB are free, but on other streams and not yet complete;"),
        ROW(listedPending, ": 90.0 MiB are free, but on other streams and not yet complete;"),
        ROW(unfencedPinned, ": 90.0 MiB are free, but on other streams with no event behind it"),
        ROW(freeBesidePending, ": 90.0 MiB are free, but beside memory that is not yet complete;"),
        ROW(freePinned, ": 90.0 MiB are free, but beside blocks in use;"),
        ROW(freeWhole, ": 90.0 MiB are free, but in pieces;"),
        ROW(listedFree, ": 90.0 MiB are free, but listed for blocks of the same size;"),
        ROW(otherKinds, ": 90.0 MiB are free, but kept for blocks of another kind;"),
#undef ROW
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct poolMemPoolGrowth growth = {
            .structSize = sizeof growth, .wanted = MIB(91), .mapped = MIB(91)};
        growth.freeWhole = growth.freePinned = growth.otherKinds = MIB(1) / 2;
        const uint64_t most = MIB(90);
        memcpy((char *)&growth + rows[i].field, &most, sizeof most);
        says(&growth, rows[i].words);
        growth.wanted = MIB(92);
        says(&growth, " to 91.0: too little is free; ");
        growth.fromFree = MIB(1) / 2;
        growth.wanted = MIB(91) + growth.fromFree; // which the block has
        bool is_whole = rows[i].field == offsetof(struct poolMemPoolGrowth, freeWhole);
        says(&growth, is_whole ? ": too little is free; 0.5 beside" : "");
    }
}

static void each_reason_has_its_words(void **state) {
    (void)state;
    static const char *const reasons[] = {
        [poolGrowthRemapUsed] = "; remapped beside new memory\n",
        [poolGrowthRemapWrongKind] = "; not remapped: never of this kind\n",
        [poolGrowthRemapForbidden] = "; not remapped: Defragmentation forbids it\n",
        [poolGrowthRemapFilling] = "; not remapped: the pool is filling\n",
        [poolGrowthRemapNoPieces] = "; not remapped: no pieces\n",
        [poolGrowthRemapSavesLittle] =
            "; not remapped: that saves too little, as 12.0 would be new\n",
        [poolGrowthRemapTooLong] = "; not remapped: 90 extents take longer than RemapTimeMax\n",
        [poolGrowthRemapFailed] = "; not remapped: no memory for it\n",
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        struct poolMemPoolGrowth growth = example;
        growth.remap = (enum poolGrowthRemap)i;
        growth.remapMissing = MIB(12);
        growth.remapExtents = 90;
        says(&growth, reasons[i]);
    }
    struct poolMemPoolGrowth growth = example;
    growth.askedDriver = growth.mayWait = 0;
    growth.cutShort = growth.afterTrim = 1;
    growth.extents = 1;
    growth.fromFree = 0;
    growth.kind = poolGrowthPages;
    says(&growth, "; driver not asked; no waits allowed; not all looked at; after a trim\n");
    growth.afterWaits = 1;
    says(&growth, "; driver not asked; no wait would do; not all looked at; after a trim\n");
    says(&growth, "in 1 extent to 130.0: 18.0 MiB are free, but on");
    says(&growth, "; for pages of 40.0 on stream");
    growth.kind = poolGrowthFixed;
    says(&growth, "; for a fixed block of 40.0 on stream");
}

// A program that was built with an earlier version has a shorter struct.
static void fields_that_a_struct_lacks_are_0(void **state) {
    (void)state;
    struct poolMemPoolGrowth growth = example;
    growth.structSize = offsetof(struct poolMemPoolGrowth, pendingWhole);
    says(&growth,
         "a pool grew by 30.0 MiB in 3 extents to 130.0: too little is free; 3.0 beside "
         "memory that is not yet complete; 3.0 beside blocks in use; for a block");
    growth.structSize = sizeof growth + 64;
    says(&growth,
         "cache grew by 30.0 MiB in 3 extents to 130.0: 18.0 MiB more are free, but on other");
}

static void the_blocks_that_pin_stand_behind_what_they_pin(void **state) {
    (void)state;
    struct poolMemPoolGrowth growth = example;
    growth.pinningBlocks = 34;
    growth.pinningBytes = MIB(544);
    growth.largestPinning = MIB(16);
    says(&growth,
         "; 3.0 beside blocks in use (34 of 544.0 in mostly free extents, the largest 16.0); 8.0 ");
    growth.freePinned = MIB(9000);
    growth.wanted = MIB(9000);
    says(
        &growth,
        ": 8991.0 MiB more are free, but beside blocks in use (34 of 544.0 in mostly free extents, "
        "the largest 16.0); 18.0 on other streams");
}

static void a_full_disk_is_told(void **state) {
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    assert_int_equal(poolMemPoolPrintGrowth(&example, full), poolErrorOperatingSystem);
    assert_non_null(strstr(poolGetLastErrorDetail(), "writing the growth: "));
    fclose(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        EXPLAIN(a_growth_of_an_empty_pool_is_told_with_what_was_wanted),
        EXPLAIN(what_is_free_beside_blocks_in_use_is_pinned),
        EXPLAIN(whole_extents_that_a_remap_uses_are_told_with_the_new_memory),
        EXPLAIN(what_another_stream_s_work_may_use_is_pending),
        EXPLAIN(pending_memory_beside_blocks_in_use_is_told_apart),
        EXPLAIN(what_has_no_event_behind_its_free_is_unfenced),
        EXPLAIN(what_has_got_its_event_meanwhile_is_pending),
        EXPLAIN(what_lies_beside_pending_memory_is_neither_whole_nor_pinned),
        EXPLAIN(what_has_completed_is_within_reach),
        EXPLAIN(what_is_known_to_be_complete_is_ready_before_it_is_settled),
        EXPLAIN(what_lies_in_the_lists_of_many_streams_is_told),
        EXPLAIN(pages_are_told_apart_from_large_memory),
        EXPLAIN(free_pages_are_another_kind_to_a_large_block),
        EXPLAIN(a_fixed_block_is_told_as_one),
        EXPLAIN(stitched_memory_in_a_quick_list_is_told_as_listed),
        EXPLAIN(a_remap_that_would_take_too_long_is_told_with_its_extents),
        EXPLAIN(a_remap_that_the_attribute_forbids_is_told),
        EXPLAIN(a_pool_that_is_filling_grows_first),
        EXPLAIN(a_remap_that_the_driver_has_no_memory_for_is_told_to_have_failed),
        EXPLAIN(flags_that_forbid_waits_and_questions_are_told),
        EXPLAIN(a_growth_that_raises_nothing_is_not_told),
        EXPLAIN(a_peak_that_is_reset_begins_anew),
        EXPLAIN(memory_that_is_primed_is_not_told),
        EXPLAIN(an_allocation_that_fails_is_not_told),
        EXPLAIN(a_growth_after_a_trim_says_so),
        cmocka_unit_test_setup_teardown(on_a_plain_device_growths_are_told_too, setup_plain,
                                        fixture_teardown),
        EXPLAIN(an_observer_that_is_taken_away_or_replaced_is_not_called),
        EXPLAIN(an_observer_of_one_pool_is_told_nothing_of_another),
        EXPLAIN(a_new_pool_has_no_observer),
        EXPLAIN(an_observer_may_call_the_library_and_is_not_told_of_that),
        EXPLAIN(an_observer_that_runs_in_another_thread_is_waited_for),
        EXPLAIN(a_pool_that_is_watched_serves_what_it_would_have_served),
        EXPLAIN(arguments_that_make_no_sense_are_refused),
        EXPLAIN(a_growth_is_one_line_that_begins_with_the_cause),
        cmocka_unit_test(what_is_0_is_left_out),
        cmocka_unit_test(the_cause_that_has_most_leads),
        EXPLAIN(each_reason_has_its_words),
        EXPLAIN(fields_that_a_struct_lacks_are_0),
        EXPLAIN(the_blocks_that_pin_stand_behind_what_they_pin),
        EXPLAIN(a_full_disk_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
