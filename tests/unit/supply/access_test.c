#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "unit/fixture/scattered.h"

#include "vmm/alias.h"

// Device 0 has the pool, devices 1 and 2 are its peers.

#define NONE poolMemAccessFlagsProtNone
#define READ poolMemAccessFlagsProtRead
#define ALL  poolMemAccessFlagsProtReadWrite

enum { PEERS = 2 };

static int setup_devices(const char *settings) {
    if (fixture_begin(settings) != 0)
        return -1;
    pool = fixture_pool_of_at_most(POOL);
    a = simulated_stream();
    b = simulated_stream();
    return 0;
}

static int setup_peers(void **state) {
    (void)state;
    return setup_devices("devices=3");
}

static struct poolMemAccessDesc to(int device, enum poolMemAccessFlags flags) {
    return (struct poolMemAccessDesc){{poolMemLocationTypeDevice, device}, flags};
}

static poolError_t set(int device, enum poolMemAccessFlags flags) {
    struct poolMemAccessDesc desc = to(device, flags);
    return poolMemPoolSetAccess(pool, &desc, 1);
}

static int told_of(poolMemPool_t of, int device) {
    const struct poolMemLocation location = {poolMemLocationTypeDevice, device};
    enum poolMemAccessFlags flags = (enum poolMemAccessFlags)77;
    assert_int_equal(poolMemPoolGetAccess(&flags, of, &location), poolSuccess);
    return (int)flags;
}

static int told(int device) {
    return told_of(pool, device);
}

// What the driver lets a device do at an address.
static int had_at(CUdeviceptr address, int device) {
    const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    unsigned long long flags = 77;
    assert_int_equal(sp_driver->cuMemGetAccess(&flags, &location, address), CUDA_SUCCESS);
    return (int)flags;
}

// Each mapping of the pool, and nothing else, has what the pool tells. Returns how many there are.
static size_t require_as_told(void) {
    size_t mappings = 0;
    struct sp_pool *inside = fixture_inside(pool);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH(segment, &inside->regions[kind].segments) {
            const struct sp_view *view = &SP_CONTAINER_OF(segment, struct sp_segment, link)->view;
            struct sp_extent *extent = sp_view_extent_from(view, 0);
            for (; extent; extent = sp_view_extent_next(extent)) {
                mappings++;
                for (int device = 0; device <= PEERS; device++)
                    assert_int_equal(had_at(extent->address, device), told(device));
                SP_LIST_FOR_EACH(link, &extent->aliases) {
                    mappings++;
                    for (int device = 0; device <= PEERS; device++)
                        assert_int_equal(
                            had_at(SP_CONTAINER_OF(link, struct sp_alias_entry, link)->address,
                                   device),
                            told(device));
                }
            }
        }
    }
    assert_int_equal(told(0), ALL);
    simcudaLive live;
    simcudaGetLive(&live);
    assert_int_equal(live.mappings, mappings);
    return mappings;
}

static void *joined; // in a stitched view

// A pool in pieces with a stitched view in which a block is live, and one that is kept.
static void make_views(void) {
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    joined = fixture_malloc(pool, 2 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(joined));
    fixture_free(fixture_malloc(pool, 3 * EXTENT, a), a);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatKeptViews), 2);
}

// ---------------------------------------------------------------------------------- what is let in

static void at_first_the_own_device_alone_has_access(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(4), a);
    fixture_malloc(pool, 100, a);
    for (int peer = 1; peer <= PEERS; peer++)
        assert_int_equal(told(peer), NONE);
    require_as_told();
}

static void a_peer_gets_at_what_there_is_and_what_comes(void **state) {
    (void)state;
    void *fixed = NULL;
    fixture_malloc(pool, 100, a);
    fixture_malloc(pool, MIB(4), a);
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, MIB(2), pool, a, poolMallocFixed),
                     poolSuccess);
    assert_int_equal(set(1, ALL), poolSuccess);
    assert_int_equal(told(1), ALL);
    assert_int_equal(told(2), NONE);
    size_t before = require_as_told();
    void *large = fixture_malloc(pool, MIB(20), a);
    assert_int_equal(poolMallocAsyncWithFlags(&fixed, MIB(4), pool, a, poolMallocFixed),
                     poolSuccess);
    assert_true(require_as_told() > before);
    assert_int_equal(had_at((uintptr_t)large, 1), ALL);
    assert_int_equal(set(2, READ), poolSuccess);
    assert_int_equal(set(1, NONE), poolSuccess);
    fixture_malloc(pool, MIB(8), a);
    require_as_told();
    assert_int_equal(had_at((uintptr_t)large, 1), NONE);
    assert_int_equal(had_at((uintptr_t)large, 2), READ);
    assert_int_equal(poolMemPoolPrime(pool, MIB(4)), poolSuccess);
    require_as_told();
}

static void stitched_views_that_there_are_are_let_in_too_and_shut_again(void **state) {
    (void)state;
    make_views();
    size_t mappings = require_as_told();
    assert_true(mappings > EXTENTS);
    assert_int_equal(set(1, ALL), poolSuccess);
    assert_int_equal(require_as_told(), mappings);
    assert_int_equal(had_at((uintptr_t)joined, 1), ALL);
    assert_int_equal(set(1, NONE), poolSuccess);
    assert_int_equal(require_as_told(), mappings);
    assert_int_equal(had_at((uintptr_t)joined, 1), NONE);
}

static void zombies_are_let_in_too(void **state) {
    (void)state;
    fill_with(EXTENT);
    drop_every_other(a);
    fixture_synchronize(a);
    joined = fixture_malloc(pool, 2 * EXTENT, a);
    assert_true(lies_in_a_stitched_view(joined));
    simulated_work(a);
    fixture_free(joined, a);
    collect();
    limit_kept(0, 0);
    assert_false(sp_list_empty(&fixture_inside(pool)->kept.zombies));
    assert_int_equal(set(1, ALL), poolSuccess);
    assert_true(require_as_told() > EXTENTS);
    simulated_finish(a);
}

static void views_that_are_stitched_later_are_let_in(void **state) {
    (void)state;
    assert_int_equal(set(1, READ), poolSuccess);
    make_views();
    assert_true(require_as_told() > EXTENTS);
    assert_int_equal(had_at((uintptr_t)joined, 1), READ);
}

// A trim that releases a part of an extent maps the rest anew.
static void what_a_trim_leaves_is_let_in(void **state) {
    (void)state;
    assert_int_equal(set(1, ALL), poolSuccess);
    assert_int_equal(set(2, READ), poolSuccess);
    fixture_free(fixture_malloc(pool, MIB(40), a), a);
    fixture_synchronize(a);
    fixture_trim(pool, MIB(14));
    assert_true(require_as_told() > 0);
    fixture_malloc(pool, MIB(30), a);
    require_as_told();
}

static void of_several_entries_for_one_device_the_last_counts(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(4), a);
    const struct poolMemAccessDesc list[] = {to(1, ALL), to(0, ALL), to(2, READ), to(1, READ),
                                             to(2, NONE)};
    assert_int_equal(poolMemPoolSetAccess(pool, list, 5), poolSuccess);
    assert_int_equal(told(1), READ);
    assert_int_equal(told(2), NONE);
    require_as_told();
}

static void a_pool_in_the_place_of_another_lets_nobody_in(void **state) {
    (void)state;
    struct sp_pool *inside = fixture_inside(pool);
    assert_int_equal(set(1, ALL), poolSuccess);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    pool = fixture_pool();
    assert_ptr_equal(fixture_inside(pool), inside);
    assert_int_equal(told(1), NONE);
    fixture_malloc(pool, MIB(4), a);
    require_as_told();
}

static void each_pool_has_its_own(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    void *block = fixture_malloc(other, MIB(4), a);
    fixture_malloc(pool, MIB(4), a);
    assert_int_equal(set(1, ALL), poolSuccess);
    assert_int_equal(told_of(other, 1), NONE);
    assert_int_equal(had_at((uintptr_t)block, 1), NONE);
}

// ----------------------------------------------------------------------------------------- by work

static CUstream stream_of(int device) {
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
    CUstream stream = simulated_stream();
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    return stream;
}

static void touch(void *block, CUstream stream, bool writes) {
    const simcudaAccess access = {(uintptr_t)block, 64,
                                  writes ? simcudaAccessWrite : simcudaAccessRead};
    const simcudaWork work = {.name = "peer", .accesses = &access, .count = 1};
    assert_int_equal(simcudaEnqueue(stream, &work), CUDA_SUCCESS);
    simcudaCompleteAll();
}

static void require_reported(void *block, CUstream stream, bool writes) {
    touch(block, stream, writes);
    assert_int_equal(simcudaReportCount("no-access"), 1);
    simcudaReportClear();
}

static void work_of_a_peer_needs_access(void **state) {
    (void)state;
    void *block = fixture_malloc(pool, MIB(4), a);
    fixture_synchronize(a);
    assert_int_equal(set(1, ALL), poolSuccess);
    assert_int_equal(set(2, READ), poolSuccess);
    CUstream first = stream_of(1), second = stream_of(2);
    touch(block, first, true);
    fixture_synchronize(first);
    touch(block, second, false);
    fixture_synchronize(second);
    assert_int_equal(simcudaReportCount(NULL), 0);
    require_reported(block, second, true);
    assert_int_equal(set(1, NONE), poolSuccess);
    require_reported(block, first, false);
}

// --------------------------------------------------------------------------------- what is refused

static void require_refused(const struct poolMemAccessDesc *list, size_t count, poolError_t error,
                            const char *words) {
    assert_int_equal(poolMemPoolSetAccess(pool, list, count), error);
    assert_non_null(strstr(poolGetLastErrorDetail(), words));
    for (int peer = 1; peer <= PEERS; peer++)
        assert_int_equal(told(peer), NONE);
}

// A good entry stands before the bad one each time, and is not done.
static void what_can_not_be_is_refused_whole(void **state) {
    (void)state;
    static const struct {
        struct poolMemAccessDesc bad;
        poolError_t error;
        const char *words;
    } cases[] = {
        {{{poolMemLocationTypeDevice, 0}, NONE}, poolErrorInvalidDevice, "own pool"},
        {{{poolMemLocationTypeDevice, 0}, READ}, poolErrorNotSupported, "own pool"},
        {{{poolMemLocationTypeDevice, 3}, ALL}, poolErrorInvalidDevice, "no device 3"},
        {{{poolMemLocationTypeDevice, -1}, ALL}, poolErrorInvalidDevice, "no device -1"},
        {{{poolMemLocationTypeDevice, 1}, (enum poolMemAccessFlags)2},
         poolErrorInvalidValue,
         "2 is not one"},
        {{{poolMemLocationTypeHost, 1}, ALL}, poolErrorNotSupported, "the host has no access"},
        {{{poolMemLocationTypeHostNumaCurrent, 0}, ALL}, poolErrorInvalidValue, "location"},
        {{{poolMemLocationTypeInvalid, 1}, ALL}, poolErrorInvalidValue, "location"},
    };
    fixture_malloc(pool, MIB(4), a);
    uint64_t before = simcudaCallCount("cuMemSetAccess");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct poolMemAccessDesc list[] = {to(1, ALL), cases[i].bad};
        require_refused(list, 2, cases[i].error, cases[i].words);
    }
    require_refused(NULL, 1, poolErrorInvalidValue, "null");
    assert_int_equal(poolMemPoolSetAccess(pool, NULL, 0), poolSuccess);
    assert_int_equal(set(0, ALL), poolSuccess);
    assert_int_equal(poolMemPoolSetAccess(NULL, NULL, 0), poolErrorInvalidValue);
    assert_int_equal(simcudaCallCount("cuMemSetAccess"), before);
    require_as_told();
}

static void a_question_needs_all_its_parameters(void **state) {
    (void)state;
    const struct poolMemLocation bad[] = {{poolMemLocationTypeHostNumaCurrent, 0},
                                          {poolMemLocationTypeInvalid, 0},
                                          {poolMemLocationTypeDevice, 3},
                                          {poolMemLocationTypeDevice, -1}};
    const struct poolMemLocation good = {poolMemLocationTypeDevice, 1};
    enum poolMemAccessFlags flags = (enum poolMemAccessFlags)77;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(poolMemPoolGetAccess(&flags, pool, &bad[i]), poolErrorInvalidValue);
    assert_int_equal(poolMemPoolGetAccess(NULL, pool, &good), poolErrorInvalidValue);
    assert_int_equal(poolMemPoolGetAccess(&flags, NULL, &good), poolErrorInvalidValue);
    assert_int_equal(poolMemPoolGetAccess(&flags, pool, NULL), poolErrorInvalidValue);
    assert_int_equal((int)flags, 77);
}

static int setup_strangers(void **state) {
    (void)state;
    return setup_devices("devices=3,peers=0");
}

static void a_device_that_is_no_peer_is_refused_and_may_be_denied(void **state) {
    (void)state;
    const struct poolMemAccessDesc desc = to(1, ALL);
    fixture_malloc(pool, MIB(4), a);
    require_refused(&desc, 1, poolErrorInvalidDevice, "can't access memory of device 0");
    assert_int_equal(set(1, NONE), poolSuccess);
    require_as_told();
}

static void a_driver_that_does_not_say_who_is_a_peer_is_an_error(void **state) {
    (void)state;
    simcudaFailCall("cuDeviceCanAccessPeer", 1, simcudaFaultOnce, CUDA_ERROR_ECC_UNCORRECTABLE);
    assert_int_equal(set(1, ALL), poolErrorECCUncorrectable);
    assert_int_equal(told(1), NONE);
}

// ---------------------------------------------------------------------------------------- failures

static void require_native_set_access(void) {
    int native = 0;
    const char *entry_point = "";
    poolGetLastNativeError(&native, &entry_point);
    assert_int_equal(native, CUDA_ERROR_ECC_UNCORRECTABLE);
    assert_string_equal(entry_point, "cuMemSetAccess");
}

static void a_change_that_fails_anywhere_changes_nothing(void **state) {
    (void)state;
    make_views();
    assert_int_equal(set(2, READ), poolSuccess);
    size_t mappings = require_as_told();
    const struct poolMemAccessDesc list[] = {to(1, ALL), to(2, ALL)};
    for (size_t n = 1; n <= mappings; n++) {
        simcudaFailCall("cuMemSetAccess", n, simcudaFaultOnce, CUDA_ERROR_ECC_UNCORRECTABLE);
        assert_int_equal(poolMemPoolSetAccess(pool, list, 2), poolErrorECCUncorrectable);
        require_native_set_access();
        simcudaFailClear();
        assert_int_equal(told(1), NONE);
        assert_int_equal(told(2), READ);
        assert_int_equal(require_as_told(), mappings);
    }
    assert_int_equal(poolMemPoolSetAccess(pool, list, 2), poolSuccess);
    require_as_told();
}

// Then a mapping lets more in than the pool says; what is set next is set everywhere.
static void a_change_that_can_not_be_undone_either_is_made_good_by_the_next(void **state) {
    (void)state;
    make_views();
    size_t mappings = require_as_told();
    for (size_t n = 1; n <= mappings; n += 5) {
        simcudaFailCall("cuMemSetAccess", n, simcudaFaultOnwards, CUDA_ERROR_ECC_UNCORRECTABLE);
        assert_int_equal(set(1, ALL), poolErrorECCUncorrectable);
        require_native_set_access();
        simcudaFailClear();
        assert_int_equal(told(1), NONE);
        assert_int_equal(set(1, NONE), poolSuccess);
        assert_int_equal(require_as_told(), mappings);
    }
}

static void an_undoing_that_meets_one_refusal_goes_on(void **state) {
    (void)state;
    make_views();
    size_t mappings = require_as_told();
    simcudaFailCall("cuMemSetAccess", mappings, simcudaFaultOnce, CUDA_ERROR_ECC_UNCORRECTABLE);
    simcudaFailCall("cuMemSetAccess", mappings + 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_equal(set(1, ALL), poolErrorECCUncorrectable);
    simcudaFailClear();
    size_t let_in = 0;
    struct sp_pool *inside = fixture_inside(pool);
    SP_LIST_FOR_EACH(link, &inside->regions[SP_REGION_LARGE].segments) {
        const struct sp_view *view = &SP_CONTAINER_OF(link, struct sp_segment, link)->view;
        struct sp_extent *extent = sp_view_extent_from(view, 0);
        for (; extent; extent = sp_view_extent_next(extent))
            let_in += had_at(extent->address, 1) != NONE;
    }
    assert_int_equal(let_in, 1); // the first, which the driver refused to put back
    assert_int_equal(set(1, NONE), poolSuccess);
    require_as_told();
}

static void growth_that_a_peer_can_not_be_let_into_is_undone(void **state) {
    (void)state;
    void *pointer = NULL;
    assert_int_equal(set(1, ALL), poolSuccess);
    simcudaFailCall("cuMemSetAccess", 1, simcudaFaultOnwards, CUDA_ERROR_ECC_UNCORRECTABLE);
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(4), pool, a), poolErrorECCUncorrectable);
    simcudaFailClear();
    assert_int_equal(require_as_told(), 0);
    fixture_malloc(pool, MIB(4), a);
    assert_true(require_as_told() > 0);
}

// ----------------------------------------------------------------------------------------- threads

static _Atomic bool over;

static void *let_in(void *error) {
    *(poolError_t *)error = set(1, ALL);
    over = true;
    return NULL;
}

// As if it mapped something: what it maps later than a change has begun would be missed.
static void a_change_waits_for_who_maps(void **state) {
    (void)state;
    pthread_t thread;
    poolError_t error = poolErrorUnknown;
    void *block = fixture_malloc(pool, MIB(4), a);
    struct sp_pool *inside = fixture_inside(pool);
    over = false;
    sp_pool_begin_mapping(inside);
    assert_int_equal(pthread_create(&thread, NULL, let_in, &error), 0);
    while (!over && inside->mappers < 2)
        sched_yield();
    bool waited = !over && told(1) == NONE && had_at((uintptr_t)block, 1) == NONE;
    sp_pool_end_mapping(inside);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(waited);
    assert_int_equal(error, poolSuccess);
    require_as_told();
}

// Grows, remaps and trims.
static void *allocate_all_the_while(void *stream) {
    for (unsigned round = 0; !over; round++) {
        void *pieces[8], *together = NULL;
        for (int i = 0; i < 8; i++)
            if (poolMallocFromPoolAsync(&pieces[i], EXTENT, pool, stream) != poolSuccess)
                pieces[i] = NULL;
        for (int i = 0; i < 8; i += 2)
            poolFreeAsync(pieces[i], stream);
        if (poolMallocFromPoolAsync(&together, 3 * EXTENT, pool, stream) == poolSuccess)
            poolFreeAsync(together, stream);
        for (int i = 1; i < 8; i += 2)
            poolFreeAsync(pieces[i], stream);
        fixture_synchronize(stream);
        if (round % 3 == 0)
            fixture_trim(pool, EXTENT);
    }
    return NULL;
}

static void access_changes_beside_growth_remaps_and_trims(void **state) {
    (void)state;
    enum { THREADS = 2, CHANGES = 60 };
    pthread_t threads[THREADS];
    CUstream streams[THREADS] = {a, b};
    over = false;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_all_the_while, streams[i]), 0);
    for (int i = 0; i < CHANGES; i++) {
        const struct poolMemAccessDesc list[] = {to(1, i % 2 ? ALL : NONE),
                                                 to(2, i % 3 ? READ : NONE)};
        assert_int_equal(poolMemPoolSetAccess(pool, list, 2), poolSuccess);
        assert_int_equal(told(1), i % 2 ? ALL : NONE);
    }
    over = true;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    fixture_malloc(pool, MIB(20), a);
    assert_true(require_as_told() > 0);
}

#define ACCESS_TEST(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, setup_peers, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        ACCESS_TEST(at_first_the_own_device_alone_has_access),
        ACCESS_TEST(a_peer_gets_at_what_there_is_and_what_comes),
        ACCESS_TEST(stitched_views_that_there_are_are_let_in_too_and_shut_again),
        ACCESS_TEST(zombies_are_let_in_too),
        ACCESS_TEST(views_that_are_stitched_later_are_let_in),
        ACCESS_TEST(what_a_trim_leaves_is_let_in),
        ACCESS_TEST(of_several_entries_for_one_device_the_last_counts),
        ACCESS_TEST(a_pool_in_the_place_of_another_lets_nobody_in),
        ACCESS_TEST(each_pool_has_its_own),
        ACCESS_TEST(work_of_a_peer_needs_access),
        ACCESS_TEST(what_can_not_be_is_refused_whole),
        ACCESS_TEST(a_question_needs_all_its_parameters),
        cmocka_unit_test_setup_teardown(a_device_that_is_no_peer_is_refused_and_may_be_denied,
                                        setup_strangers, fixture_teardown),
        ACCESS_TEST(a_driver_that_does_not_say_who_is_a_peer_is_an_error),
        ACCESS_TEST(a_change_that_fails_anywhere_changes_nothing),
        ACCESS_TEST(a_change_that_can_not_be_undone_either_is_made_good_by_the_next),
        ACCESS_TEST(an_undoing_that_meets_one_refusal_goes_on),
        ACCESS_TEST(growth_that_a_peer_can_not_be_let_into_is_undone),
        ACCESS_TEST(a_change_waits_for_who_maps),
        ACCESS_TEST(access_changes_beside_growth_remaps_and_trims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
