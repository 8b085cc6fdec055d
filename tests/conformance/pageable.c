// Rows of copies of pageable memory, of files and of many pieces (streampool/copy.h).
#include <stdlib.h>
#include <streampool/copy.h>
#include <string.h>
#include <unistd.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

#define GOOD(call) EXPECT(call, poolSuccess)

static void *device_memory(size_t bytes) {
    CUdeviceptr address = 0;
    DRIVER(test_driver()->cuMemAlloc(&address, bytes));
    return (void *)(uintptr_t)address;
}

// It is the row's until its process ends, and no leak.
static unsigned char *host_memory(size_t bytes) {
    static unsigned char *all[256];
    static size_t count;
    unsigned char *memory = malloc(bytes);
    REQUIRE(memory && count < sizeof all / sizeof all[0]);
    all[count++] = memory;
    memset(memory, 0xee, bytes);
    return memory;
}

static unsigned char *pinned_memory(size_t bytes) {
    void *memory = NULL;
    DRIVER(test_driver()->cuMemHostAlloc(&memory, bytes, 0));
    return memory;
}

// Bytes that tell where they are.
static void stamp(unsigned char *memory, size_t bytes, unsigned seed) {
    for (size_t i = 0; i < bytes; i++)
        memory[i] = (unsigned char)((i * 2654435761u + seed * 97) >> 13);
}

static bool is_stamped(const unsigned char *memory, size_t bytes, unsigned seed) {
    for (size_t i = 0; i < bytes; i++) {
        if (memory[i] != (unsigned char)((i * 2654435761u + seed * 97) >> 13))
            return false;
    }
    return true;
}

// Before CUDA 11.7 a stream can't wait for a word: there a call with a completion waits itself.
static bool returns_at_once(void) {
    return test_driver()->cuStreamWaitValue32 != NULL;
}

// ------------------------------------------------------------------------------------------ bytes

void row_copies_bring_all_bytes_both_ways(void) {
    static const size_t sizes[] = {1, 1000, KIB(64), KIB(64) + 1, MIB(1) + 7, MIB(4), MIB(37) + 5};
    CUstream streams[] = {test_stream(), test_blocking_stream(), NULL};
    unsigned char *from = host_memory(MIB(40)), *to = host_memory(MIB(40));
    char *device = device_memory(MIB(40));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        CUstream stream = streams[i % 3];
        stamp(from + i, sizes[i], (unsigned)i);
        memset(to, 0xee, sizes[i] + 64);
        GOOD(poolCopyToDeviceAsync(device + 3 * i, from + i, sizes[i], stream));
        memset(from, 0, sizes[i] + i); // the call has read it
        GOOD(poolCopyToHostAsync(to + 1, device + 3 * i, sizes[i], stream));
        REQUIRE(is_stamped(to + 1, sizes[i], (unsigned)i));
        REQUIRE(to[0] == 0xee && to[sizes[i] + 1] == 0xee);
    }
}

void row_rows_of_bytes_are_copied_without_what_is_between_them(void) {
    enum { WIDTH = 1000, HEIGHT = 3000, OF_HOST = 1024, OF_DEVICE = 1536 };
    unsigned char *from = host_memory(OF_HOST * HEIGHT), *to = host_memory(OF_HOST * HEIGHT);
    unsigned char *all = host_memory(OF_DEVICE * HEIGHT);
    char *device = device_memory(OF_DEVICE * HEIGHT);
    CUstream stream = test_stream();
    stamp(from, OF_HOST * HEIGHT, 1);
    GOOD(poolCopyToDeviceAsync(device, all, OF_DEVICE * HEIGHT, stream));
    GOOD(poolCopyToDevice2DAsync(device, OF_DEVICE, from, OF_HOST, WIDTH, HEIGHT, stream));
    GOOD(poolCopyToHost2DAsync(to, OF_HOST, device, OF_DEVICE, WIDTH, HEIGHT, stream));
    GOOD(poolCopyToHostAsync(all, device, OF_DEVICE * HEIGHT, stream));
    for (size_t row = 0; row < HEIGHT; row++) {
        REQUIRE(memcmp(to + row * OF_HOST, from + row * OF_HOST, WIDTH) == 0);
        REQUIRE(to[row * OF_HOST + WIDTH] == 0xee || row + 1 == HEIGHT);
        REQUIRE(memcmp(all + row * OF_DEVICE, from + row * OF_HOST, WIDTH) == 0);
        REQUIRE(all[row * OF_DEVICE + WIDTH] == 0xee);
    }
}

// ------------------------------------------------------------------------------------------- order

void row_a_copy_with_a_completion_waits_for_its_turn_alone(void) {
    enum { BYTES = 5000000 };
    unsigned char *from = host_memory(BYTES), *to = host_memory(BYTES);
    void *device = device_memory(BYTES);
    CUstream stream = test_stream();
    poolCopyCompletion_t in = NULL, out = NULL;
    struct test_hold hold;
    stamp(from, BYTES, 2);
    if (returns_at_once())
        test_hold(&hold, stream);
    GOOD(poolCopyToDeviceAsyncWithCompletion(device, from, BYTES, stream, &in));
    GOOD(poolCopyToHostAsyncWithCompletion(to, device, BYTES, stream, &out));
    if (returns_at_once()) {
        EXPECT(poolCopyCompletionQuery(out), poolErrorNotReady);
        REQUIRE(to[0] == 0xee && to[BYTES - 1] == 0xee);
        test_let_go(&hold);
    }
    DRIVER(test_driver()->cuStreamSynchronize(stream));
    REQUIRE(is_stamped(to, BYTES, 2));
    GOOD(poolCopyCompletionQuery(in));
    GOOD(poolCopyCompletionSynchronize(out));
    GOOD(poolCopyCompletionDestroy(in));
    GOOD(poolCopyCompletionDestroy(out));
    EXPECT(poolCopyCompletionQuery(in), poolErrorInvalidValue);
}

void row_a_completion_tells_that_its_source_was_read(void) {
    enum { BYTES = 300000 };
    unsigned char *from = host_memory(BYTES), *to = host_memory(BYTES);
    void *device = device_memory(BYTES);
    CUstream stream = test_stream();
    poolCopyCompletion_t completion = NULL;
    struct test_hold hold;
    stamp(from, BYTES, 3);
    if (returns_at_once())
        test_hold(&hold, stream);
    GOOD(poolCopyToDeviceAsyncWithCompletion(device, from, BYTES, stream, &completion));
    GOOD(poolCopyCompletionSynchronize(completion)); // the bytes fit into chunks
    memset(from, 0, BYTES);
    if (returns_at_once())
        test_let_go(&hold);
    GOOD(poolCopyToHostAsync(to, device, BYTES, stream));
    REQUIRE(is_stamped(to, BYTES, 3));
    GOOD(poolCopyCompletionDestroy(completion));
}

// More streams than a device has queues for: each has copies both ways that wait for the first.
void row_copies_of_many_streams_wait_for_one_and_all_arrive(void) {
    enum { STREAMS = 40, BYTES = 700000 };
    struct {
        CUstream stream;
        unsigned char *from, *to;
        void *device;
        poolCopyCompletion_t in, out;
    } all[STREAMS];
    CUevent event = test_event();
    struct test_hold hold;
    for (unsigned i = 0; i < STREAMS; i++) {
        all[i].stream = test_stream();
        all[i].from = host_memory(BYTES);
        all[i].to = host_memory(BYTES);
        all[i].device = device_memory(BYTES);
        stamp(all[i].from, BYTES, i);
    }
    if (returns_at_once())
        test_hold(&hold, all[0].stream);
    DRIVER(test_driver()->cuEventRecord(event, all[0].stream));
    for (unsigned i = 0; i < STREAMS; i++) {
        DRIVER(test_driver()->cuStreamWaitEvent(all[i].stream, event, 0));
        GOOD(poolCopyToDeviceAsyncWithCompletion(all[i].device, all[i].from, BYTES, all[i].stream,
                                                 &all[i].in));
        GOOD(poolCopyToHostAsyncWithCompletion(all[i].to, all[i].device, BYTES, all[i].stream,
                                               &all[i].out));
    }
    if (returns_at_once())
        test_let_go(&hold);
    for (unsigned i = 0; i < STREAMS; i++) {
        GOOD(poolCopyCompletionSynchronize(all[i].out));
        REQUIRE(is_stamped(all[i].to, BYTES, i));
        GOOD(poolCopyCompletionDestroy(all[i].in));
        GOOD(poolCopyCompletionDestroy(all[i].out));
    }
}

void row_a_held_copy_holds_up_no_other_stream(void) {
    enum { BYTES = 3000000 };
    unsigned char *from = host_memory(BYTES), *to = host_memory(BYTES);
    void *device = device_memory(BYTES), *other_device = device_memory(BYTES);
    CUstream stream = test_stream(), other = test_stream();
    poolCopyCompletion_t completion = NULL;
    struct test_spin spin;
    stamp(from, BYTES, 4);
    if (returns_at_once())
        test_spin(&spin, stream);
    GOOD(poolCopyToDeviceAsyncWithCompletion(device, from, BYTES, stream, &completion));
    GOOD(poolCopyToDeviceAsync(other_device, from, BYTES, other));
    GOOD(poolCopyToHostAsync(to, other_device, BYTES, other));
    REQUIRE(is_stamped(to, BYTES, 4));
    if (returns_at_once())
        test_stop_spinning(&spin);
    test_finish(stream);
    GOOD(poolCopyCompletionQuery(completion));
    GOOD(poolCopyCompletionDestroy(completion));
}

// -------------------------------------------------------------------------------- kinds of memory

void row_pinned_and_managed_memory_is_copied_at_its_turn(void) {
    unsigned char *pinned = pinned_memory(MIB(1)), *to = host_memory(MIB(1));
    void *device = device_memory(MIB(1));
    CUstream stream = test_stream();
    poolCopyCompletion_t completion = NULL;
    struct test_hold hold;
    stamp(pinned, MIB(1), 5);
    test_hold(&hold, stream);
    GOOD(poolCopyToDeviceAsync(device, pinned, MIB(1), stream));
    GOOD(poolCopyToDeviceAsyncWithCompletion(device, pinned, MIB(1), stream, &completion));
    EXPECT(poolCopyCompletionQuery(completion), poolErrorNotReady);
    stamp(pinned, MIB(1), 6);
    test_let_go(&hold);
    GOOD(poolCopyCompletionSynchronize(completion));
    GOOD(poolCopyCompletionDestroy(completion));
    GOOD(poolCopyToHostAsync(to, device, MIB(1), stream));
    REQUIRE(is_stamped(to, MIB(1), 6));
}

void row_a_capture_takes_pinned_copies_and_outlives_others(void) {
    unsigned char *pinned = pinned_memory(4096), *pageable = host_memory(4096);
    void *device = device_memory(4096);
    CUstream stream = test_stream(), other = test_stream();
    CUgraph graph = NULL;
    GOOD(poolCopyToDeviceAsync(device, pageable, 4096, other));
    DRIVER(test_driver()->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    GOOD(poolCopyToDeviceAsync(device, pinned, 4096, stream));
    EXPECT(poolCopyToDeviceAsync(device, pageable, 4096, stream),
           poolErrorStreamCaptureUnsupported);
    EXPECT(poolFileToDeviceAsync(device, 0, 0, 10, stream), poolErrorStreamCaptureUnsupported);
    DRIVER(test_driver()->cuStreamEndCapture(stream, &graph));
    REQUIRE(graph);
    DRIVER(test_driver()->cuGraphDestroy(graph));
}

void row_a_copy_of_what_the_driver_does_not_know_is_invalid(void) {
    unsigned char *host = host_memory(MIB(1));
    char *device = device_memory(MIB(4));
    CUstream stream = test_stream();
    EXPECT(poolCopyToDeviceAsync(host, host, 1, stream), poolErrorInvalidValue);
    EXPECT(poolCopyToHostAsync(host, host, 1, stream), poolErrorInvalidValue);
    EXPECT(poolCopyToDeviceAsync(NULL, host, 1, stream), poolErrorInvalidValue);
    EXPECT(poolCopyToHostAsync(NULL, device, 1, stream), poolErrorInvalidValue);
    EXPECT(poolCopyToDevice2DAsync(device, 4, host, 8, 8, 2, stream), poolErrorInvalidValue);
    GOOD(poolCopyToDeviceAsync(NULL, NULL, 0, stream));
}

// ------------------------------------------------------------------------------- pieces and files

static void copy_pieces(unsigned char *host, char *device, CUstream stream) {
    enum { PIECES = 1000, APART = 5000 };
    static void *to[PIECES];
    static const void *from[PIECES];
    static size_t sizes[PIECES];
    stamp(host, PIECES * APART, 7);
    for (size_t i = 0; i < PIECES; i++) {
        to[i] = device + (PIECES - 1 - i) * APART + i % 17;
        from[i] = host + i * APART + i % 5;
        sizes[i] = i % 3 == 0 ? 4096 : 1 + i * 4;
    }
    GOOD(poolCopyBatchAsync(to, from, sizes, PIECES, stream));
    test_finish(stream);
    unsigned char *copy = host_memory(PIECES * APART);
    memcpy(copy, host, PIECES * APART);
    memset(host, 0, PIECES * APART);
    for (size_t i = 0; i < PIECES; i++) {
        void *back = (void *)(uintptr_t)from[i];
        from[i] = to[i];
        to[i] = back;
    }
    GOOD(poolCopyBatchAsync(to, from, sizes, PIECES, stream));
    test_finish(stream);
    for (size_t i = 0; i < PIECES; i++) {
        size_t offset = (size_t)((unsigned char *)to[i] - host);
        REQUIRE(memcmp(to[i], copy + offset, sizes[i]) == 0);
        REQUIRE(host[offset + sizes[i]] == 0 || offset + sizes[i] == PIECES * APART);
    }
}

void row_many_pieces_are_copied_at_once_both_ways(void) {
    char *device = device_memory(MIB(6));
    CUstream stream = test_stream();
    copy_pieces(pinned_memory(MIB(6)), device, stream);
    copy_pieces(host_memory(MIB(6)), device, stream);
}

void row_a_file_is_copied_both_ways(void) {
    enum { BYTES = 9000001 };
    char path[] = "/tmp/streampool-conformance-XXXXXX";
    unsigned char *bytes = host_memory(BYTES);
    void *device = device_memory(BYTES);
    CUstream stream = test_stream();
    poolCopyCompletion_t completion = NULL;
    int fd = mkstemp(path);
    REQUIRE(fd >= 0 && unlink(path) == 0);
    stamp(bytes, BYTES, 8);
    GOOD(poolCopyToDeviceAsync(device, bytes, BYTES, stream));
    GOOD(poolDeviceToFileAsync(fd, 100, device, BYTES, stream));
    memset(bytes, 0, BYTES);
    REQUIRE(pread(fd, bytes, BYTES, 100) == BYTES && is_stamped(bytes, BYTES, 8));
    DRIVER(test_driver()->cuMemsetD8Async((uintptr_t)device, 0, BYTES, stream));
    GOOD(poolFileToDeviceAsyncWithCompletion(device, fd, 100, BYTES, stream, &completion));
    GOOD(poolCopyCompletionSynchronize(completion));
    GOOD(poolCopyCompletionDestroy(completion));
    memset(bytes, 0, BYTES);
    GOOD(poolCopyToHostAsync(bytes, device, BYTES, stream));
    REQUIRE(is_stamped(bytes, BYTES, 8));
    EXPECT(poolFileToDeviceAsync(device, fd, 101, BYTES, stream), poolErrorInvalidValue);
    EXPECT(poolFileToDeviceAsync(device, -1, 0, 1, stream), poolErrorOperatingSystem);
    close(fd);
}

// ---------------------------------------------------------------------------------- a process's
// end

void row_end_with_copies_under_way(void) {
    enum { BYTES = 3000000 };
    CUstream stream;
    unsigned char *host = host_memory(BYTES);
    struct test_hold hold;
    poolCopyCompletion_t completion = NULL;
    test_use_device(0);
    stream = test_stream();
    void *device = device_memory(BYTES);
    GOOD(poolCopyToDeviceAsync(device, host, BYTES, stream));
    if (returns_at_once())
        test_hold(&hold, stream);
    GOOD(poolCopyToDeviceAsyncWithCompletion(device, host, BYTES, stream, &completion));
    GOOD(poolCopyToHostAsyncWithCompletion(host, device, BYTES, stream, &completion));
    if (returns_at_once())
        test_let_go(&hold);
}

void row_a_process_ends_with_copies_under_way(void) {
    test_run_helper_quietly("end_with_copies_under_way");
}
