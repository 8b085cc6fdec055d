// Rows of malloc and free: what succeeds, and what misuse is answered with.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

// What a failing call must not write over.
#define UNTOUCHED ((void *)(uintptr_t)0x5a5a)

// ------------------------------------------------------------------------------------------ malloc

void row_malloc_of_zero_bytes_is_a_null_pointer(void) {
    CUstream stream = test_stream();
    void *pointer = UNTOUCHED;
    EXPECT(poolMallocAsync(&pointer, 0, stream), poolSuccess);
    REQUIRE(!pointer);
    pointer = UNTOUCHED;
    EXPECT(poolMallocFromPoolAsync(&pointer, 0, test_pool(), stream), poolSuccess);
    REQUIRE(!pointer);
}

void row_malloc_aligns_every_size_to_512_bytes(void) {
    static const size_t sizes[] = {
        1,          2,           511,         512,      513,          1000,
        KIB(4),     KIB(64) + 1, KIB(100),    KIB(512), MIB(1) - 1,   MIB(1),
        MIB(1) + 1, MIB(2),      MIB(3) + 77, MIB(10),  MIB(33) + 513};
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            REQUIRE((uintptr_t)test_malloc(pool, sizes[i], stream) % 512 == 0);
    }
}

void row_malloc_takes_from_the_current_pool_of_the_streams_device(void) {
    CUstream stream = test_stream();
    poolMemPool_t own = test_pool(), first = test_default_pool(0);
    void *pointer = NULL;
    EXPECT(poolMallocAsync(&pointer, 100, stream), poolSuccess);
    REQUIRE_EQUAL(test_used(first), 100);

    EXPECT(poolDeviceSetMemPool(0, own), poolSuccess);
    EXPECT(poolMallocAsync(&pointer, 7, stream), poolSuccess);
    REQUIRE_EQUAL(test_used(own), 7);
    REQUIRE_EQUAL(test_used(first), 100);
}

void row_malloc_gives_memory_that_keeps_what_is_written(void) {
    static const size_t sizes[] = {1, 300, 512, KIB(5), KIB(900), MIB(3), MIB(40)};
    enum { COUNT = 3 * sizeof sizes / sizeof sizes[0] };
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    void *pointers[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        pointers[i] = test_malloc(pool, sizes[i % (COUNT / 3)], stream);
        test_fill(pointers[i], (unsigned char)(i + 1), sizes[i % (COUNT / 3)], stream);
    }
    test_finish(stream);
    for (unsigned i = 0; i < COUNT; i++)
        REQUIRE(test_is_filled(pointers[i], (unsigned char)(i + 1), sizes[i % (COUNT / 3)]));
}

void row_malloc_without_a_place_for_the_pointer_is_invalid(void) {
    CUstream stream = test_stream();
    poolMemPool_t pool = test_pool();
    EXPECT(poolMallocAsync(NULL, 512, stream), poolErrorInvalidValue);
    EXPECT(poolMallocAsync(NULL, 0, stream), poolErrorInvalidValue);
    EXPECT(poolMallocFromPoolAsync(NULL, 512, pool, stream), poolErrorInvalidValue);
    REQUIRE_EQUAL(test_used(pool), 0);
}

void row_malloc_of_an_absurd_size_fails_and_changes_nothing(void) {
    static const size_t sizes[] = {(size_t)1 << 50, SIZE_MAX, SIZE_MAX - 511, SIZE_MAX - MIB(2) + 1,
                                   SIZE_MAX / 2};
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    test_malloc(pool, 1000, stream);
    struct test_figures before = test_figures(pool);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = UNTOUCHED;
        EXPECT(poolMallocFromPoolAsync(&pointer, sizes[i], pool, stream),
               poolErrorMemoryAllocation);
        REQUIRE(pointer == UNTOUCHED);
        REQUIRE_FIGURES(pool, before);
        EXPECT(poolMallocAsync(&pointer, sizes[i], stream), poolErrorMemoryAllocation);
        REQUIRE(pointer == UNTOUCHED);
    }
}

// The device of the context that a call has left current.
static CUdevice current_device(void) {
    CUdevice device = -1;
    DRIVER(test_driver()->cuCtxGetDevice(&device));
    return device;
}

void row_malloc_on_a_default_stream_needs_no_context(void) {
    static const CUstream defaults[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    poolMemPool_t pool = test_pool();
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        void *pointer = UNTOUCHED;
        test_use_no_context();
        EXPECT(poolMallocAsync(&pointer, 512, defaults[i]), poolSuccess);
        REQUIRE(current_device() == 0);
        test_fill(pointer, 5, 512, defaults[i]);
        test_use_no_context();
        EXPECT(poolFreeAsync(pointer, defaults[i]), poolSuccess);
        test_use_no_context();
        EXPECT(poolMallocAsync_ptsz(&pointer, 512, defaults[i]), poolSuccess);
        EXPECT(poolFreeAsync_ptsz(pointer, defaults[i]), poolSuccess);
        test_use_no_context();
        EXPECT(poolMallocFromPoolAsync(&pointer, 512, pool, defaults[i]), poolSuccess);
        EXPECT(poolFreeAsync(pointer, defaults[i]), poolSuccess);
        REQUIRE(current_device() == 0);
    }
    REQUIRE_EQUAL(test_used(pool), 0);
}

static void *allocate_in_a_fresh_thread(void *pool) {
    test_free(test_malloc(pool, 512, NULL), NULL);
    EXPECT(poolStreamSynchronize(CU_STREAM_PER_THREAD), poolSuccess);
    REQUIRE(current_device() == 0);
    return NULL;
}

void row_a_fresh_thread_needs_no_context(void) {
    pthread_t threads[4];
    poolMemPool_t pool = test_pool();
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
        REQUIRE(pthread_create(&threads[i], NULL, allocate_in_a_fresh_thread, pool) == 0);
    for (size_t i = 0; i < sizeof threads / sizeof threads[0]; i++)
        REQUIRE(pthread_join(threads[i], NULL) == 0);
    REQUIRE_EQUAL(test_used(pool), 0);
}

void row_a_synchronise_needs_no_context(void) {
    CUevent event = test_event();
    test_use_no_context();
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    test_use_no_context();
    EXPECT(poolStreamSynchronize(NULL), poolSuccess);
    test_use_no_context();
    EXPECT(poolStreamQuery(NULL), poolSuccess);
    test_use_no_context();
    EXPECT(poolEventRecord(event, NULL), poolSuccess);
    test_use_no_context();
    EXPECT(poolStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0), poolSuccess);
    REQUIRE(current_device() == 0);
}

void row_malloc_on_a_users_stream_needs_no_context(void) {
    CUstream stream = test_stream();
    poolMemPool_t pool = test_pool();
    test_use_no_context();
    void *pointer = NULL;
    EXPECT(poolMallocAsync(&pointer, 512, stream), poolSuccess);
    EXPECT(poolFreeAsync(pointer, stream), poolSuccess);
    test_free(test_malloc(pool, MIB(40), stream), stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

static void run_thread(void *(*run)(void *), void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, run, argument) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

static void *destroy_context(void *context) {
    DRIVER(test_driver()->cuCtxDestroy(context));
    return NULL;
}

struct contextless {
    poolMemPool_t pool;
    CUstream stream;
    bool has_destroyed; // one that is current, and of no use
};

static void *use_created_stream(void *argument) {
    const struct contextless *use = argument;
    CUcontext before = NULL, after = NULL;
    if (use->has_destroyed) {
        DRIVER(test_driver()->cuCtxCreate(&before, 0, 0));
        run_thread(destroy_context, before);
    }
    DRIVER(test_driver()->cuCtxGetCurrent(&before));
    test_free(test_malloc(use->pool, 512, use->stream), use->stream);
    test_free(test_malloc(use->pool, MIB(40), use->stream), use->stream);
    EXPECT(poolStreamSynchronize(use->stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(use->pool, 0), poolSuccess);
    DRIVER(test_driver()->cuCtxGetCurrent(&after));
    REQUIRE(after == before);
    return NULL;
}

void row_a_users_stream_needs_no_context_in_any_thread(void) {
    struct contextless use = {test_pool(), test_stream(), false};
    run_thread(use_created_stream, &use);
    use.has_destroyed = true;
    run_thread(use_created_stream, &use);
    REQUIRE_EQUAL(test_reserved(use.pool), 0);
}

void row_malloc_from_a_pool_takes_from_that_pool(void) {
    poolMemPool_t pool = test_pool(), other = test_pool();
    CUstream stream = test_stream();
    EXPECT(poolDeviceSetMemPool(0, other), poolSuccess);
    test_malloc(pool, 123, stream);
    REQUIRE_EQUAL(test_used(pool), 123);
    REQUIRE_EQUAL(test_used(other), 0);
    REQUIRE_EQUAL(test_used(test_default_pool(0)), 0);
}

void row_malloc_from_no_pool_is_invalid(void) {
    CUstream stream = test_stream();
    void *pointer = UNTOUCHED;
    EXPECT(poolMallocFromPoolAsync(&pointer, 512, NULL, stream), poolErrorInvalidValue);
    EXPECT(poolMallocFromPoolAsync(&pointer, 0, NULL, stream), poolErrorInvalidValue);
    REQUIRE(pointer == UNTOUCHED);
}

void row_malloc_from_a_destroyed_pool_is_invalid(void) {
    CUstream stream = test_stream();
    poolMemPool_t pool = test_pool();
    test_malloc(pool, 512, stream);
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    void *pointer = UNTOUCHED;
    EXPECT(poolMallocFromPoolAsync(&pointer, 512, pool, stream), poolErrorInvalidValue);
    REQUIRE(pointer == UNTOUCHED);
}

// -------------------------------------------------------------------------------------------- free

void row_free_of_null_succeeds(void) {
    EXPECT(poolFreeAsync(NULL, test_stream()), poolSuccess);
    EXPECT(poolFree(NULL), poolSuccess);
}

void row_free_may_name_any_stream_that_comes_after_the_uses(void) {
    static const size_t sizes[] = {512, KIB(300), MIB(40)};
    const struct sp_driver *driver = test_driver();
    poolMemPool_t pool = test_pool();
    CUstream a = test_stream(), b = test_stream();
    CUevent used = test_event();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = test_malloc(pool, sizes[i], a);
        test_fill(pointer, 1, sizes[i], a);
        DRIVER(driver->cuEventRecord(used, a));
        DRIVER(driver->cuStreamWaitEvent(b, used, 0));
        test_free(pointer, b);
        REQUIRE_EQUAL(test_used(pool), 0);
    }
    EXPECT(poolStreamSynchronize(b), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_free_twice_is_invalid(void) {
    static const size_t sizes[] = {512, KIB(300), MIB(40)};
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = test_malloc(pool, sizes[i], stream);
        test_free(pointer, stream);
        struct test_figures before = test_figures(pool);
        EXPECT(poolFreeAsync(pointer, stream), poolErrorInvalidValue);
        REQUIRE_FIGURES(pool, before);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
        EXPECT(poolFreeAsync(pointer, stream), poolErrorInvalidValue);
    }
    REQUIRE(test_malloc(pool, 512, stream) != test_malloc(pool, 512, stream));
}

void row_free_of_an_interior_pointer_is_invalid(void) {
    static const size_t sizes[] = {600, KIB(300), MIB(40)};
    static const size_t offsets[] = {1, 8, 511, 512, 599};
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char *pointer = test_malloc(pool, sizes[i], stream);
        struct test_figures before = test_figures(pool);
        for (size_t k = 0; k < sizeof offsets / sizeof offsets[0]; k++)
            EXPECT(poolFreeAsync(pointer + offsets[k], stream), poolErrorInvalidValue);
        EXPECT(poolFreeAsync(pointer + sizes[i] / 2, stream), poolErrorInvalidValue);
        EXPECT(poolFree(pointer + sizes[i] / 2), poolErrorInvalidValue);
        REQUIRE_FIGURES(pool, before);
        test_free(pointer, stream);
    }
}

void row_free_of_a_host_pointer_is_invalid(void) {
    CUstream stream = test_stream();
    int local = 0;
    void *heap = malloc(512);
    REQUIRE(heap);
    test_malloc(test_pool(), 512, stream);
    EXPECT(poolFreeAsync(&local, stream), poolErrorInvalidValue);
    EXPECT(poolFreeAsync(heap, stream), poolErrorInvalidValue);
    EXPECT(poolFreeAsync((void *)UINTPTR_MAX, stream), poolErrorInvalidValue);
    EXPECT(poolFreeAsync((void *)(uintptr_t)1, stream), poolErrorInvalidValue);
    EXPECT(poolFree(&local), poolErrorInvalidValue);
    free(heap);
}

static void *driver_memory(size_t size) {
    CUdeviceptr other;
    DRIVER(test_driver()->cuMemAlloc(&other, size));
    return (void *)(uintptr_t)other;
}

// Before CUDA 11.2 a driver frees none of its memory in a stream's order.
void row_free_of_other_memory_of_the_device_is_the_drivers(void) {
    static const CUstream defaults[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    enum { DEFAULTS = sizeof defaults / sizeof defaults[0] };
    CUstream stream = test_stream();
    poolMemPool_t pool = test_pool();
    bool in_order = test_driver()->cuMemFreeAsync != NULL;
    test_malloc(pool, 512, stream);
    for (size_t i = 0; i <= DEFAULTS; i++) {
        CUstream freeing = i < DEFAULTS ? defaults[i] : stream;
        void *other = driver_memory(MIB(1));
        test_fill(other, 3, MIB(1), freeing);
        EXPECT(poolFreeAsync(other, freeing), in_order ? poolSuccess : poolErrorInvalidValue);
        EXPECT(poolStreamSynchronize(freeing), poolSuccess);
        if (!in_order)
            EXPECT(poolFree(other), poolSuccess);
    }
    REQUIRE_EQUAL(test_used(pool), 512);
}

void row_free_of_other_memory_in_no_streams_order_is_the_drivers(void) {
    CUstream stream = test_stream();
    void *other = driver_memory(MIB(1));
    test_fill(other, 3, MIB(1), stream);
    EXPECT(poolFree(other), poolSuccess);
    other = driver_memory(MIB(1));
    EXPECT(poolFree(other), poolSuccess);
}

void row_free_on_a_default_stream_needs_no_context(void) {
    static const CUstream defaults[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof defaults / sizeof defaults[0]; i++) {
        void *pointer = test_malloc(pool, 600, stream);
        test_finish(stream);
        test_use_no_context();
        EXPECT(poolFreeAsync(pointer, defaults[i]), poolSuccess);
        REQUIRE(current_device() == 0);
    }
    REQUIRE_EQUAL(test_used(pool), 0);
}

void row_free_in_no_streams_order_does_not_wait(void) {
    static const size_t sizes[] = {512, KIB(300), MIB(40)};
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    struct test_hold hold;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = test_malloc(pool, sizes[i], stream);
        test_hold(&hold, stream);
        EXPECT(poolFree(pointer), poolSuccess);
        EXPECT(poolStreamQuery(stream), poolErrorNotReady);
        REQUIRE_EQUAL(test_used(pool), 0);
        test_let_go(&hold);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
    }
}

void row_free_in_no_streams_order_twice_is_invalid(void) {
    static const size_t sizes[] = {512, KIB(300), MIB(40)};
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = test_malloc(pool, sizes[i], stream);
        test_finish(stream);
        EXPECT(poolFree(pointer), poolSuccess);
        EXPECT(poolFree(pointer), poolErrorInvalidValue);
        EXPECT(poolFreeAsync(pointer, stream), poolErrorInvalidValue);
    }
    REQUIRE_EQUAL(test_used(pool), 0);
}

// ----------------------------------------------------------------------------------------- capture

static void end_capture_that_is_valid(CUstream stream) {
    CUstreamCaptureStatus status;
    CUgraph graph = NULL;
    DRIVER(test_driver()->cuStreamIsCapturing(stream, &status));
    REQUIRE(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    DRIVER(test_driver()->cuStreamEndCapture(stream, &graph));
    DRIVER(test_driver()->cuGraphDestroy(graph));
}

void row_a_capturing_stream_is_refused_an_allocation(void) {
    static const size_t sizes[] = {512, KIB(300), MIB(40)};
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    test_free(test_malloc(pool, 512, stream), stream);
    struct test_figures before = test_figures(pool);
    DRIVER(test_driver()->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = UNTOUCHED;
        EXPECT(poolMallocFromPoolAsync(&pointer, sizes[i], pool, stream),
               poolErrorStreamCaptureUnsupported);
        REQUIRE(pointer == UNTOUCHED);
    }
    REQUIRE_FIGURES(pool, before);
    end_capture_that_is_valid(stream);
    test_malloc(pool, 512, stream);
}

void row_the_legacy_stream_is_refused_an_allocation_while_a_blocking_stream_captures(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_blocking_stream();
    struct test_figures before = test_figures(pool);
    DRIVER(test_driver()->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    void *pointer = UNTOUCHED;
    EXPECT(poolMallocFromPoolAsync(&pointer, 512, pool, CU_STREAM_LEGACY),
           poolErrorStreamCaptureImplicit);
    EXPECT(poolMallocFromPoolAsync(&pointer, 512, pool, NULL), poolErrorStreamCaptureImplicit);
    REQUIRE(pointer == UNTOUCHED);
    REQUIRE_FIGURES(pool, before);
    end_capture_that_is_valid(stream);
}

void row_the_legacy_stream_is_refused_a_free_while_a_blocking_stream_captures(void) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_blocking_stream();
    void *pointer = test_malloc(pool, 512, CU_STREAM_LEGACY);
    struct test_figures before = test_figures(pool);
    DRIVER(test_driver()->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(poolFreeAsync(pointer, CU_STREAM_LEGACY), poolErrorStreamCaptureImplicit);
    EXPECT(poolFreeAsync(pointer, NULL), poolErrorStreamCaptureImplicit);
    REQUIRE_FIGURES(pool, before);
    end_capture_that_is_valid(stream);
    test_free(pointer, CU_STREAM_LEGACY);
}

void row_a_capturing_stream_is_refused_a_free_and_both_stay_valid(void) {
    static const size_t sizes[] = {512, KIB(300), MIB(40)};
    poolMemPool_t pool = test_pool();
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *pointer = test_malloc(pool, sizes[i], stream);
        test_fill(pointer, 9, sizes[i], stream);
        test_finish(stream);
        DRIVER(test_driver()->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
        EXPECT(poolFreeAsync(pointer, stream), poolErrorInvalidValue);
        REQUIRE_EQUAL(test_used(pool), sizes[i]);
        end_capture_that_is_valid(stream);
        REQUIRE(test_is_filled(pointer, 9, sizes[i]));
        test_free(pointer, stream);
        REQUIRE_EQUAL(test_used(pool), 0);
    }
}
