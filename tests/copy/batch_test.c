// Many pieces at once: of all kinds of memory, both ways, by the kernel and by the driver.
#include "copy/fixture.h"

#include "copy/gather.h"

#include <stdlib.h>
#include <string.h>

enum { PIECES = 300 };
#define BYTES ((size_t)MIB(2))

static CUstream stream;
static CUdeviceptr device, other;
static unsigned char *pinned, *pageable, *model;

static int begin_with(const char *settings) {
    int failed = copy_begin(settings);
    stream = simulated_stream();
    device = copy_device(BYTES);
    other = copy_device(BYTES);
    pinned = copy_pinned(BYTES);
    pageable = copy_host(BYTES);
    model = copy_host(BYTES);
    copy_fill(pinned, BYTES, 1);
    copy_fill(pageable, BYTES, 2);
    memset(model, 0, BYTES);
    copy_poke(device, model, BYTES);
    copy_settings(2, 2, KIB(64));
    return failed;
}

static int begin(void **state) {
    (void)state;
    return begin_with(NULL);
}

// ------------------------------------------------------------------------------- what is launched

// The addresses of all pieces that the kernel was given, one over the other: by the linker.
static uint64_t from_bits, to_bits;

// How long another kernel has the device, from the time at which the stream comes to ours.
static uint64_t occupied_ns;

struct sp_outcome __real_sp_gather_launch(CUfunction kernel, int device_of_stream,
                                          const struct sp_gather_piece *pieces, size_t count,
                                          CUstream its_stream);
struct sp_outcome __wrap_sp_gather_launch(CUfunction kernel, int device_of_stream,
                                          const struct sp_gather_piece *pieces, size_t count,
                                          CUstream its_stream);

struct sp_outcome __wrap_sp_gather_launch(CUfunction kernel, int device_of_stream,
                                          const struct sp_gather_piece *pieces, size_t count,
                                          CUstream its_stream) {
    for (size_t i = 0; i < count; i++) {
        from_bits |= pieces[i].from;
        to_bits |= pieces[i].to;
    }
    const simcudaWork work = {.name = "another kernel", .duration = occupied_ns};
    if (occupied_ns > 0)
        assert_int_equal(simcudaEnqueue(its_stream, &work), 0);
    return __real_sp_gather_launch(kernel, device_of_stream, pieces, count, its_stream);
}

// ---------------------------------------------------------------------------------------- batches

struct batch {
    void *to[PIECES];
    const void *from[PIECES];
    size_t sizes[PIECES];
    size_t count;
};

static void add(struct batch *batch, void *to, const void *from, size_t bytes) {
    assert_true(batch->count < PIECES);
    batch->to[batch->count] = to;
    batch->from[batch->count] = from;
    batch->sizes[batch->count++] = bytes;
}

static poolError_t give(const struct batch *batch) {
    return poolCopyBatchAsync(batch->to, batch->from, batch->sizes, batch->count, stream);
}

static void *at(size_t offset) {
    return copy_pointer(device + offset);
}

static uint64_t launches(void) {
    return simcudaCallCount("cuLaunchKernel");
}

// A kernel that was timed has two events, until a later batch has looked at them. The first batch
// here may be timed too.
static int end(void **state) {
    for (int i = 0; i < 2; i++) {
        struct batch small = {.count = 0};
        simcudaCompleteAll();
        add(&small, at(0), pinned, 1);
        copy_good(give(&small));
    }
    free(pageable);
    free(model);
    return copy_teardown(state);
}

// Sizes and places of all alignments, without overlaps.
static size_t a_size(size_t i) {
    static const size_t sizes[] = {1, 4, 16, 17, 100, 256, 1000, 4096, 5000, 4095};
    return sizes[i % 10];
}

static void add_scattered(struct batch *batch, unsigned char *host, bool to_device) {
    for (size_t i = 0; i < 250; i++) {
        size_t place = i * 8000 + i % 19, from = (249 - i) * 8000 + i % 23, size = a_size(i);
        if (to_device)
            add(batch, at(place), host + from, size);
        else
            add(batch, host + from, at(place), size);
    }
}

static void copy_scattered(unsigned char *host) {
    struct batch in = {.count = 0}, out = {.count = 0};
    add_scattered(&in, host, true);
    for (size_t i = 0; i < in.count; i++)
        memcpy(model + ((uintptr_t)in.to[i] - device), in.from[i], in.sizes[i]);
    copy_good(give(&in));
    copy_finish(stream);
    unsigned char *seen = copy_host(BYTES);
    copy_peek(seen, device, BYTES);
    assert_memory_equal(seen, model, BYTES);
    free(seen);
    memset(host, 0x33, BYTES);
    add_scattered(&out, host, false);
    copy_good(give(&out));
    copy_finish(stream);
    for (size_t i = 0; i < out.count; i++)
        assert_memory_equal(out.to[i], model + ((uintptr_t)out.from[i] - device), out.sizes[i]);
    for (size_t i = 0; i < out.count; i++)
        assert_int_equal(((unsigned char *)out.to[i])[out.sizes[i]], 0x33);
}

static void pinned_pieces_arrive_by_one_launch(void **state) {
    (void)state;
    uint64_t before = launches();
    copy_scattered(pinned);
    assert_int_equal(launches(), before + 2);
}

static void pageable_pieces_arrive_by_one_launch(void **state) {
    (void)state;
    uint64_t before = launches();
    copy_scattered(pageable);
    assert_int_equal(launches(), before + 2);
}

static void pieces_of_pools_arrive(void **state) {
    (void)state;
    poolMemPool_t pool = NULL;
    void *block = NULL;
    const struct poolMemLocation host = {poolMemLocationTypeHost, 0};
    const struct poolMemAccessDesc access = {{poolMemLocationTypeDevice, 0},
                                             poolMemAccessFlagsProtReadWrite};
    copy_good(poolMemGetDefaultMemPool(&pool, &host, poolMemAllocationTypePinned));
    copy_good(poolMallocFromPool(&block, BYTES, pool));
    copy_fill(block, BYTES, 3);
    copy_scattered(block); // kernels may not use it: the driver copies
    assert_int_equal(launches(), 0);
    copy_good(poolMemPoolSetAccess(pool, &access, 1));
    copy_fill(block, BYTES, 4);
    copy_scattered(block);
    assert_int_equal(launches(), 2);
    copy_good(poolFree(block));
}

// All kinds in one batch: large ones too, and between two pieces of the device's memory.
static void pieces_of_all_kinds_are_mixed(void **state) {
    (void)state;
    struct batch batch = {.count = 0};
    unsigned char *to = copy_host(KIB(600)), *large = copy_host(KIB(600));
    copy_fill(large, KIB(600), 5);
    copy_poke(other, pinned, KIB(100));
    add(&batch, at(0), pinned, KIB(70));
    add(&batch, at(KIB(100)), large, KIB(600));
    add(&batch, at(KIB(800)), copy_pointer(other), KIB(100));
    add(&batch, at(KIB(1000)), pageable, 1234);
    add(&batch, NULL, NULL, 0);
    add(&batch, to, copy_pointer(other), 999);
    add(&batch, pinned + KIB(512), copy_pointer(other), KIB(90));
    copy_good(give(&batch));
    copy_finish(stream);
    unsigned char *seen = copy_host(BYTES);
    copy_peek(seen, device, BYTES);
    assert_memory_equal(seen, pinned, KIB(70));
    assert_memory_equal(seen + KIB(100), large, KIB(600));
    assert_memory_equal(seen + KIB(800), pinned, KIB(100));
    assert_memory_equal(seen + KIB(1000), pageable, 1234);
    assert_memory_equal(to, pinned, 999);
    assert_memory_equal(pinned + KIB(512), pinned, KIB(90));
    free(seen);
    free(to);
    free(large);
}

// The kernel is slower than a copy by as much as the driver loses between two copies of 2 MiB.
static void pieces_of_2_mib_on_average_are_the_drivers(void **state) {
    (void)state;
    struct batch large = {.count = 0}, smaller = {.count = 0};
    add(&large, at(0), pinned, BYTES);
    copy_good(give(&large));
    assert_int_equal(launches(), 0);
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, BYTES, 1));
    copy_fill(pinned, BYTES, 3);
    add(&smaller, at(0), pinned, BYTES - 1);
    add(&smaller, at(BYTES - 1), pinned + BYTES - 1, 1);
    copy_good(give(&smaller));
    assert_int_equal(launches(), 1);
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, BYTES, 3));
}

// What a group can't hold goes into the next one.
static void copy_many(const unsigned char *host) {
    enum { MANY = 10000 };
    void **to = calloc(MANY, sizeof *to);
    const void **from = calloc(MANY, sizeof *from);
    size_t *sizes = calloc(MANY, sizeof *sizes);
    uint64_t before = launches();
    for (size_t i = 0; i < MANY; i++) {
        to[i] = at(i * 200);
        from[i] = host + i * 200;
        sizes[i] = 199;
    }
    copy_good(poolCopyBatchAsync(to, from, sizes, MANY, stream));
    assert_int_equal(launches(), before + 3);
    copy_finish(stream);
    unsigned char *seen = copy_host(BYTES);
    copy_peek(seen, device, BYTES);
    for (size_t i = 0; i < MANY; i++) {
        assert_memory_equal(seen + i * 200, host + i * 200, 199);
        assert_int_equal(seen[i * 200 + 199], 0);
    }
    free(seen);
    free(to);
    free(from);
    free(sizes);
}

static void many_pieces_take_several_launches(void **state) {
    (void)state;
    copy_many(pageable);
    copy_many(pinned);
}

static void many_bytes_take_several_launches(void **state) {
    (void)state;
    enum { LARGE = 100, SIZE = 100000 };
    CUdeviceptr memory = copy_device(LARGE * SIZE);
    unsigned char *host = copy_host(LARGE * SIZE), *back = copy_host(LARGE * SIZE);
    struct batch in = {.count = 0}, out = {.count = 0};
    copy_fill(host, LARGE * SIZE, 7);
    for (size_t i = 0; i < LARGE; i++) {
        add(&in, copy_pointer(memory + i * SIZE), host + i * SIZE, SIZE);
        add(&out, back + i * SIZE, copy_pointer(memory + i * SIZE), SIZE);
    }
    copy_good(give(&in));
    assert_int_equal(launches(), 3);
    copy_good(give(&out));
    assert_true(copy_is_filled(back, LARGE * SIZE, 7));
    free(host);
    free(back);
}

// A group has 4 MiB for packed pieces.
static void a_piece_that_a_group_has_no_room_for_takes_the_next_one(void **state) {
    (void)state;
    enum { FEW = 42, SIZE = 100000 };
    CUdeviceptr memory = copy_device(FEW * SIZE);
    unsigned char *host = copy_host(FEW * SIZE);
    struct batch batch = {.count = 0};
    copy_fill(host, FEW * SIZE, 8);
    for (size_t i = 0; i < FEW; i++)
        add(&batch, copy_pointer(memory + i * SIZE), host + i * SIZE, SIZE);
    copy_good(give(&batch));
    assert_int_equal(launches(), 2);
    copy_finish(stream);
    assert_true(copy_device_is_filled(memory, FEW * SIZE, 8));
    free(host);
}

// So that the kernel moves 16 bytes at a time wherever the other side lets it.
static void pageable_pieces_are_packed_at_multiples_of_16_bytes(void **state) {
    (void)state;
    struct batch in = {.count = 0}, out = {.count = 0};
    add_scattered(&in, pageable, true);
    add_scattered(&out, pageable, false);
    from_bits = to_bits = 0;
    copy_good(give(&in));
    assert_int_equal(from_bits % 16, 0);
    from_bits = to_bits = 0;
    copy_good(give(&out));
    assert_int_equal(to_bits % 16, 0);
    copy_finish(stream);
}

static CUcontext copy_in_a_context_of_its_own(void) {
    CUcontext context = NULL;
    CUstream its_stream = NULL;
    const void *from = pinned;
    const size_t size = 1000;
    void *to = at(0);
    uint64_t before = launches();
    copy_poke(device, pageable, size);
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamCreate(&its_stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    copy_good(poolCopyBatchAsync(&to, &from, &size, 1, its_stream));
    assert_int_equal(launches(), before + 1);
    copy_good(poolStreamSynchronize(its_stream));
    assert_true(copy_device_is_filled(device, size, 1));
    copy_good(poolStreamDestroy(its_stream));
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    return context;
}

// A context at the handle of one that is gone doesn't have its kernel.
static void each_context_gets_its_kernel(void **state) {
    (void)state;
    assert_ptr_equal(copy_in_a_context_of_its_own(), copy_in_a_context_of_its_own());
}

// ---------------------------------------------------------------------------------- full devices

#define MS UINT64_C(1000000)

static uint64_t calls(const char *entry) {
    return simcudaCallCount(entry);
}

// A batch with a kernel behind another one, which is done; nobody has looked how long it took.
static void copy_behind(uint64_t nanoseconds) {
    struct batch batch = {.count = 0};
    uint64_t before = launches();
    add_scattered(&batch, pinned, true);
    occupied_ns = nanoseconds;
    copy_good(give(&batch));
    occupied_ns = 0;
    assert_int_equal(launches(), before + 1);
    copy_finish(stream);
}

static void copy_little(void) {
    static uint64_t seed;
    struct batch batch = {.count = 0};
    copy_fill(pinned, 1000, ++seed);
    add(&batch, at(0), pinned, 1000);
    copy_good(give(&batch));
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, 1000, seed));
}

static void a_batch_on_a_full_device_is_given_to_the_driver_at_once(void **state) {
    (void)state;
    copy_behind(20 * MS);
    uint64_t before = launches();
    copy_scattered(pinned);
    copy_scattered(pageable);
    assert_int_equal(launches(), before);
    assert_int_equal(calls("cuMemcpyBatchAsync"), 4);
    assert_int_equal(calls("cuMemcpyAsync"), 0);
}

// The driver's copies of 250 pieces take 1.4 ms.
static void a_kernel_that_waits_less_than_the_drivers_copies_take_is_not_late(void **state) {
    (void)state;
    copy_behind(MS * 13 / 10);
    copy_behind(MS * 3 / 2);
    copy_little();
    assert_int_equal(calls("cuMemcpyBatchAsync"), 1);
}

static void the_time_that_a_batch_waits_for_its_stream_is_none_of_its_kernels(void **state) {
    (void)state;
    const simcudaWork work = {.name = "before the batch", .duration = 20 * MS};
    assert_int_equal(simcudaEnqueue(stream, &work), 0);
    copy_behind(0);
    copy_behind(0);
}

static void copy_without_a_kernel(void) {
    struct batch batch = {.count = 0};
    add(&batch, at(0), pageable, KIB(300));
    copy_good(give(&batch));
}

// Small batches try it too, and are timed then. Those that have nothing for it don't count.
static void the_kernel_is_tried_again_by_the_16th_batch(void **state) {
    (void)state;
    copy_behind(20 * MS);
    for (int i = 0; i < 15; i++) {
        copy_without_a_kernel();
        copy_little();
    }
    copy_without_a_kernel();
    assert_int_equal(calls("cuMemcpyBatchAsync"), 15);
    copy_behind(20 * MS);
    for (int i = 0; i < 15; i++)
        copy_little();
    assert_int_equal(calls("cuMemcpyBatchAsync"), 30);
    uint64_t before = launches();
    for (int i = 0; i < 3; i++)
        copy_little();
    assert_int_equal(launches(), before + 3);
    assert_int_equal(calls("cuMemcpyBatchAsync"), 30);
}

static void while_a_kernel_is_tried_no_other_one_is(void **state) {
    (void)state;
    CUstream held = stream;
    struct batch batch = {.count = 0};
    copy_behind(20 * MS);
    for (int i = 0; i < 15; i++)
        copy_little();
    add(&batch, copy_pointer(other), pinned + MIB(1), 1000);
    occupied_ns = 20 * MS;
    copy_good(give(&batch));
    occupied_ns = 0;
    assert_int_equal(launches(), 2);
    stream = simulated_stream();
    for (int i = 0; i < 20; i++)
        copy_little();
    assert_int_equal(launches(), 2);
    simulated_destroy(stream);
    stream = held;
    copy_finish(stream);
}

// Two events would take as long as what is timed, unless there are many pieces or bytes.
static void a_small_kernel_is_not_timed_on_a_free_device(void **state) {
    (void)state;
    struct batch large = {.count = 0};
    occupied_ns = 20 * MS;
    copy_little();
    copy_little();
    assert_int_equal(launches(), 2);
    add(&large, at(0), pinned, MIB(1));
    add(&large, at(MIB(1)), pinned + MIB(1), MIB(1));
    copy_good(give(&large));
    occupied_ns = 0;
    copy_finish(stream);
    copy_little();
    assert_int_equal(launches(), 3);
}

// While one kernel is pending others are launched, and their times change nothing.
static void one_kernel_is_timed_at_a_time(void **state) {
    (void)state;
    CUstream held = stream;
    struct batch batch = {.count = 0};
    add_scattered(&batch, pinned, true);
    occupied_ns = 20 * MS;
    copy_good(give(&batch));
    occupied_ns = 0;
    stream = simulated_stream();
    for (size_t i = 0; i < batch.count; i++)
        batch.to[i] = copy_pointer(other + ((uintptr_t)batch.to[i] - device));
    copy_good(give(&batch));
    assert_int_equal(launches(), 2);
    copy_finish(stream);
    simulated_destroy(stream);
    stream = held;
    assert_int_equal(calls("cuEventElapsedTime"), 0);
    copy_finish(stream);
    copy_little();
    assert_int_equal(calls("cuMemcpyBatchAsync"), 1);
}

static void copy_here(CUcontext *context, CUstream *its_stream) {
    assert_int_equal(sp_driver->cuCtxCreate(context, 0, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamCreate(its_stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    stream = *its_stream;
    copy_behind(20 * MS);
}

static void end_context(CUcontext context, CUstream its_stream) {
    copy_good(poolStreamDestroy(its_stream));
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

// A context at the handle of one that is gone has a device of its own, and nobody touches the
// events that went with that one: it would be reported.
static void a_full_context_is_destroyed(void **state) {
    (void)state;
    CUcontext first = NULL, second = NULL;
    CUstream before = stream, its_stream = NULL;
    copy_here(&first, &its_stream);
    copy_little();
    assert_int_equal(calls("cuMemcpyBatchAsync"), 1);
    end_context(first, its_stream);
    copy_here(&second, &its_stream); // by the kernel, whose events go with the context
    assert_ptr_equal(first, second);
    end_context(second, its_stream);
    copy_here(&second, &its_stream);
    end_context(second, its_stream);
    stream = before;
    copy_behind(0);
}

static void the_driver_gets_piece_by_piece_what_it_refuses_at_once(void **state) {
    (void)state;
    copy_behind(20 * MS);
    assert_int_equal(
        simcudaFailCall("cuMemcpyBatchAsync", 1, simcudaFaultOnwards, CUDA_ERROR_INVALID_VALUE), 0);
    uint64_t before = launches();
    copy_scattered(pinned);
    copy_scattered(pageable);
    simcudaFailClear();
    assert_int_equal(launches(), before);
    assert_int_equal(calls("cuMemcpyAsync"), 1000);
}

static void a_driver_without_batches_gets_piece_by_piece(void **state) {
    (void)state;
    const struct sp_driver *newer = sp_driver;
    struct sp_driver older = *newer;
    older.cuMemcpyBatchAsync = NULL;
    copy_behind(20 * MS);
    uint64_t before = launches();
    sp_driver = &older;
    copy_scattered(pinned);
    copy_scattered(pageable);
    sp_driver = newer;
    assert_int_equal(launches(), before);
    assert_int_equal(calls("cuMemcpyAsync"), 1000);
    assert_int_equal(calls("cuMemcpyBatchAsync"), 0);
}

// The driver takes no batch there.
static void the_legacy_stream_gets_piece_by_piece(void **state) {
    (void)state;
    CUstream before = stream;
    copy_behind(20 * MS);
    stream = NULL;
    copy_scattered(pinned);
    stream = CU_STREAM_LEGACY;
    copy_scattered(pageable);
    stream = CU_STREAM_PER_THREAD;
    copy_little();
    stream = before;
    assert_int_equal(launches(), 1);
    assert_int_equal(calls("cuMemcpyAsync"), 1000);
    assert_int_equal(calls("cuMemcpyBatchAsync"), 1);
}

// ------------------------------------------------------------------------------------------ order

static void pageable_sources_may_be_changed_while_the_stream_is_held(void **state) {
    (void)state;
    struct batch batch = {.count = 0};
    struct copy_hold hold = copy_hold(stream);
    add(&batch, at(0), pageable, 5000);
    copy_good(give(&batch));
    memset(pageable, 0, 5000);
    copy_let_go(&hold);
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, 5000, 2));
}

static void a_capture_gets_each_piece(void **state) {
    (void)state;
    CUgraph graph = NULL;
    struct batch good = {.count = 0}, bad = {.count = 0};
    add(&good, at(0), pinned, 100);
    add(&good, at(200), pinned + 200, 100);
    add(&bad, at(0), pinned, 100);
    add(&bad, at(200), pageable, 100);
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    copy_refused(give(&bad), poolErrorStreamCaptureUnsupported, "a side of piece 1 isn't pinned");
    copy_good(give(&good));
    assert_int_equal(launches(), 0);
    assert_int_equal(sp_driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
}

// -------------------------------------------------------------------------------------- refusals

static void a_bad_piece_is_named_and_nothing_is_copied(void **state) {
    (void)state;
    struct batch batch = {.count = 0};
    add(&batch, at(0), pinned, 100);
    add(&batch, model, pageable, 100);
    copy_refused(give(&batch), poolErrorInvalidValue, "neither side of piece 1");
    batch.to[1] = NULL;
    copy_refused(give(&batch), poolErrorInvalidValue, "dst of piece 1 is null");
    batch.to[1] = at(0);
    batch.from[1] = NULL;
    copy_refused(give(&batch), poolErrorInvalidValue, "src of piece 1 is null");
    batch.from[1] = pinned;
    batch.sizes[1] = SIZE_MAX;
    copy_refused(give(&batch), poolErrorInvalidValue, "piece 1 has");
    batch.sizes[1] = BYTES + 1;
    copy_refused(give(&batch), poolErrorInvalidValue, "neither side of piece 1");
    batch.sizes[1] = 200;
    batch.from[1] = copy_pointer(other + BYTES - 100);
    copy_refused(give(&batch), poolErrorInvalidValue, "device's memory ends before them");
    batch.from[1] = at(0);
    batch.to[1] = copy_pointer(other + BYTES - 100);
    copy_refused(give(&batch), poolErrorInvalidValue, "device's memory ends before them");
    copy_refused(poolCopyBatchAsync(NULL, batch.from, batch.sizes, 1, stream),
                 poolErrorInvalidValue, "dsts is null");
    copy_refused(poolCopyBatchAsync(batch.to, NULL, batch.sizes, 1, stream), poolErrorInvalidValue,
                 "srcs is null");
    copy_refused(poolCopyBatchAsync(batch.to, batch.from, NULL, 1, stream), poolErrorInvalidValue,
                 "sizes is null");
    copy_good(poolCopyBatchAsync(NULL, NULL, NULL, 0, stream));
    copy_finish(stream);
    copy_peek(pageable, device, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(pageable[i], 0);
}

// Where the kernel can't be had the driver copies.
static void without_the_kernel_the_driver_copies(void **state) {
    (void)state;
    assert_int_equal(
        simcudaFailCall("cuModuleLoadData", 1, simcudaFaultOnwards, CUDA_ERROR_NO_BINARY_FOR_GPU),
        0);
    copy_scattered(pinned);
    copy_fill(pageable, BYTES, 6);
    copy_scattered(pageable);
    simcudaFailClear();
    assert_int_equal(launches(), 0);
}

static const char *const entries[] = {
    "cuPointerGetAttribute", "cuStreamGetCtx",       "cuCtxGetCurrent",    "cuCtxGetDevice",
    "cuStreamIsCapturing",   "cuDeviceGetAttribute", "cuLaunchKernel",     "cuMemcpyAsync",
    "cuEventCreate",         "cuEventRecord",        "cuEventSynchronize", "cuMemCreate",
    "cuModuleLoadData",      "cuModuleGetFunction"};

static bool fail_at(const char *entry, uint64_t nth, bool to_device) {
    struct batch batch = {.count = 0};
    poolMemPool_t pool = NULL;
    add_scattered(&batch, nth % 2 ? pageable : pinned, to_device);
    assert_int_equal(simcudaFailCall(entry, nth, simcudaFaultOnce, CUDA_ERROR_UNKNOWN), 0);
    poolError_t error = give(&batch);
    bool failed = simcudaFailCount() > 0;
    simcudaFailClear();
    assert_true(error == poolSuccess || failed);
    copy_finish(stream);
    copy_good(poolStreamSynchronize(stream));
    copy_good(poolCopyGetPool(&pool));
    assert_int_equal(fixture_used(pool), 0);
    copy_good(give(&batch));
    copy_finish(stream);
    return failed;
}

static void a_batch_in_which_a_driver_call_fails_can_be_made_again(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        for (int to_device = 0; to_device < 2; to_device++) {
            for (uint64_t nth = 1; nth < 40 && fail_at(entries[i], nth, to_device); nth++)
                ;
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(pinned_pieces_arrive_by_one_launch),
        TEST(pageable_pieces_arrive_by_one_launch),
        TEST(pieces_of_pools_arrive),
        TEST(pieces_of_all_kinds_are_mixed),
        TEST(pieces_of_2_mib_on_average_are_the_drivers),
        TEST(many_pieces_take_several_launches),
        TEST(many_bytes_take_several_launches),
        TEST(a_piece_that_a_group_has_no_room_for_takes_the_next_one),
        TEST(each_context_gets_its_kernel),
        TEST(pageable_pieces_are_packed_at_multiples_of_16_bytes),
        TEST(a_batch_on_a_full_device_is_given_to_the_driver_at_once),
        TEST(a_kernel_that_waits_less_than_the_drivers_copies_take_is_not_late),
        TEST(the_time_that_a_batch_waits_for_its_stream_is_none_of_its_kernels),
        TEST(the_kernel_is_tried_again_by_the_16th_batch),
        TEST(while_a_kernel_is_tried_no_other_one_is),
        TEST(a_small_kernel_is_not_timed_on_a_free_device),
        TEST(one_kernel_is_timed_at_a_time),
        TEST(a_full_context_is_destroyed),
        TEST(the_driver_gets_piece_by_piece_what_it_refuses_at_once),
        TEST(a_driver_without_batches_gets_piece_by_piece),
        TEST(the_legacy_stream_gets_piece_by_piece),
        TEST(pageable_sources_may_be_changed_while_the_stream_is_held),
        TEST(a_capture_gets_each_piece),
        TEST(a_bad_piece_is_named_and_nothing_is_copied),
        TEST(without_the_kernel_the_driver_copies),
        TEST(a_batch_in_which_a_driver_call_fails_can_be_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
