// What the five calls do and refuse, and what a manager's pool tells.
#include "mam/fixture.h"

#include <string.h>

#include "mam/chunk.h"
#include "mam/manager.h"

// Nothing completes before somebody waits for it.
static int setup_latest(void **state) {
    (void)state;
    return fixture_begin("completion=latest,memory=4G");
}

// ------------------------------------------------------------------------------------- the chunk

static void the_chunk_is_taken_by_the_first_malloc_and_whole(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(256), poolMamDefault);
    mam_device_is_empty(0);
    void *nothing = &mam;
    assert_int_equal(poolMamMalloc(mam, &nothing, 0), poolSuccess);
    assert_null(nothing);
    assert_int_equal(poolMamFree(mam, NULL), poolSuccess);
    mam_device_is_empty(0);
    void *pointer = mam_malloc(mam, 1);
    assert_int_equal(simcudaMemoryInUse(0), MIB(256));
    mam_free(mam, pointer);
    assert_int_equal(simcudaMemoryInUse(0), MIB(256));
    mam_destroy(mam);
    mam_device_is_empty(0);
}

static void a_chunk_serves_a_block_of_its_own_size(void **state) {
    (void)state;
    for (unsigned int flags = poolMamDefault; flags <= poolMamFixed; flags++) {
        poolMam_t mam = mam_of(MIB(256), flags);
        void *pointer = mam_malloc(mam, MIB(256));
        assert_int_equal(simcudaMemoryInUse(0), MIB(256));
        mam_free(mam, pointer);
        mam_destroy(mam);
    }
}

static void a_manager_that_was_never_used_takes_nothing(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(256), poolMamDefault);
    uint64_t streams = simcudaCallCount("cuStreamCreate");
    mam_destroy(mam);
    assert_int_equal(simcudaCallCount("cuStreamCreate"), streams);
    mam_device_is_empty(0);
}

static void a_fixed_chunk_is_rounded_up_to_its_step_and_never_exceeded(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(33), poolMamFixed);
    void *half = mam_malloc(mam, MIB(40)), *more = NULL;
    assert_int_equal(simcudaMemoryInUse(0), MIB(64));
    mam_refused(poolMamMalloc(mam, &more, MIB(32)), poolErrorMemoryAllocation, "limit");
    assert_null(more);
    void *rest = mam_malloc(mam, MIB(24));
    assert_int_equal(simcudaMemoryInUse(0), MIB(64));
    mam_free(mam, half);
    mam_free(mam, rest);
    mam_free(mam, mam_malloc(mam, MIB(64)));
    mam_destroy(mam);
}

static void beyond_the_chunk_memory_grows_and_goes_back(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    void *first = mam_malloc(mam, MIB(64)), *second = mam_malloc(mam, MIB(100));
    assert_true(simcudaMemoryInUse(0) >= MIB(164));
    mam_free(mam, first);
    mam_free(mam, second);
    assert_true(simcudaMemoryInUse(0) >= MIB(164));
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    while (simcudaMemoryInUse(0) > MIB(64)) // whole extents
        assert_int_equal(poolMemPoolTrimTo(mam_pool(mam), MIB(64)), poolSuccess);
    assert_int_equal(simcudaMemoryInUse(0), MIB(64));
    mam_destroy(mam);
}

static void a_synchronise_leaves_the_chunk(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    mam_free(mam, mam_malloc(mam, MIB(3)));
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    assert_int_equal(simcudaMemoryInUse(0), MIB(64));
    mam_destroy(mam);
}

static void an_automatic_chunk_leaves_its_share_free(void **state) {
    (void)state;
    size_t available, total, left;
    assert_int_equal(sp_driver->cuMemGetInfo(&available, &total), CUDA_SUCCESS);
    for (unsigned int flags = poolMamDefault; flags <= poolMamFixed; flags++) {
        poolMam_t mam = NULL;
        assert_int_equal(poolMamCreateAuto(&mam, 0, flags), poolSuccess);
        mam_device_is_empty(0);
        mam_free(mam, mam_malloc(mam, 1));
        assert_int_equal(sp_driver->cuMemGetInfo(&left, &total), CUDA_SUCCESS);
        assert_in_range(left, total / 16 - MIB(2), total / 16 + MIB(32));
        mam_destroy(mam);
    }
}

static void the_share_is_at_most_half_of_what_is_free(void **state) {
    (void)state;
    assert_int_equal(sp_chunk_of_free(GIB(16), GIB(16)), GIB(15));
    assert_int_equal(sp_chunk_of_free(GIB(10), GIB(16)), GIB(9));
    assert_int_equal(sp_chunk_of_free(GIB(2), GIB(16)), GIB(1));
    assert_int_equal(sp_chunk_of_free(GIB(1), GIB(16)), MIB(512));
    assert_int_equal(sp_chunk_of_free(0, GIB(16)), 0);
}

static void an_automatic_chunk_is_asked_for_once_beside_what_others_have(void **state) {
    (void)state;
    poolMam_t others = mam_of(GIB(15), poolMamFixed), mam = NULL;
    mam_free(others, mam_malloc(others, 1));
    assert_int_equal(poolMamCreateAuto(&mam, 0, poolMamDefault), poolSuccess);
    mam_free(mam, mam_malloc(mam, 1));
    assert_in_range(simcudaMemoryInUse(0), GIB(15) + MIB(500), GIB(15) + MIB(514));
    mam_destroy(mam);
    mam_destroy(others);
}

static void a_chunk_that_does_not_fit_fails_and_can_be_taken_later(void **state) {
    (void)state;
    poolMam_t large = mam_of(GIB(12), poolMamFixed), mam = mam_of(GIB(6), poolMamDefault);
    void *kept = mam_malloc(large, GIB(12)), *pointer = &mam;
    for (int i = 0; i < 3; i++)
        mam_refused(poolMamMalloc(mam, &pointer, 100), poolErrorMemoryAllocation,
                    "taking a chunk of 6442450944 bytes: ");
    assert_ptr_equal(pointer, &mam);
    assert_int_equal(simcudaMemoryInUse(0), GIB(12));
    mam_free(large, kept);
    mam_destroy(large);
    mam_free(mam, mam_malloc(mam, 100));
    mam_destroy(mam);
}

static void a_full_device_takes_the_free_part_of_a_chunk_and_gives_it_back(void **state) {
    (void)state;
    poolMam_t mam = mam_of(GIB(10), poolMamFixed), other = mam_of(GIB(8), poolMamDefault);
    mam_free(mam, mam_malloc(mam, MIB(1)));
    mam_free(other, mam_malloc(other, GIB(8))); // the library gives back what the first has free
    assert_true(simcudaMemoryInUse(0) <= GIB(16));
    mam_destroy(other);
    mam_free(mam, mam_malloc(mam, GIB(10)));
    mam_destroy(mam);
}

// Nobody recorded anything behind these frees, and the second is within what a stream may hold
// back.
static void it_takes_a_chunk_whose_blocks_were_freed_without_a_synchronise(void **state) {
    (void)state;
    static const size_t sizes[] = {GIB(10), MIB(1)};
    for (size_t i = 0; i < 2; i++) {
        poolMam_t mam = mam_of(GIB(10), poolMamDefault), other = mam_of(GIB(8), poolMamDefault);
        mam_free(mam, mam_malloc(mam, sizes[i]));
        mam_free(other, mam_malloc(other, GIB(8)));
        mam_destroy(other);
        mam_destroy(mam);
    }
}

// ------------------------------------------------------------------------------------ the blocks

static void every_address_is_aligned(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    for (size_t size = 1; size < MIB(8); size = size * 3 + 1) {
        void *pointer = mam_malloc(mam, size);
        assert_int_equal((uintptr_t)pointer % 256, 0);
    }
    poolMemPool_t pool = mam_pool(mam);
    assert_true(fixture_used(pool) > 0);
    mam_destroy(mam);
}

// The whole of the chunk can be had again whichever of the blocks goes first.
static void what_is_freed_is_joined_with_both_neighbours(void **state) {
    (void)state;
    static const int orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3}, {1, 3, 0, 2}};
    for (size_t i = 0; i < 4; i++) {
        poolMam_t mam = mam_of(MIB(256), poolMamFixed);
        void *parts[4];
        for (int part = 0; part < 4; part++)
            parts[part] = mam_malloc(mam, MIB(64));
        for (int part = 0; part < 4; part++)
            mam_free(mam, parts[orders[i][part]]);
        uint64_t remaps = fixture_attribute(mam_pool(mam), poolMemPoolStatRemaps);
        void *all = mam_malloc(mam, MIB(256));
        assert_int_equal(fixture_attribute(mam_pool(mam), poolMemPoolStatRemaps), remaps);
        mam_free(mam, all);
        mam_destroy(mam);
    }
}

static void the_smallest_piece_that_fits_is_taken(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(256), poolMamFixed);
    void *large = mam_malloc(mam, MIB(64)), *wall = mam_malloc(mam, MIB(8));
    void *small = mam_malloc(mam, MIB(32)), *end = mam_malloc(mam, MIB(8));
    mam_free(mam, large);
    mam_free(mam, small);
    void *fitted = mam_malloc(mam, MIB(30));
    assert_ptr_equal(fitted, small);
    mam_free(mam, fitted);
    mam_free(mam, wall);
    mam_free(mam, end);
    mam_destroy(mam);
}

static void free_memory_in_pieces_serves_a_larger_block(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(256), poolMamFixed);
    void *parts[4];
    for (int part = 0; part < 4; part++)
        parts[part] = mam_malloc(mam, MIB(64));
    mam_free(mam, parts[0]);
    mam_free(mam, parts[2]);
    void *joined = mam_malloc(mam, MIB(128));
    mam_free(mam, joined);
    mam_free(mam, parts[1]);
    mam_free(mam, parts[3]);
    mam_destroy(mam);
}

static void a_free_is_immediate_though_streams_have_work(void **state) {
    (void)state;
    CUstream stream = simulated_stream();
    poolMam_t mam = mam_of(MIB(64), poolMamFixed);
    simulated_work(stream);
    void *pointer = mam_malloc(mam, MIB(64));
    mam_free(mam, pointer);
    assert_ptr_equal(mam_malloc(mam, MIB(64)), pointer);
    mam_free(mam, pointer);
    mam_destroy(mam);
}

// -------------------------------------------------------------------------------- the driver calls

static void a_malloc_and_a_free_call_no_driver(void **state) {
    (void)state;
    static const size_t sizes[] = {1, 512, KIB(56), KIB(64), MIB(1), MIB(100)};
    poolMam_t mam = mam_of(MIB(256), poolMamDefault);
    mam_free(mam, mam_malloc(mam, 1));
    uint64_t calls = mam_driver_calls();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *first = mam_malloc(mam, sizes[i]), *second = mam_malloc(mam, sizes[i]);
        mam_free(mam, first);
        mam_free(mam, mam_malloc(mam, sizes[i]));
        mam_free(mam, second);
    }
    assert_int_equal(mam_driver_calls(), calls);
    assert_int_equal(fixture_attribute(mam_pool(mam), poolMemPoolStatEventsRecorded), 0);
    mam_destroy(mam);
}

static void a_free_calls_no_driver_after_a_malloc_was_refused(void **state) {
    (void)state;
    void *more = NULL;
    poolMam_t mam = mam_of(MIB(64), poolMamFixed);
    void *large = mam_malloc(mam, MIB(40)), *small = mam_malloc(mam, MIB(10));
    mam_refused(poolMamMalloc(mam, &more, MIB(32)), poolErrorMemoryAllocation, "limit");
    uint64_t calls = mam_driver_calls();
    mam_free(mam, large);
    mam_free(mam, small);
    mam_free(mam, mam_malloc(mam, MIB(1)));
    assert_int_equal(mam_driver_calls(), calls);
    mam_destroy(mam);
    mam_device_is_empty(0);
}

// --------------------------------------------------------------------------------- what is refused

static void creating_refuses_what_makes_no_sense(void **state) {
    (void)state;
    poolMam_t mam = NULL;
    mam_refused(poolMamCreate(NULL, 1, 0, 0), poolErrorInvalidValue, "mam is null");
    mam_refused(poolMamCreate(&mam, 0, 0, 0), poolErrorInvalidValue, "0 bytes");
    mam_refused(poolMamCreate(&mam, 1, 0, 2), poolErrorInvalidValue, "0x2");
    mam_refused(poolMamCreate(&mam, SIZE_MAX, 0, 0), poolErrorMemoryAllocation, "no device has");
    mam_refused(poolMamCreate(&mam, 1, 1, 0), poolErrorInvalidDevice, "1");
    mam_refused(poolMamCreate(&mam, 1, -1, 0), poolErrorInvalidDevice, "-1");
    mam_refused(poolMamCreateAuto(NULL, 0, 0), poolErrorInvalidValue, "mam is null");
    mam_refused(poolMamCreateAuto(&mam, 0, 4), poolErrorInvalidValue, "0x4");
    mam_refused(poolMamCreateAuto(&mam, 7, 0), poolErrorInvalidDevice, "7");
    assert_null(mam);
}

static void a_chunk_beyond_the_device_is_refused_by_the_first_malloc(void **state) {
    (void)state;
    for (unsigned int flags = poolMamDefault; flags <= poolMamFixed; flags++) {
        poolMam_t mam = mam_of(GIB(17), flags);
        void *pointer = NULL;
        mam_refused(poolMamMalloc(mam, &pointer, 1), poolErrorMemoryAllocation, "taking a chunk");
        mam_destroy(mam);
    }
    poolMam_t mam = mam_of(PTRDIFF_MAX, poolMamFixed);
    void *pointer = NULL;
    mam_refused(poolMamMalloc(mam, &pointer, 1), poolErrorMemoryAllocation, "taking a chunk");
    mam_destroy(mam);
}

static void malloc_refuses_a_null_pointer_and_what_no_device_has(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    void *pointer = &mam;
    mam_refused(poolMamMalloc(mam, NULL, 1), poolErrorInvalidValue, "ptr is null");
    mam_refused(poolMamMalloc(mam, &pointer, SIZE_MAX), poolErrorMemoryAllocation, "");
    mam_refused(poolMamMalloc(mam, &pointer, GIB(17)), poolErrorMemoryAllocation, "");
    assert_ptr_equal(pointer, &mam);
    mam_free(mam, mam_malloc(mam, MIB(64)));
    mam_destroy(mam);
}

static void a_second_free_is_refused(void **state) {
    (void)state;
    static const size_t sizes[] = {100, KIB(64), MIB(10)};
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    for (size_t i = 0; i < 3; i++) {
        void *pointer = mam_malloc(mam, sizes[i]);
        mam_free(mam, pointer);
        mam_refused(poolMamFree(mam, pointer), poolErrorInvalidValue, "was freed already");
    }
    mam_destroy(mam);
}

static void an_address_inside_of_a_block_is_refused(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    char *small = mam_malloc(mam, 4096), *large = mam_malloc(mam, MIB(1));
    mam_refused(poolMamFree(mam, small + 256), poolErrorInvalidValue, "lies inside of the block");
    mam_refused(poolMamFree(mam, large + KIB(512)), poolErrorInvalidValue, "lies inside of");
    mam_free(mam, small);
    mam_free(mam, large);
    mam_destroy(mam);
}

// None of them is freed.
static void what_is_not_of_this_manager_is_refused(void **state) {
    (void)state;
    CUdeviceptr direct = 0;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault), other = mam_of(MIB(64), poolMamDefault);
    poolMemPool_t pool = fixture_pool();
    CUstream stream = simulated_stream();
    void *of_other = mam_malloc(other, 100), *of_pool = fixture_malloc(pool, 100, stream);
    assert_int_equal(sp_driver->cuMemAlloc(&direct, 4096), CUDA_SUCCESS);
    for (int i = 0; i < 2; i++) { // without a chunk, and with it
        mam_refused(poolMamFree(mam, of_other), poolErrorInvalidValue, "another manager or pool");
        mam_refused(poolMamFree(mam, of_pool), poolErrorInvalidValue, "another manager or pool");
        mam_refused(poolMamFree(mam, &mam), poolErrorInvalidValue, "is no memory of a pool");
        mam_refused(poolMamFree(mam, (void *)(uintptr_t)direct), poolErrorInvalidValue,
                    "is no memory of a pool");
        mam_free(mam, mam_malloc(mam, 100));
    }
    assert_int_equal(sp_driver->cuMemFree(direct), CUDA_SUCCESS);
    fixture_free(of_pool, stream);
    mam_free(other, of_other);
    mam_destroy(mam);
    mam_destroy(other);
}

static void a_handle_that_is_none_is_refused_by_every_call(void **state) {
    (void)state;
    poolMam_t gone = mam_of(MIB(64), poolMamDefault);
    mam_free(gone, mam_malloc(gone, 100));
    mam_destroy(gone);
    poolMam_t next = mam_of(MIB(64), poolMamDefault); // in its place
    poolMam_t handles[] = {NULL, gone, (poolMam_t)(uintptr_t)5, (poolMam_t)(uintptr_t)-1};
    assert_ptr_not_equal(gone, next);
    for (size_t i = 0; i < sizeof handles / sizeof handles[0]; i++) {
        void *pointer = NULL;
        poolMemPool_t pool = NULL;
        mam_refused(poolMamMalloc(handles[i], &pointer, 1), poolErrorInvalidValue, "is no manager");
        mam_refused(poolMamFree(handles[i], &gone), poolErrorInvalidValue, "is no manager");
        mam_refused(poolMamGetPool(handles[i], &pool), poolErrorInvalidValue, "is no manager");
        if (handles[i])
            mam_refused(poolMamDestroy(handles[i]), poolErrorInvalidValue, "is no manager");
    }
    assert_int_equal(poolMamDestroy(NULL), poolSuccess);
    mam_destroy(next);
}

static void there_are_so_many_managers_and_no_more(void **state) {
    (void)state;
    static poolMam_t all[SP_MANAGER_PLACES];
    poolMam_t more = NULL;
    for (size_t i = 1; i < SP_MANAGER_PLACES; i++)
        all[i] = mam_of(MIB(2), poolMamDefault);
    mam_refused(poolMamCreate(&more, MIB(2), 0, 0), poolErrorMemoryAllocation, "1023 managers");
    assert_null(more);
    mam_destroy(all[500]);
    all[500] = mam_of(MIB(2), poolMamDefault);
    for (size_t i = 1; i < SP_MANAGER_PLACES; i++)
        mam_destroy(all[i]);
}

// ------------------------------------------------------------------------------ the end, the pool

static void live_blocks_outlive_their_manager(void **state) {
    (void)state;
    unsigned char byte = 0, written = 77;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    void *small = mam_malloc(mam, 100), *large = mam_malloc(mam, MIB(10));
    assert_int_equal(simcudaPoke((uintptr_t)large, &written, 1), CUDA_SUCCESS);
    mam_destroy(mam);
    assert_int_equal(simcudaPeek(&byte, (uintptr_t)large, 1), CUDA_SUCCESS);
    assert_int_equal(byte, written);
    mam = mam_of(MIB(64), poolMamDefault);
    mam_refused(poolMamFree(mam, large), poolErrorInvalidValue, "another manager or pool");
    mam_destroy(mam);
    assert_int_equal(poolFree(small), poolSuccess);
    assert_int_equal(poolFree(large), poolSuccess);
    fixture_synchronize(simulated_stream());
    mam_device_is_empty(0);
}

// Where many pools wait for their live blocks the next ones record an event at each free.
static void destroying_waits_for_an_event_of_its_own(void **state) {
    (void)state;
    enum { WAITING = 6 };
    void *live[WAITING];
    for (int i = 0; i < WAITING; i++) {
        poolMam_t early = mam_of(MIB(32), poolMamDefault);
        live[i] = mam_malloc(early, MIB(1));
        mam_destroy(early);
    }
    uint64_t before = simcudaMemoryInUse(0);
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    mam_free(mam, mam_malloc(mam, MIB(64)));
    mam_destroy(mam);
    assert_int_equal(simcudaMemoryInUse(0), before);
    for (int i = 0; i < WAITING; i++)
        assert_int_equal(poolFree(live[i]), poolSuccess);
    assert_int_equal(poolDeviceSynchronize(), poolSuccess);
    mam_device_is_empty(0);
}

static void a_manager_can_be_made_again_at_any_time(void **state) {
    (void)state;
    for (int i = 0; i < 50; i++) {
        poolMam_t mam = mam_of(MIB(64), poolMamDefault);
        mam_free(mam, mam_malloc(mam, MIB(1)));
        mam_destroy(mam);
        mam_device_is_empty(0);
    }
    assert_int_equal(simcudaCallCount("cuStreamCreate"), simcudaCallCount("cuStreamDestroy"));
}

static void the_pool_tells_what_the_manager_holds(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    poolMemPool_t pool = mam_pool(mam);
    assert_int_equal(simcudaMemoryInUse(0), MIB(64));
    assert_int_equal(fixture_reserved(pool), MIB(64));
    void *pointer = mam_malloc(mam, 12345);
    assert_int_equal(fixture_used(pool), 12345);
    fixture_check(pool);
    mam_free(mam, pointer);
    assert_int_equal(fixture_used(pool), 0);
    mam_refused(poolMamGetPool(mam, NULL), poolErrorInvalidValue, "pool is null");
    mam_destroy(mam);
    uint64_t value;
    assert_int_equal(poolMemPoolGetAttribute(pool, poolMemPoolAttrReservedMemCurrent, &value),
                     poolErrorInvalidValue);
}

static void a_trim_gives_back_what_is_free_and_the_manager_takes_it_again(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(256), poolMamFixed);
    void *kept = mam_malloc(mam, MIB(1)), *dropped = mam_malloc(mam, MIB(200));
    mam_free(mam, dropped);
    fixture_trim(mam_pool(mam), 0);
    assert_in_range(simcudaMemoryInUse(0), MIB(1), MIB(16));
    mam_free(mam, mam_malloc(mam, MIB(200)));
    mam_free(mam, kept);
    mam_free(mam, mam_malloc(mam, MIB(256)));
    assert_int_equal(simcudaMemoryInUse(0), MIB(256));
    mam_destroy(mam);
}

// More large blocks than a manager notes, in an order in which each takes the place of others.
static void more_large_blocks_than_are_noted_are_freed_too(void **state) {
    (void)state;
    enum { BLOCKS = 1000 };
    static void *blocks[BLOCKS];
    poolMam_t mam = mam_of(GIB(2), poolMamFixed);
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = mam_malloc(mam, MIB(2));
    for (int i = 0; i < BLOCKS; i++) {
        mam_free(mam, blocks[(i * 7) % BLOCKS]);
        mam_refused(poolMamFree(mam, blocks[(i * 7) % BLOCKS]), poolErrorInvalidValue,
                    "was freed already");
    }
    mam_free(mam, mam_malloc(mam, GIB(2)));
    mam_destroy(mam);
}

// An observer runs in the middle of a malloc.
static poolMam_t observed;
static poolError_t refused;

static void observe(const struct poolMemPoolGrowth *growth, void *user) {
    (void)growth;
    mam_free(observed, mam_malloc(observed, 100));
    mam_free(user, mam_malloc(user, 100));
    refused = poolMamDestroy(observed);
}

static void an_observer_of_growths_may_allocate_and_not_destroy(void **state) {
    (void)state;
    poolMam_t other = mam_of(MIB(64), poolMamDefault);
    observed = mam_of(MIB(64), poolMamDefault);
    refused = poolSuccess;
    assert_int_equal(poolMemPoolSetGrowthObserver(mam_pool(observed), observe, other), poolSuccess);
    void *pointer = mam_malloc(observed, MIB(100));
    mam_refused(refused, poolErrorNotPermitted, "observer");
    mam_free(observed, pointer);
    mam_destroy(observed);
    mam_destroy(other);
}

static void a_call_that_succeeds_leaves_the_last_error(void **state) {
    (void)state;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    poolGetLastError();
    mam_refused(poolMamFree(mam, &mam), poolErrorInvalidValue, "");
    mam_free(mam, mam_malloc(mam, 100));
    assert_int_equal(poolGetLastError(), poolErrorInvalidValue);
    assert_int_equal(poolGetLastError(), poolSuccess);
    mam_destroy(mam);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_chunk_is_taken_by_the_first_malloc_and_whole),
        TEST(a_chunk_serves_a_block_of_its_own_size),
        TEST(a_manager_that_was_never_used_takes_nothing),
        TEST(a_fixed_chunk_is_rounded_up_to_its_step_and_never_exceeded),
        TEST(beyond_the_chunk_memory_grows_and_goes_back),
        TEST(a_synchronise_leaves_the_chunk),
        TEST(an_automatic_chunk_leaves_its_share_free),
        TEST(the_share_is_at_most_half_of_what_is_free),
        TEST(an_automatic_chunk_is_asked_for_once_beside_what_others_have),
        TEST(a_chunk_that_does_not_fit_fails_and_can_be_taken_later),
        TEST(a_full_device_takes_the_free_part_of_a_chunk_and_gives_it_back),
        TEST(it_takes_a_chunk_whose_blocks_were_freed_without_a_synchronise),
        TEST(every_address_is_aligned),
        TEST(what_is_freed_is_joined_with_both_neighbours),
        TEST(the_smallest_piece_that_fits_is_taken),
        TEST(free_memory_in_pieces_serves_a_larger_block),
        TEST(a_free_is_immediate_though_streams_have_work),
        TEST(a_malloc_and_a_free_call_no_driver),
        TEST(a_free_calls_no_driver_after_a_malloc_was_refused),
        TEST(creating_refuses_what_makes_no_sense),
        TEST(a_chunk_beyond_the_device_is_refused_by_the_first_malloc),
        TEST(malloc_refuses_a_null_pointer_and_what_no_device_has),
        TEST(a_second_free_is_refused),
        TEST(an_address_inside_of_a_block_is_refused),
        TEST(what_is_not_of_this_manager_is_refused),
        TEST(a_handle_that_is_none_is_refused_by_every_call),
        TEST(there_are_so_many_managers_and_no_more),
        TEST(live_blocks_outlive_their_manager),
        cmocka_unit_test_setup_teardown(destroying_waits_for_an_event_of_its_own, setup_latest,
                                        fixture_teardown),
        TEST(a_manager_can_be_made_again_at_any_time),
        TEST(the_pool_tells_what_the_manager_holds),
        TEST(a_trim_gives_back_what_is_free_and_the_manager_takes_it_again),
        TEST(more_large_blocks_than_are_noted_are_freed_too),
        TEST(an_observer_of_growths_may_allocate_and_not_destroy),
        TEST(a_call_that_succeeds_leaves_the_last_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
