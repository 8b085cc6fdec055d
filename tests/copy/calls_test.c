// Each call of copy.h does what its comment says: bytes, order, what may be changed when, refusals.
#include "copy/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static CUstream stream;

static int begin(void **state) {
    int failed = copy_setup(state);
    stream = simulated_stream();
    copy_settings(2, 3, KIB(64));
    return failed;
}

// ------------------------------------------------------------------------------------------ bytes

// One byte, one slice, one part, the chunks of a copy, and more; with one byte less and more.
static const size_t sizes[] = {1,           7,           4096,         KIB(64) - 1, KIB(64),
                               KIB(64) + 1, KIB(192),    KIB(192) + 1, KIB(256),    KIB(640) + 13,
                               MIB(1) - 1,  MIB(3) + 17, MIB(9)};
enum { SIZES = sizeof sizes / sizeof sizes[0], AROUND = 64 };

enum form { NOW, AHEAD };

static void to_device(enum form form, CUdeviceptr dst, const void *src, size_t bytes) {
    poolCopyCompletion_t completion = NULL;
    if (form == NOW) {
        copy_good(poolCopyToDeviceAsync(copy_pointer(dst), src, bytes, stream));
        return;
    }
    copy_good(
        poolCopyToDeviceAsyncWithCompletion(copy_pointer(dst), src, bytes, stream, &completion));
    copy_good(poolCopyCompletionSynchronize(completion));
    copy_good(poolCopyCompletionQuery(completion));
    copy_good(poolCopyCompletionDestroy(completion));
}

static void to_host(enum form form, void *dst, CUdeviceptr src, size_t bytes) {
    poolCopyCompletion_t completion = NULL;
    if (form == NOW) {
        copy_good(poolCopyToHostAsync(dst, copy_pointer(src), bytes, stream));
        return;
    }
    copy_good(
        poolCopyToHostAsyncWithCompletion(dst, copy_pointer(src), bytes, stream, &completion));
    copy_good(poolCopyCompletionSynchronize(completion));
    copy_good(poolCopyCompletionDestroy(completion));
}

// A copy out of the middle of memory into the middle of other memory, whose ends stay.
static void copy_both_ways(enum form form, size_t bytes, size_t offset) {
    CUdeviceptr device = copy_device(bytes + 2 * AROUND);
    unsigned char *from = copy_host(bytes + 2 * AROUND), *to = copy_host(bytes + 2 * AROUND);
    unsigned char *seen = copy_host(bytes + 2 * AROUND);
    memset(seen, 0x11, bytes + 2 * AROUND);
    copy_poke(device, seen, bytes + 2 * AROUND);
    copy_fill(from + offset, bytes, bytes);
    to_device(form, device + offset, from + offset, bytes);
    copy_finish(stream);
    copy_peek(seen, device, bytes + 2 * AROUND);
    assert_true(copy_is_filled(seen + offset, bytes, bytes));
    assert_true(seen[offset - 1] == 0x11 && seen[offset + bytes] == 0x11);
    to_host(form, to + AROUND - offset, device + offset, bytes);
    assert_true(copy_is_filled(to + AROUND - offset, bytes, bytes));
    assert_true(to[AROUND - offset - 1] == 0xee && to[AROUND - offset + bytes] == 0xee);
    free(from);
    free(to);
    free(seen);
}

static void copy_all_sizes(enum form form) {
    for (unsigned threads = 1; threads <= 3; threads++) {
        copy_settings(threads, 2 + threads % 2, threads == 3 ? MIB(1) : KIB(64));
        for (size_t i = 0; i < SIZES; i++)
            copy_both_ways(form, sizes[i], 1 + (7 * i + threads) % 60);
    }
}

static void bytes_of_all_sizes_arrive(void **state) {
    (void)state;
    copy_all_sizes(NOW);
}

static void bytes_of_all_sizes_arrive_with_a_completion(void **state) {
    (void)state;
    copy_all_sizes(AHEAD);
}

// -------------------------------------------------------------------------------------------- rows

struct rows {
    size_t width, height, of_host, of_device;
};

static const struct rows shapes[] = {
    {1, 1, 1, 1},
    {5, 1000, 5, 5},         // without gaps
    {5, 1000, 9, 5},         // gaps in the host's memory alone
    {5, 30000, 5, 512},      // in the device's alone
    {1000, 700, 1024, 1536}, // many rows in a chunk
    {KIB(64), 20, KIB(65), KIB(64)},
    {KIB(40), 30, KIB(41), KIB(43)},       // one row in a chunk
    {KIB(200) + 3, 9, KIB(256), KIB(201)}, // several chunks a row
    {MIB(1), 1, 0, 0},                     // the pitch of a single row doesn't matter
};

static size_t bytes_of(const struct rows *rows, size_t pitch) {
    return (rows->height - 1) * pitch + rows->width;
}

static void rows_to_device(const struct rows *rows, CUdeviceptr to, const void *from,
                           bool at_once) {
    poolCopyCompletion_t completion = NULL;
    if (!at_once) {
        copy_good(poolCopyToDevice2DAsync(copy_pointer(to), rows->of_device, from, rows->of_host,
                                          rows->width, rows->height, stream));
        return;
    }
    copy_good(poolCopyToDevice2DAsyncWithCompletion(copy_pointer(to), rows->of_device, from,
                                                    rows->of_host, rows->width, rows->height,
                                                    stream, &completion));
    copy_good(poolCopyCompletionSynchronize(completion));
    copy_good(poolCopyCompletionDestroy(completion));
}

static void rows_to_host(const struct rows *rows, void *to, CUdeviceptr from, bool at_once) {
    poolCopyCompletion_t completion = NULL;
    if (!at_once) {
        copy_good(poolCopyToHost2DAsync(to, rows->of_host, copy_pointer(from), rows->of_device,
                                        rows->width, rows->height, stream));
        return;
    }
    copy_good(poolCopyToHost2DAsyncWithCompletion(to, rows->of_host, copy_pointer(from),
                                                  rows->of_device, rows->width, rows->height,
                                                  stream, &completion));
    copy_good(poolCopyCompletionSynchronize(completion));
    copy_good(poolCopyCompletionDestroy(completion));
}

static void copy_rows(const struct rows *rows, bool at_once) {
    size_t of_host = bytes_of(rows, rows->of_host), of_device = bytes_of(rows, rows->of_device);
    CUdeviceptr device = copy_device(of_device);
    unsigned char *from = copy_host(of_host), *seen = copy_host(of_device),
                  *to = copy_host(of_host);
    copy_fill(from, of_host, rows->width);
    memset(seen, 0x11, of_device);
    copy_poke(device, seen, of_device);
    rows_to_device(rows, device, from, at_once);
    copy_finish(stream);
    copy_peek(seen, device, of_device);
    rows_to_host(rows, to, device, at_once);
    for (size_t row = 0; row < rows->height; row++) {
        const unsigned char *wanted = from + row * rows->of_host;
        assert_memory_equal(seen + row * rows->of_device, wanted, rows->width);
        assert_memory_equal(to + row * rows->of_host, wanted, rows->width);
        if (row + 1 < rows->height && rows->of_device > rows->width)
            assert_int_equal(seen[row * rows->of_device + rows->width], 0x11);
        if (row + 1 < rows->height && rows->of_host > rows->width)
            assert_int_equal(to[row * rows->of_host + rows->width], 0xee);
    }
    free(from);
    free(seen);
    free(to);
}

static void rows_arrive_and_what_is_between_them_stays(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        copy_rows(&shapes[i], false);
}

static void rows_arrive_with_a_completion(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        copy_rows(&shapes[i], true);
}

// Two rows with a pitch that the driver refuses, on the device's side and on both.
static const size_t far_apart = (size_t)3 << 30;

static void copy_far_rows(unsigned char *from, unsigned char *to, unsigned char *apart,
                          size_t width) {
    const struct rows rows = {width, 2, width, far_apart}, back = {width, 2, far_apart, far_apart};
    CUdeviceptr device = copy_device(far_apart + width);
    for (int at_once = 0; at_once < 2; at_once++) {
        copy_fill(from, width * 2, width);
        memset(to, 0xee, width * 2);
        memset(apart, 0xee, width);
        memset(apart + far_apart, 0xee, width);
        rows_to_device(&rows, device, from, at_once);
        rows_to_host(&rows, to, device, at_once);
        rows_to_host(&back, apart, device, at_once);
        copy_finish(stream);
        assert_true(copy_is_filled(to, width * 2, width));
        assert_memory_equal(apart, from, width);
        assert_memory_equal(apart + far_apart, from + width, width);
    }
}

static void rows_far_apart_arrive(void **state) {
    (void)state;
    unsigned char *from = copy_host(MIB(1)), *to = copy_host(MIB(1)), *pinned = copy_pinned(MIB(1));
    unsigned char *apart = mmap(NULL, far_apart + MIB(1), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(apart, MAP_FAILED);
    copy_settings(2, 2, KIB(128));
    copy_far_rows(from, to, apart, 100);
    copy_far_rows(pinned, to, apart, KIB(40));
    copy_far_rows(from, to, apart, KIB(60));
    copy_far_rows(from, pinned, apart, KIB(300));
    munmap(apart, far_apart + MIB(1));
    free(from);
    free(to);
}

// ------------------------------------------------------------------------------------------- order

static void what_a_copy_has_read_may_be_changed(void **state) {
    (void)state;
    CUdeviceptr device = copy_device(KIB(128));
    unsigned char *from = copy_host(KIB(128));
    struct copy_hold hold = copy_hold(stream);
    copy_fill(from, KIB(128), 1);
    copy_good(poolCopyToDeviceAsync(copy_pointer(device), from, KIB(128), stream));
    memset(from, 0, KIB(128));
    assert_false(sp_driver->cuStreamQuery(stream) == CUDA_SUCCESS);
    copy_let_go(&hold);
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, KIB(128), 1));
    free(from);
}

// Behind the hold nothing is there; then CUDA's own synchronise is enough, both ways.
static void a_copy_with_a_completion_returns_at_once(void **state) {
    (void)state;
    enum { BYTES = 1000 * 1000 };
    CUdeviceptr device = copy_device(BYTES);
    unsigned char *from = copy_host(BYTES), *to = copy_host(BYTES);
    poolCopyCompletion_t in = NULL, out = NULL;
    struct copy_hold hold = copy_hold(stream);
    copy_fill(from, BYTES, 2);
    copy_good(poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), from, BYTES, stream, &in));
    copy_good(poolCopyToHostAsyncWithCompletion(to, copy_pointer(device), BYTES, stream, &out));
    assert_int_equal(poolCopyCompletionQuery(in), poolErrorNotReady);
    assert_int_equal(poolCopyCompletionQuery(out), poolErrorNotReady);
    assert_int_equal(to[0], 0xee);
    copy_let_go(&hold);
    copy_finish(stream);
    assert_true(copy_is_filled(to, BYTES, 2));
    copy_good(poolCopyCompletionQuery(in));
    copy_good(poolCopyCompletionQuery(out));
    copy_good(poolCopyCompletionDestroy(in));
    copy_good(poolCopyCompletionDestroy(out));
    free(from);
    free(to);
}

// A source that fits into the chunks was read though the stream is held.
static void a_completion_tells_that_the_source_was_read(void **state) {
    (void)state;
    CUdeviceptr device = copy_device(KIB(100));
    unsigned char *from = copy_host(KIB(100));
    poolCopyCompletion_t completion = NULL;
    struct copy_hold hold = copy_hold(stream);
    copy_fill(from, KIB(100), 3);
    copy_good(poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), from, KIB(100), stream,
                                                  &completion));
    copy_good(poolCopyCompletionSynchronize(completion));
    free(from);
    copy_let_go(&hold);
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, KIB(100), 3));
    copy_good(poolCopyCompletionDestroy(completion));
}

static void a_completion_is_destroyed_at_any_time(void **state) {
    (void)state;
    CUdeviceptr device = copy_device(MIB(1));
    unsigned char *from = copy_host(MIB(1)), *to = copy_host(MIB(1));
    poolCopyCompletion_t completion = NULL;
    struct copy_hold hold = copy_hold(stream);
    copy_fill(from, MIB(1), 4);
    copy_good(poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), from, MIB(1), stream,
                                                  &completion));
    copy_good(poolCopyCompletionDestroy(completion));
    copy_refused(poolCopyCompletionQuery(completion), poolErrorInvalidValue, "no completion");
    copy_good(
        poolCopyToHostAsyncWithCompletion(to, copy_pointer(device), MIB(1), stream, &completion));
    copy_good(poolCopyCompletionDestroy(completion));
    copy_let_go(&hold);
    copy_finish(stream);
    assert_true(copy_is_filled(to, MIB(1), 4));
    free(from);
    free(to);
}

// The next completion has its place in the table, and another handle.
static void a_handle_that_was_destroyed_names_no_later_completion(void **state) {
    (void)state;
    poolCopyCompletion_t gone = NULL, completion = NULL;
    copy_good(poolCopyToHostAsyncWithCompletion(NULL, NULL, 0, stream, &gone));
    copy_good(poolCopyCompletionDestroy(gone));
    copy_good(poolCopyToHostAsyncWithCompletion(NULL, NULL, 0, stream, &completion));
    copy_refused(poolCopyCompletionQuery(gone), poolErrorInvalidValue, "no completion");
    copy_refused(poolCopyCompletionDestroy(gone), poolErrorInvalidValue, "no completion");
    copy_good(poolCopyCompletionQuery(completion));
    copy_good(poolCopyCompletionDestroy(completion));
}

// What a stream is given behind a copy sees its bytes; and what came before it has been done.
static void copies_keep_the_order_of_their_stream(void **state) {
    (void)state;
    enum { BYTES = 700 * 1000, COPIES = 6 };
    CUdeviceptr device = copy_device(BYTES);
    unsigned char *from[COPIES], *to[COPIES];
    poolCopyCompletion_t completions[2 * COPIES] = {0};
    struct copy_hold hold = copy_hold(stream);
    for (size_t i = 0; i < COPIES; i++) {
        from[i] = copy_host(BYTES);
        to[i] = copy_host(BYTES);
        copy_fill(from[i], BYTES, i);
        copy_good(poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), from[i], BYTES, stream,
                                                      &completions[2 * i]));
        copy_good(poolCopyToHostAsyncWithCompletion(to[i], copy_pointer(device), BYTES, stream,
                                                    &completions[2 * i + 1]));
    }
    copy_let_go(&hold);
    copy_finish(stream);
    for (size_t i = 0; i < COPIES; i++) {
        assert_true(copy_is_filled(to[i], BYTES, i));
        copy_good(poolCopyCompletionDestroy(completions[2 * i]));
        copy_good(poolCopyCompletionDestroy(completions[2 * i + 1]));
        free(from[i]);
        free(to[i]);
    }
}

// One stream that is held doesn't hold up another one.
static void copies_of_other_streams_go_on(void **state) {
    (void)state;
    CUstream other = simulated_stream();
    CUdeviceptr device = copy_device(MIB(2)), others = copy_device(MIB(2));
    unsigned char *from = copy_host(MIB(2)), *to = copy_host(MIB(2));
    poolCopyCompletion_t held = NULL, completion = NULL;
    struct copy_hold hold = copy_hold(stream);
    copy_fill(from, MIB(2), 5);
    copy_good(
        poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), from, MIB(2), stream, &held));
    copy_good(poolCopyToDeviceAsyncWithCompletion(copy_pointer(others), from, MIB(2), other,
                                                  &completion));
    copy_good(poolCopyCompletionSynchronize(completion));
    copy_good(poolCopyToHostAsync(to, copy_pointer(others), MIB(2), other));
    assert_true(copy_is_filled(to, MIB(2), 5));
    assert_int_equal(poolCopyCompletionQuery(held), poolErrorNotReady);
    copy_let_go(&hold);
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, MIB(2), 5));
    copy_good(poolCopyCompletionDestroy(held));
    copy_good(poolCopyCompletionDestroy(completion));
    free(from);
    free(to);
}

static void a_stream_is_destroyed_with_copies_under_way(void **state) {
    (void)state;
    CUstream other = simulated_stream();
    CUdeviceptr device = copy_device(MIB(1));
    unsigned char *from = copy_host(MIB(1));
    poolCopyCompletion_t completion = NULL;
    struct copy_hold hold = copy_hold(other);
    copy_fill(from, MIB(1), 6);
    copy_good(poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), from, MIB(1), other,
                                                  &completion));
    copy_good(poolStreamDestroy(other));
    copy_let_go(&hold);
    copy_good(poolCopyCompletionSynchronize(completion));
    assert_int_equal(sp_driver->cuCtxSynchronize(), CUDA_SUCCESS);
    assert_true(copy_device_is_filled(device, MIB(1), 6));
    copy_good(poolCopyCompletionDestroy(completion));
    free(from);
}

static void default_streams_copy_too(void **state) {
    (void)state;
    static const CUstream defaults[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    CUdeviceptr device = copy_device(MIB(1));
    unsigned char *from = copy_host(MIB(1)), *to = copy_host(MIB(1));
    for (size_t i = 0; i < 3; i++) {
        copy_fill(from, MIB(1), i);
        copy_good(poolCopyToDeviceAsync(copy_pointer(device), from, MIB(1), defaults[i]));
        copy_good(poolCopyToHostAsync(to, copy_pointer(device), MIB(1), defaults[i]));
        assert_true(copy_is_filled(to, MIB(1), i));
    }
    free(from);
    free(to);
}

// The stream's context is the one that counts.
static void the_context_of_the_stream_is_used(void **state) {
    (void)state;
    CUdeviceptr device = copy_device(MIB(1));
    CUcontext context = simulated_context(), current = NULL;
    unsigned char *from = copy_host(MIB(1));
    copy_fill(from, MIB(1), 7);
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    copy_good(poolCopyToDeviceAsync(copy_pointer(device), from, MIB(1), stream));
    assert_int_equal(sp_driver->cuCtxGetCurrent(&current), CUDA_SUCCESS);
    assert_null(current);
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, MIB(1), 7));
    free(from);
}

// -------------------------------------------------------------------------------- kinds of memory

static uint64_t calls(const char *entry) {
    return simcudaCallCount(entry);
}

static void copy_straight(void *host) {
    CUdeviceptr device = copy_device(MIB(1));
    unsigned char *to = copy_host(MIB(1));
    uint64_t straight = calls("cuMemcpyAsync");
    copy_fill(host, MIB(1), 8);
    copy_good(poolCopyToDeviceAsync(copy_pointer(device), host, MIB(1), stream));
    assert_int_equal(calls("cuMemcpyAsync"), straight + 1);
    copy_finish(stream);
    memset(host, 0, MIB(1));
    poolCopyCompletion_t completion = NULL;
    copy_good(
        poolCopyToHostAsyncWithCompletion(host, copy_pointer(device), MIB(1), stream, &completion));
    assert_int_equal(calls("cuMemcpyAsync"), straight + 2);
    copy_good(poolCopyCompletionSynchronize(completion));
    copy_good(poolCopyCompletionQuery(completion));
    copy_good(poolCopyCompletionDestroy(completion));
    assert_true(copy_is_filled(host, MIB(1), 8));
    free(to);
}

static void pinned_and_managed_memory_goes_straight(void **state) {
    (void)state;
    void *registered = NULL;
    CUdeviceptr managed = 0;
    poolMemPool_t pool = NULL;
    const struct poolMemLocation host = {poolMemLocationTypeHost, 0};
    const struct poolMemAccessDesc access = {{poolMemLocationTypeDevice, 0},
                                             poolMemAccessFlagsProtReadWrite};
    copy_straight(copy_pinned(MIB(1)));
    registered = aligned_alloc(4096, MIB(1));
    assert_int_equal(sp_driver->cuMemHostRegister(registered, MIB(1), 0), CUDA_SUCCESS);
    copy_straight(registered);
    assert_int_equal(sp_driver->cuMemHostUnregister(registered), CUDA_SUCCESS);
    free(registered);
    assert_int_equal(sp_driver->cuMemAllocManaged(&managed, MIB(1), 1), CUDA_SUCCESS);
    copy_straight(copy_pointer(managed));
    copy_good(poolMemGetDefaultMemPool(&pool, &host, poolMemAllocationTypePinned));
    copy_good(poolMemPoolSetAccess(pool, &access, 1));
    void *block = NULL;
    copy_good(poolMallocFromPool(&block, MIB(1), pool));
    copy_straight(block);
    copy_good(poolFree(block));
    assert_int_equal(sp_driver->cuMemFree(managed), CUDA_SUCCESS);
}

// The driver would refuse a copy that reaches past the end of what is pinned.
static void memory_of_which_a_part_is_pinned_is_pageable(void **state) {
    (void)state;
    unsigned char *memory = aligned_alloc(4096, MIB(1)), *to = copy_host(MIB(1));
    CUdeviceptr device = copy_device(MIB(1));
    static const size_t begins[] = {0, KIB(512), KIB(256)};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(sp_driver->cuMemHostRegister(memory + begins[i], KIB(512), 0),
                         CUDA_SUCCESS);
        copy_fill(memory, MIB(1), i);
        copy_good(poolCopyToDeviceAsync(copy_pointer(device), memory, MIB(1), stream));
        copy_good(poolCopyToHostAsync(to, copy_pointer(device), MIB(1), stream));
        assert_true(copy_is_filled(to, MIB(1), i));
        const unsigned char *little = memory + KIB(512) - 1000; // an end of what is pinned, mostly
        copy_good(poolCopyToDeviceAsync(copy_pointer(device), little, 2000, stream));
        copy_good(poolCopyToHostAsync(to, copy_pointer(device), 2000, stream));
        assert_memory_equal(to, little, 2000);
        assert_int_equal(sp_driver->cuMemHostUnregister(memory + begins[i]), CUDA_SUCCESS);
    }
    free(memory);
    free(to);
}

// As one does of memory of which a part is pinned.
static void a_small_copy_that_the_driver_refuses_takes_chunks(void **state) {
    (void)state;
    CUdeviceptr device = copy_device(KIB(1));
    unsigned char *from = copy_host(KIB(1));
    copy_fill(from, KIB(1), 12);
    poolGetLastError(); // of the tests before
    assert_int_equal(
        simcudaFailCall("cuMemcpyAsync", 1, simcudaFaultOnce, CUDA_ERROR_INVALID_VALUE), 0);
    copy_good(poolCopyToDeviceAsync(copy_pointer(device), from, KIB(1), stream));
    assert_int_equal(simcudaFailCount(), 1);
    assert_int_equal(poolPeekAtLastError(), poolSuccess);
    simcudaFailClear();
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, KIB(1), 12));
    free(from);
}

// Two pieces side by side are none that the driver copies at once.
static void memory_pinned_in_two_pieces_is_pageable(void **state) {
    (void)state;
    unsigned char *memory = aligned_alloc(4096, MIB(1));
    CUdeviceptr device = copy_device(MIB(1));
    assert_int_equal(sp_driver->cuMemHostRegister(memory, KIB(512), 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuMemHostRegister(memory + KIB(512), KIB(512), 0), CUDA_SUCCESS);
    copy_fill(memory, MIB(1), 9);
    copy_good(poolCopyToDeviceAsync(copy_pointer(device), memory, MIB(1), stream));
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, MIB(1), 9));
    assert_int_equal(sp_driver->cuMemHostUnregister(memory), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuMemHostUnregister(memory + KIB(512)), CUDA_SUCCESS);
    free(memory);
}

// They are written past the host's caches, from the first aligned byte on to the last.
static void large_copies_to_the_host_bring_every_byte(void **state) {
    (void)state;
    enum { BEFORE = 13, BEHIND = 7 };
    static const size_t widths[] = {MIB(33) + 77, KIB(1) + 1, 15};
    CUdeviceptr device = copy_device(MIB(34));
    unsigned char *from = copy_host(MIB(34)), *to = copy_host(2 * MIB(34));
    copy_fill(from, MIB(34), 21);
    copy_poke(device, from, MIB(34));
    for (size_t i = 0; i < 3; i++) {
        size_t width = widths[i], height = MIB(33) / width + 1, pitch = width + (i > 0 ? 3 : 0);
        memset(to, 1, BEFORE + height * pitch + BEHIND);
        copy_good(poolCopyToHost2DAsync(to + BEFORE, pitch, copy_pointer(device), width, width,
                                        height, stream));
        for (size_t row = 0; row < height; row++) {
            assert_memory_equal(to + BEFORE + row * pitch, from + row * width, width);
            for (size_t gap = width; gap < pitch; gap++)
                assert_int_equal(to[BEFORE + row * pitch + gap], 1);
        }
        for (size_t at = 0; at < BEFORE; at++)
            assert_int_equal(to[at], 1);
        for (size_t at = 0; at < BEHIND; at++)
            assert_int_equal(to[BEFORE + height * pitch + at], 1);
    }
    free(from);
    free(to);
}

static void small_copies_take_the_drivers_own_way(void **state) {
    (void)state;
    CUdeviceptr device = copy_device(KIB(64));
    unsigned char *from = copy_host(KIB(64));
    poolMemPool_t pool = NULL;
    copy_good(poolCopyGetPool(&pool));
    copy_fill(from, KIB(64), 10);
    copy_good(poolCopyToDeviceAsync(copy_pointer(device), from, KIB(64), stream));
    assert_int_equal(fixture_reserved(pool), 0);
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, KIB(64), 10));
    free(from);
}

// ---------------------------------------------------------------------------------------- captures

static void begin_capture(CUstreamCaptureMode mode) {
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, mode), CUDA_SUCCESS);
}

static void end_capture(void) {
    CUgraph graph = NULL;
    assert_int_equal(sp_driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_non_null(graph);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
}

// The copy is under way on another stream, and goes on.
static void a_completion_is_destroyed_beside_a_capture(void **state) {
    (void)state;
    CUstream other = simulated_stream();
    CUdeviceptr device = copy_device(MIB(1));
    unsigned char *from = copy_host(MIB(1)), *to = copy_host(MIB(1));
    poolCopyCompletion_t completion = NULL;
    copy_fill(from, MIB(1), 4);
    copy_good(poolCopyToDeviceAsync(copy_pointer(device), from, MIB(1), other));
    struct copy_hold hold = copy_hold(other);
    copy_good(
        poolCopyToHostAsyncWithCompletion(to, copy_pointer(device), MIB(1), other, &completion));
    begin_capture(CU_STREAM_CAPTURE_MODE_GLOBAL);
    copy_good(poolCopyCompletionDestroy(completion));
    end_capture();
    copy_let_go(&hold);
    copy_finish(other);
    assert_true(copy_is_filled(to, MIB(1), 4));
    free(from);
    free(to);
}

static void pageable_copies_are_refused_by_a_capture_that_stays_valid(void **state) {
    (void)state;
    CUdeviceptr device = copy_device(MIB(1));
    unsigned char *host = copy_host(MIB(1));
    void *pinned = copy_pinned(MIB(1));
    poolCopyCompletion_t completion = NULL;
    for (int mode = 0; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
        begin_capture((CUstreamCaptureMode)mode);
        copy_refused(poolCopyToDeviceAsync(copy_pointer(device), host, MIB(1), stream),
                     poolErrorStreamCaptureUnsupported, "isn't pinned");
        copy_refused(poolCopyToHostAsync(host, copy_pointer(device), 1, stream),
                     poolErrorStreamCaptureUnsupported, "isn't pinned");
        copy_refused(poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), pinned, MIB(1),
                                                         stream, &completion),
                     poolErrorStreamCaptureUnsupported, "completion");
        assert_null(completion);
        copy_good(poolCopyToDeviceAsync(copy_pointer(device), pinned, MIB(1), stream));
        end_capture();
    }
    free(host);
}

// A copy in another stream neither joins nor breaks the capture that the thread has begun.
static void copies_of_other_streams_leave_a_capture_alone(void **state) {
    (void)state;
    CUstream other = simulated_stream();
    CUdeviceptr device = copy_device(MIB(3));
    unsigned char *host = copy_host(MIB(3)), *to = copy_host(MIB(3));
    poolCopyCompletion_t completion = NULL;
    copy_fill(host, MIB(3), 11);
    for (int mode = 0; mode <= CU_STREAM_CAPTURE_MODE_RELAXED; mode++) {
        begin_capture((CUstreamCaptureMode)mode);
        copy_good(poolCopyToDeviceAsync(copy_pointer(device), host, MIB(3), other));
        copy_good(poolCopyToHostAsyncWithCompletion(to, copy_pointer(device), MIB(3), other,
                                                    &completion));
        copy_good(poolCopyCompletionSynchronize(completion));
        copy_good(poolCopyCompletionDestroy(completion));
        end_capture();
        assert_true(copy_is_filled(to, MIB(3), 11));
    }
    free(host);
    free(to);
}

// ---------------------------------------------------------------------------------------- refusals

// A thread that touched it would end the process.
static void memory_of_a_device_is_none_of_the_host(void **state) {
    (void)state;
    static const char words[] = "is memory of a device that doesn't have";
    poolCopyCompletion_t completion = NULL;
    void *at = copy_pointer(copy_device(MIB(2))), *end = (char *)at + MIB(2) - 50;
    copy_refused(poolCopyToDeviceAsync(at, end, KIB(300), stream), poolErrorInvalidValue, words);
    copy_refused(poolCopyToHostAsync(end, at, KIB(300), stream), poolErrorInvalidValue, words);
    copy_refused(poolCopyToDeviceAsyncWithCompletion(at, end, 100, stream, &completion),
                 poolErrorInvalidValue, words);
    assert_null(completion);
}

static void bad_arguments_are_refused(void **state) {
    (void)state;
    CUdeviceptr device = copy_device(MIB(1));
    unsigned char *host = copy_host(MIB(2));
    void *at = copy_pointer(device);
    poolCopyCompletion_t completion = NULL;
    copy_refused(poolCopyToDeviceAsync(NULL, host, 1, stream), poolErrorInvalidValue,
                 "dst is null");
    copy_refused(poolCopyToDeviceAsync(at, NULL, 1, stream), poolErrorInvalidValue, "src is null");
    copy_refused(poolCopyToHostAsync(NULL, at, 1, stream), poolErrorInvalidValue, "dst is null");
    copy_refused(poolCopyToHostAsync(host, NULL, 1, stream), poolErrorInvalidValue, "src is null");
    copy_refused(poolCopyToDeviceAsync(host, host, 1, stream), poolErrorInvalidValue, "dst");
    copy_refused(poolCopyToHostAsync(host, host, 1, stream), poolErrorInvalidValue, "src");
    copy_refused(poolCopyToDeviceAsync(at, host, MIB(2) + 1, stream), poolErrorInvalidValue,
                 "last");
    copy_refused(poolCopyToDeviceAsync(at, host, SIZE_MAX, stream), poolErrorInvalidValue, "more");
    copy_refused(poolCopyToDevice2DAsync(at, 4, host, 8, 8, 2, stream), poolErrorInvalidValue,
                 "pitch");
    copy_refused(poolCopyToHost2DAsync(host, 4, at, 8, 8, 2, stream), poolErrorInvalidValue,
                 "pitch");
    copy_refused(poolCopyToDevice2DAsync(at, SIZE_MAX / 2, host, 8, 8, 3, stream),
                 poolErrorInvalidValue, "more");
    copy_refused(poolCopyToDeviceAsyncWithCompletion(at, host, 1, stream, NULL),
                 poolErrorInvalidValue, "completion is null");
    copy_refused(poolCopyToDevice2DAsyncWithCompletion(at, 8, host, 8, 8, 2, stream, NULL),
                 poolErrorInvalidValue, "completion is null");
    copy_refused(poolCopyToHost2DAsyncWithCompletion(host, 8, at, 7, 8, 2, stream, &completion),
                 poolErrorInvalidValue, "a pitch is less than");
    copy_refused(poolCopyToHostAsyncWithCompletion(host, NULL, 1, stream, &completion),
                 poolErrorInvalidValue, "src is null");
    assert_null(completion);
    copy_refused(poolCopyCompletionQuery(NULL), poolErrorInvalidValue, "no completion");
    copy_refused(poolCopyCompletionSynchronize((poolCopyCompletion_t)host), poolErrorInvalidValue,
                 "no completion");
    copy_refused(poolCopyCompletionDestroy((poolCopyCompletion_t)12345), poolErrorInvalidValue,
                 "no completion");
    copy_good(poolCopyCompletionDestroy(NULL));
    for (size_t i = 0; i < MIB(2); i++)
        assert_int_equal(host[i], 0xee);
    free(host);
}

static void nothing_is_copied_where_nothing_is_asked_for(void **state) {
    (void)state;
    poolCopyCompletion_t completion = NULL;
    copy_good(poolCopyToDeviceAsync(NULL, NULL, 0, stream));
    copy_good(poolCopyToHost2DAsync(NULL, 0, NULL, 0, 0, 7, stream));
    copy_good(poolCopyToDevice2DAsync(NULL, 0, NULL, 0, 7, 0, stream));
    copy_good(poolCopyToHostAsyncWithCompletion(NULL, NULL, 0, stream, &completion));
    copy_good(poolCopyCompletionQuery(completion));
    copy_good(poolCopyCompletionSynchronize(completion));
    copy_good(poolCopyCompletionDestroy(completion));
}

static void settings_are_checked_and_told(void **state) {
    (void)state;
    static const struct poolCopySettings bad[] = {
        {9, 0, 0}, {0, 1, 0}, {0, 17, 0}, {0, 0, 1000}, {0, 0, MIB(65)}};
    struct poolCopySettings told = {0};
    copy_settings(3, 5, KIB(128));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        copy_refused(poolCopySetSettings(&bad[i]), poolErrorInvalidValue,
                     i < 1   ? "threads"
                     : i < 3 ? "depth"
                             : "chunkBytes");
    copy_refused(poolCopySetSettings(NULL), poolErrorInvalidValue, "settings is null");
    copy_refused(poolCopyGetSettings(NULL), poolErrorInvalidValue, "settings is null");
    copy_good(poolCopyGetSettings(&told));
    assert_true(told.threads == 3 && told.depth == 5 && told.chunkBytes == KIB(128));
    copy_settings(0, 0, 0);
    copy_good(poolCopyGetSettings(&told));
    assert_true(told.threads >= 1 && told.threads <= 8 && told.depth >= 2 && told.chunkBytes > 0);
}

// However large and many they are.
static void the_chunks_of_a_copy_have_a_limit(void **state) {
    (void)state;
    poolMemPool_t pool = NULL;
    size_t bytes = MIB(330);
    CUdeviceptr device = copy_device(bytes);
    unsigned char *host = calloc(1, bytes);
    assert_non_null(host);
    copy_settings(2, 16, MIB(64));
    host[bytes - 1] = 7;
    copy_good(poolCopyToDeviceAsync(copy_pointer(device), host, bytes, stream));
    copy_good(poolCopyGetPool(&pool));
    assert_true(fixture_reserved(pool) <= MIB(256 + 4));
    copy_finish(stream);
    unsigned char last = 0;
    copy_peek(&last, device + bytes - 1, 1);
    assert_int_equal(last, 7);
    free(host);
}

// The pool is as any other, and comes again.
static void the_pool_of_chunks_may_be_trimmed_and_destroyed(void **state) {
    (void)state;
    CUdeviceptr device = copy_device(MIB(1));
    unsigned char *host = copy_host(MIB(1));
    poolMemPool_t pool = NULL, again = NULL;
    char name[16];
    copy_refused(poolCopyGetPool(NULL), poolErrorInvalidValue, "pool is null");
    assert_int_equal(poolGetLastError(), poolErrorInvalidValue);
    copy_good(poolCopyGetPool(&pool));
    copy_good(poolMemPoolGetName(pool, name, sizeof name));
    assert_string_equal(name, "copies");
    copy_good(poolCopyToDeviceAsync(copy_pointer(device), host, MIB(1), stream));
    copy_finish(stream);
    assert_true(fixture_reserved(pool) > 0);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
    copy_good(poolMemPoolDestroy(pool));
    copy_good(poolCopyToDeviceAsync(copy_pointer(device), host, MIB(1), stream));
    copy_good(poolCopyGetPool(&again));
    assert_ptr_not_equal(again, pool);
    assert_int_equal(poolPeekAtLastError(), poolSuccess);
    assert_true(fixture_reserved(again) > 0);
    copy_finish(stream);
    free(host);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, copy_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(bytes_of_all_sizes_arrive),
        TEST(bytes_of_all_sizes_arrive_with_a_completion),
        TEST(rows_arrive_and_what_is_between_them_stays),
        TEST(rows_arrive_with_a_completion),
        TEST(rows_far_apart_arrive),
        TEST(what_a_copy_has_read_may_be_changed),
        TEST(a_copy_with_a_completion_returns_at_once),
        TEST(a_completion_tells_that_the_source_was_read),
        TEST(a_completion_is_destroyed_at_any_time),
        TEST(a_handle_that_was_destroyed_names_no_later_completion),
        TEST(copies_keep_the_order_of_their_stream),
        TEST(copies_of_other_streams_go_on),
        TEST(a_stream_is_destroyed_with_copies_under_way),
        TEST(default_streams_copy_too),
        TEST(the_context_of_the_stream_is_used),
        TEST(pinned_and_managed_memory_goes_straight),
        TEST(memory_of_which_a_part_is_pinned_is_pageable),
        TEST(a_small_copy_that_the_driver_refuses_takes_chunks),
        TEST(memory_pinned_in_two_pieces_is_pageable),
        TEST(large_copies_to_the_host_bring_every_byte),
        TEST(small_copies_take_the_drivers_own_way),
        TEST(a_completion_is_destroyed_beside_a_capture),
        TEST(pageable_copies_are_refused_by_a_capture_that_stays_valid),
        TEST(copies_of_other_streams_leave_a_capture_alone),
        TEST(memory_of_a_device_is_none_of_the_host),
        TEST(bad_arguments_are_refused),
        TEST(nothing_is_copied_where_nothing_is_asked_for),
        TEST(settings_are_checked_and_told),
        TEST(the_chunks_of_a_copy_have_a_limit),
        TEST(the_pool_of_chunks_may_be_trimmed_and_destroyed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
