// Pools of a device without virtual memory management.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/page_map.h"
#include "fault/host_memory.h"
#include "unit/fixture/pool.h"

static CUstream stream;
static poolMemPool_t pool;

static int begin_with(const char *settings) {
    if (fixture_begin(settings) != 0)
        return -1;
    pool = fixture_pool();
    stream = simulated_stream();
    return 0;
}

static int setup_missing(void **state) {
    (void)state;
    return begin_with("vmm=missing,peers=1,devices=2,memory=1G");
}

// A driver whose addresses may begin in the middle of a page.
static int setup_narrow(void **state) {
    (void)state;
    return begin_with("vmm=missing,memory=1G,granule=4K");
}

// A driver that gives addresses in no order, and hardly one of them twice.
static int setup_scattered(void **state) {
    (void)state;
    return begin_with("vmm=missing,memory=16G,granule=64K,scatter=1");
}

// A driver that says that it has the calls, and refuses them.
static int setup_refused(void **state) {
    (void)state;
    return begin_with("vmm=refused,peers=1,devices=2,memory=1G");
}

static int setup_supported(void **state) {
    (void)state;
    return begin_with("memory=1G");
}

static simcudaLive alive(void) {
    simcudaLive live;
    simcudaGetLive(&live);
    return live;
}

static poolError_t malloc_on(CUstream on, size_t size, void **pointer) {
    return poolMallocFromPoolAsync(pointer, size, pool, on);
}

static enum poolPointerState state_of(const void *pointer) {
    struct poolPointerAttributes attributes;
    assert_int_equal(poolPointerGetAttributes(&attributes, pointer), poolSuccess);
    return attributes.state;
}

static size_t device_free(void) {
    size_t free_bytes, total;
    assert_int_equal(sp_driver->cuMemGetInfo(&free_bytes, &total), CUDA_SUCCESS);
    return free_bytes;
}

// ---------------------------------------------------------------------------------------- growth

static void a_growth_is_one_allocation_of_the_driver(void **state) {
    (void)state;
    static const size_t sizes[] = {512, KIB(300), MIB(3), MIB(70), MIB(300)};
    uint64_t before = 0;
    for (int i = 0; i < 5; i++) {
        fixture_malloc(pool, sizes[i], stream);
        uint64_t allocations = alive().allocations;
        assert_in_range(allocations, before, before + 1);
        before = allocations;
    }
    assert_int_equal(alive().ranges + alive().handles + alive().mappings, 0);
}

static void a_block_a_little_larger_finds_room_where_one_was(void **state) {
    (void)state;
    void *smaller = fixture_malloc(pool, MIB(33), stream);
    assert_int_equal(fixture_reserved(pool), MIB(36));
    fixture_free(smaller, stream);
    assert_ptr_equal(fixture_malloc(pool, MIB(36), stream), smaller);
    assert_int_equal(fixture_reserved(pool), MIB(36));
}

static void the_limit_is_used_up_to_the_last_granule(void **state) {
    (void)state;
    void *pointer = NULL;
    pool = fixture_pool_of_at_most(MIB(64));
    fixture_malloc(pool, MIB(33), stream);
    fixture_malloc(pool, MIB(28), stream);
    assert_int_equal(malloc_on(stream, MIB(4), &pointer), poolErrorMemoryAllocation);
    assert_int_equal(fixture_reserved(pool), MIB(64));
}

static void a_device_with_too_little_for_the_rounding_gives_what_is_asked_for(void **state) {
    (void)state;
    fixture_malloc(pool, MIB(768), stream);
    fixture_malloc(pool, MIB(1024 - 768), stream);
    assert_int_equal(device_free(), 0);
    assert_int_equal(fixture_reserved(pool), GIB(1));
}

static void an_address_in_the_middle_of_a_page_is_made_good(void **state) {
    (void)state;
    CUdeviceptr other = 0;
    assert_int_equal(sp_driver->cuMemAlloc(&other, 512), CUDA_SUCCESS);
    char *block = fixture_malloc(pool, MIB(8), stream);
    assert_int_equal((uintptr_t)block % SP_PAGE_SIZE, 0);
    assert_int_equal(fixture_reserved(pool), MIB(8));
    assert_int_equal(device_free(), GIB(1) - MIB(8) - SP_PAGE_SIZE - 512);
    assert_int_equal(sp_driver->cuMemsetD8Async((uintptr_t)block, 1, MIB(8), stream), CUDA_SUCCESS);
    simulated_finish(stream);
    fixture_free(block, stream);
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    assert_int_equal(device_free(), GIB(1) - 512);
    assert_int_equal(sp_driver->cuMemFree(other), CUDA_SUCCESS);
}

static void growth_survives_every_lack_of_host_memory(void **state) {
    (void)state;
    uint64_t failed = 1;
    fixture_stream(stream);
    for (uint64_t nth = 1; failed > 0; nth++) {
        void *pointers[2] = {NULL, NULL};
        pool = fixture_pool();
        host_memory_enter(nth, false);
        poolError_t large = malloc_on(stream, MIB(50), &pointers[0]);
        poolError_t small = malloc_on(stream, 100, &pointers[1]);
        host_memory_leave(&failed);
        assert_true(large == poolSuccess || large == poolErrorMemoryAllocation);
        assert_true(small == poolSuccess || small == poolErrorMemoryAllocation);
        fixture_check(pool);
        for (int i = 0; i < 2; i++)
            assert_int_equal(poolFreeAsync(pointers[i], stream), poolSuccess);
        fixture_synchronize(stream);
        fixture_trim(pool, 0);
        assert_int_equal(alive().allocations, 0);
        assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    }
}

static void a_growth_in_a_capturing_thread_leaves_the_capture_valid(void **state) {
    (void)state;
    CUgraph graph = NULL;
    CUstream captures = simulated_stream();
    assert_int_equal(sp_driver->cuStreamBeginCapture(captures, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    assert_int_equal(poolMemPoolPrime(pool, MIB(8)), poolSuccess);
    fixture_trim(pool, 0);
    assert_int_equal(alive().allocations, 0);
    assert_int_equal(sp_driver->cuStreamEndCapture(captures, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
}

static void memory_in_pieces_is_not_what_was_primed(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(MIB(64));
    void *first = fixture_malloc(pool, MIB(32), stream), *second = NULL;
    second = fixture_malloc(pool, MIB(32), stream);
    fixture_free(first, stream);
    fixture_free(second, stream);
    fixture_synchronize(stream);
    fixture_malloc(pool, 512, stream);
    assert_int_equal(poolMemPoolPrime(pool, MIB(60)), poolErrorMemoryAllocation);
}

// ------------------------------------------------------------------------------------------ trims

// Nothing can be mapped once more there.
static void the_largest_block_with_remapping_is_the_largest_without(void **state) {
    (void)state;
    void *blocks[3];
    for (int i = 0; i < 3; i++)
        blocks[i] = fixture_malloc(pool, MIB(16), stream);
    fixture_free(blocks[0], stream);
    fixture_free(blocks[2], stream);
    fixture_synchronize(stream);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestFree), MIB(16));
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatLargestRemapped), MIB(16));
}

static void memory_that_was_given_back_is_the_drivers(void **state) {
    (void)state;
    CUdeviceptr again = 0;
    void *block = fixture_malloc(pool, MIB(8), stream);
    fixture_free(block, stream);
    fixture_synchronize(stream);
    assert_int_equal(state_of(block), poolPointerFree);
    fixture_trim(pool, 0);
    assert_int_equal(alive().allocations, 0);
    assert_int_equal(state_of(block), poolPointerForeign);
    assert_int_equal(sp_driver->cuMemAlloc(&again, MIB(8)), CUDA_SUCCESS);
    assert_int_equal(again, (uintptr_t)block);
    assert_int_equal(state_of(block), poolPointerForeign);
    assert_int_equal(poolFree(block), poolSuccess);
    assert_int_equal(alive().allocations, 0);
}

static void a_trim_keeps_at_least_what_it_is_told_to(void **state) {
    (void)state;
    void *large = fixture_malloc(pool, MIB(64), stream), *small = NULL;
    small = fixture_malloc(pool, MIB(16), stream);
    fixture_free(large, stream);
    fixture_free(small, stream);
    fixture_synchronize(stream);
    fixture_trim(pool, MIB(70));
    assert_int_equal(fixture_reserved(pool), MIB(80));
    fixture_trim(pool, MIB(40));
    assert_int_equal(fixture_reserved(pool), MIB(64));
    fixture_trim(pool, MIB(1));
    assert_int_equal(fixture_reserved(pool), MIB(64));
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
}

static void a_full_device_gets_a_larger_piece_of_another_pool_whole(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    fixture_free(fixture_malloc(other, MIB(896), stream), stream);
    fixture_synchronize(stream);
    fixture_malloc(pool, MIB(160), stream);
    assert_int_equal(fixture_reserved(other), 0);
}

// It is told as on any other device.
static void a_full_device_is_told(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    void *pending = fixture_malloc(other, MIB(512), stream);
    fixture_malloc(pool, MIB(512), stream);
    assert_int_equal(malloc_on(stream, MIB(512), &pending), poolErrorMemoryAllocation);
    assert_non_null(strstr(poolGetLastErrorDetail(), "nothing but freeing helps"));
    fixture_set(other, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    simulated_work(stream);
    fixture_free(pending, stream);
    CUstream later = simulated_stream();
    assert_int_equal(malloc_on(later, MIB(512), &pending), poolErrorMemoryAllocation);
    assert_non_null(strstr(poolGetLastErrorDetail(), "poolDeviceSynchronize makes it available"));
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    assert_int_equal(malloc_on(later, MIB(512), &pending), poolSuccess); // as it was said
}

static void the_limit_lets_a_larger_piece_go_whole(void **state) {
    (void)state;
    pool = fixture_pool_of_at_most(MIB(64));
    fixture_free(fixture_malloc(pool, MIB(40), stream), stream);
    fixture_synchronize(stream);
    fixture_malloc(pool, MIB(48), stream);
    assert_int_equal(fixture_reserved(pool), MIB(48));
}

static void memory_that_the_driver_does_not_take_stays_the_pools(void **state) {
    (void)state;
    void *block = fixture_malloc(pool, MIB(8), stream);
    fixture_free(block, stream);
    fixture_synchronize(stream);
    simcudaFailCall("cuMemFree", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_equal(poolMemPoolTrimTo(pool, 0), poolErrorUnknown);
    assert_int_equal(fixture_reserved(pool), MIB(8));
    assert_int_equal(state_of(block), poolPointerFree);
    assert_ptr_equal(fixture_malloc(pool, MIB(8), stream), block);
    struct poolPointerAttributes attributes;
    assert_int_equal(poolPointerGetAttributes(&attributes, (char *)block + MIB(7)), poolSuccess);
    assert_ptr_equal(attributes.base, block);
    assert_int_equal(attributes.extents, 1);
}

static void nothing_pending_is_given_back(void **state) {
    (void)state;
    void *block = fixture_malloc(pool, MIB(8), stream);
    simulated_work(stream);
    fixture_free(block, stream);
    fixture_trim(pool, 0);
    assert_int_equal(alive().allocations, 1);
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    assert_int_equal(alive().allocations, 0);
}

// -------------------------------------------------------------------------------- pending pieces

// Work that completes when somebody waits for it stands before each free.
static void free_four_pieces(CUstream on) {
    void *pieces[4];
    for (int i = 0; i < 4; i++)
        pieces[i] = fixture_malloc(pool, MIB(32), on);
    for (int i = 0; i < 4; i++) {
        simulated_work(on);
        fixture_free(pieces[i], on);
    }
}

static bool is_idle(CUstream on) {
    return sp_driver->cuStreamQuery(on) == CUDA_SUCCESS;
}

static void at_the_limit_pieces_that_are_the_streams_to_have_are_given_back(void **state) {
    (void)state;
    for (int deterministic = 0; deterministic < 2; deterministic++) {
        for (int other = 0; other < 2; other++) {
            CUstream before = other ? simulated_stream() : stream;
            pool = fixture_pool_of_at_most(MIB(128));
            fixture_set_flag(pool, poolMemPoolAttrDeterministic, deterministic);
            free_four_pieces(before);
            if (other)
                fixture_order(stream, before);
            fixture_free(fixture_malloc(pool, MIB(96), stream), stream);
            assert_true(fixture_reserved(pool) <= MIB(128));
        }
    }
}

static void a_full_device_gets_pieces_that_are_the_streams_to_have(void **state) {
    (void)state;
    fixture_malloc(fixture_pool(), MIB(890), stream);
    free_four_pieces(stream);
    fixture_malloc(pool, MIB(100), stream);
}

// Nobody waits in vain, nor for what other streams are to have.
static void a_refusal_leaves_the_streams_work_pending(void **state) {
    (void)state;
    void *pointer = NULL;
    CUstream other = simulated_stream();
    pool = fixture_pool_of_at_most(MIB(128));
    free_four_pieces(stream);
    assert_int_equal(poolMallocAsyncWithFlags(&pointer, MIB(96), pool, stream, poolMallocNoGrowth),
                     poolErrorMemoryAllocation);
    assert_int_equal(malloc_on(other, MIB(96), &pointer), poolErrorMemoryAllocation);
    assert_false(is_idle(stream));
    fixture_malloc(pool, MIB(32), stream);
    assert_int_equal(malloc_on(stream, MIB(97), &pointer), poolErrorMemoryAllocation);
    assert_false(is_idle(stream));
}

// ------------------------------------------------------------------------------------- decisions

enum { ROUNDS = 20, BLOCKS = 12, STEPS = ROUNDS * 2 * BLOCKS };

static const enum poolMemPoolAttr counted[] = {
    poolMemPoolStatGrowths, poolMemPoolStatReuseSameStream, poolMemPoolStatReuseComplete,
    poolMemPoolStatOtherRegion, poolMemPoolStatBytesTrimmed};
enum { COUNTED = sizeof counted / sizeof counted[0] };

// What a program got. An address is told by how many steps ago it was got last; 0: not lately.
struct account {
    unsigned steps;
    unsigned ago[STEPS];
    uint64_t reserved[STEPS];
    uint64_t counts[COUNTED];
};

static void *allocate_a_step(struct account *account, void *addresses[STEPS], size_t size) {
    unsigned step = account->steps++;
    addresses[step] = fixture_malloc(pool, size, stream);
    account->reserved[step] = fixture_reserved(pool);
    for (unsigned ago = 1; ago <= step && ago <= 2 * BLOCKS && !account->ago[step]; ago++)
        account->ago[step] = addresses[step - ago] == addresses[step] ? ago : 0;
    return addresses[step];
}

// Pieces of one size become free; some of them go, and some serve smaller blocks.
static void keep_account(struct account *account) {
    void *blocks[BLOCKS], *addresses[STEPS];
    *account = (struct account){.steps = 0};
    pool = fixture_pool();
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    for (unsigned i = 0; i < ROUNDS; i++) {
        for (unsigned k = 0; k < BLOCKS; k++)
            blocks[k] = allocate_a_step(account, addresses, MIB(8 + 2 * (i % 3)));
        for (unsigned k = 0; k < BLOCKS; k++)
            fixture_free(blocks[k * 5 % BLOCKS], stream);
        fixture_synchronize(stream);
        fixture_trim(pool, MIB(60));
        for (unsigned k = 0; k < BLOCKS; k++)
            blocks[k] = allocate_a_step(account, addresses, i % 2 ? KIB(50) : MIB(6));
        for (unsigned k = 0; k < BLOCKS; k++)
            fixture_free(blocks[k * 7 % BLOCKS], stream);
    }
    for (unsigned i = 0; i < COUNTED; i++)
        account->counts[i] = fixture_attribute(pool, counted[i]);
    fixture_synchronize(stream);
    fixture_check(pool);
    fixture_trim(pool, 0);
}

static void decisions_depend_on_no_address_that_the_driver_chose(void **state) {
    (void)state;
    static struct account first, again;
    keep_account(&first);
    assert_int_not_equal(first.counts[0], 0);
    for (int round = 0; round < 5; round++) {
        keep_account(&again);
        assert_memory_equal(&first, &again, sizeof first);
    }
}

// --------------------------------------------------------------------------------------- contexts

static void a_stream_of_another_context_is_refused(void **state) {
    (void)state;
    static const size_t sizes[] = {512, MIB(3)};
    CUcontext context = NULL;
    CUdevice device;
    assert_int_equal(sp_driver->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, device), CUDA_SUCCESS);
    CUstream other = simulated_stream();
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, GIB(1)); // no event of that context
    for (int i = 0; i < 2; i++) {
        void *pointer = NULL;
        assert_int_equal(malloc_on(other, sizes[i], &pointer), poolErrorNotSupported);
        assert_non_null(strstr(poolGetLastErrorDetail(), "primary context"));
        fixture_free(fixture_malloc(pool, sizes[i], stream), other);
        assert_int_equal(malloc_on(other, sizes[i], &pointer), poolErrorNotSupported);
        assert_null(pointer);
    }
    fixture_synchronize(other);
    simulated_destroy(other);
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
}

static void another_device_is_not_let_in_by_the_pool(void **state) {
    (void)state;
    struct poolMemAccessDesc desc = {{poolMemLocationTypeDevice, 1},
                                     poolMemAccessFlagsProtReadWrite};
    enum poolMemAccessFlags flags = poolMemAccessFlagsProtReadWrite;
    assert_int_equal(poolMemPoolSetAccess(pool, &desc, 1), poolErrorNotSupported);
    assert_non_null(strstr(poolGetLastErrorDetail(), "cuCtxEnablePeerAccess"));
    assert_int_equal(poolMemPoolGetAccess(&flags, pool, &desc.location), poolSuccess);
    assert_int_equal(flags, poolMemAccessFlagsProtNone);
    desc.flags = poolMemAccessFlagsProtNone;
    assert_int_equal(poolMemPoolSetAccess(pool, &desc, 1), poolSuccess);
}

// ---------------------------------------------------------------------------- drivers that refuse

static void a_driver_that_refuses_any_step_makes_the_device_plain(void **state) {
    (void)state;
    static const char *const steps[] = {"cuMemAddressReserve", "cuMemCreate", "cuMemMap",
                                        "cuMemSetAccess"};
    struct sp_vmm_device *device = &fixture_inside(pool)->device->vmm;
    for (int i = 0; i < 4; i++) {
        sp_store_relaxed(&device->means, SP_VMM_UNTRIED);
        simcudaFailCall(steps[i], 1, simcudaFaultOnwards, CUDA_ERROR_NOT_SUPPORTED);
        void *block = fixture_malloc(pool, MIB(8), stream);
        assert_ptr_equal(sp_vmm_provider(device), &sp_vmm_plain);
        assert_int_equal(alive().allocations, 1);
        assert_int_equal(alive().mappings + alive().handles, 0);
        fixture_free(block, stream);
        fixture_synchronize(stream);
        fixture_trim(pool, 0);
        assert_int_equal(alive().allocations, 0);
        simcudaFailClear();
    }
}

static void a_device_where_memory_was_mapped_stays_as_it_is(void **state) {
    (void)state;
    void *pointer = NULL;
    fixture_malloc(pool, MIB(8), stream);
    simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(malloc_on(stream, MIB(16), &pointer), poolErrorNotSupported);
    assert_int_equal(alive().allocations, 0);
    simcudaFailClear();
    fixture_malloc(pool, MIB(16), stream);
}

static void set_access(enum poolMemAccessFlags flags) {
    struct poolMemAccessDesc desc = {{poolMemLocationTypeDevice, 1}, flags};
    assert_int_equal(poolMemPoolSetAccess(pool, &desc, 1), poolSuccess);
}

static void expect_refused_for_access(poolError_t error) {
    assert_int_equal(error, poolErrorNotSupported);
    assert_non_null(strstr(poolGetLastErrorDetail(), "poolMemPoolSetAccess takes"));
    assert_int_equal(alive().allocations, 0);
}

// The first call finds out what the device is.
static void a_pool_gets_plain_memory_once_it_lets_no_peers_in(void **state) {
    (void)state;
    void *pointer = NULL;
    for (int first = 0; first < 3; first++) {
        set_access(poolMemAccessFlagsProtReadWrite);
        for (int i = first; i < first + 3; i++)
            expect_refused_for_access(i == 0 ? poolMemPoolPrime(pool, MIB(2))
                                             : malloc_on(stream, i == 1 ? 512 : MIB(8), &pointer));
        set_access(poolMemAccessFlagsProtNone);
        fixture_free(fixture_malloc(pool, MIB(8), stream), stream);
        assert_int_equal(fixture_teardown(NULL), 0);
        assert_int_equal(setup_refused(NULL), 0);
    }
}

static void a_stream_of_another_context_is_told_why_at_once(void **state) {
    (void)state;
    void *pointer = NULL;
    CUdevice device;
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, device), CUDA_SUCCESS);
    CUstream other = simulated_stream();
    assert_int_equal(malloc_on(other, MIB(8), &pointer), poolErrorNotSupported);
    assert_non_null(strstr(poolGetLastErrorDetail(), "primary context"));
    simulated_destroy(other);
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
}

int main(void) {
#define missing_test(test) cmocka_unit_test_setup_teardown(test, setup_missing, fixture_teardown)
#define supported_test(test)                                                                       \
    cmocka_unit_test_setup_teardown(test, setup_supported, fixture_teardown)
#define refused_test(test) cmocka_unit_test_setup_teardown(test, setup_refused, fixture_teardown)
    const struct CMUnitTest tests[] = {
        missing_test(a_growth_is_one_allocation_of_the_driver),
        missing_test(a_block_a_little_larger_finds_room_where_one_was),
        missing_test(the_limit_is_used_up_to_the_last_granule),
        missing_test(a_device_with_too_little_for_the_rounding_gives_what_is_asked_for),
        cmocka_unit_test_setup_teardown(an_address_in_the_middle_of_a_page_is_made_good,
                                        setup_narrow, fixture_teardown),
        missing_test(growth_survives_every_lack_of_host_memory),
        missing_test(a_growth_in_a_capturing_thread_leaves_the_capture_valid),
        missing_test(memory_in_pieces_is_not_what_was_primed),
        missing_test(the_largest_block_with_remapping_is_the_largest_without),
        missing_test(memory_that_was_given_back_is_the_drivers),
        missing_test(a_trim_keeps_at_least_what_it_is_told_to),
        missing_test(a_full_device_gets_a_larger_piece_of_another_pool_whole),
        missing_test(a_full_device_is_told),
        missing_test(the_limit_lets_a_larger_piece_go_whole),
        missing_test(memory_that_the_driver_does_not_take_stays_the_pools),
        missing_test(nothing_pending_is_given_back),
        missing_test(at_the_limit_pieces_that_are_the_streams_to_have_are_given_back),
        missing_test(a_full_device_gets_pieces_that_are_the_streams_to_have),
        missing_test(a_refusal_leaves_the_streams_work_pending),
        cmocka_unit_test_setup_teardown(decisions_depend_on_no_address_that_the_driver_chose,
                                        setup_scattered, fixture_teardown),
        missing_test(a_stream_of_another_context_is_refused),
        missing_test(another_device_is_not_let_in_by_the_pool),
        supported_test(a_driver_that_refuses_any_step_makes_the_device_plain),
        supported_test(a_device_where_memory_was_mapped_stays_as_it_is),
        refused_test(a_pool_gets_plain_memory_once_it_lets_no_peers_in),
        refused_test(a_stream_of_another_context_is_told_why_at_once),
    };
    return cmocka_run_group_tests_name("whole_plain", tests, NULL, NULL);
}
