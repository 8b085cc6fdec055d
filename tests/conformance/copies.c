// Rows of the driver's copies and sets: what they wait for, when they read their source, and what
// they refuse.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "conformance/rows.h"
#include "conformance/wider.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

#define SMALL KIB(4)

static CUdeviceptr memory(size_t size) {
    CUdeviceptr address = 0;
    DRIVER(test_driver()->cuMemAlloc(&address, size));
    return address;
}

static unsigned char *pinned(size_t size) {
    void *address = NULL;
    DRIVER(test_driver()->cuMemHostAlloc(&address, size, 0));
    return address;
}

static bool all_are(const unsigned char *bytes, unsigned char value, size_t size) {
    size_t i = 0;
    while (i < size && bytes[i] == value)
        i++;
    return i == size;
}

static bool holds(CUdeviceptr address, unsigned char value, size_t size) {
    return test_is_filled((void *)(uintptr_t)address, value, size);
}

static bool is_pending(CUstream stream) {
    return test_driver()->cuStreamQuery(stream) == CUDA_ERROR_NOT_READY;
}

// --------------------------------------------------------------------------- when a source is read

void row_a_small_copy_from_pageable_memory_has_taken_its_source(void) {
    unsigned char source[SMALL];
    struct test_hold hold;
    CUstream stream = test_stream();
    CUdeviceptr to = memory(SMALL);
    memset(source, 1, sizeof source);
    test_hold(&hold, stream);
    DRIVER(test_driver()->cuMemcpyHtoDAsync(to, source, sizeof source, stream));
    memset(source, 2, sizeof source);
    test_let_go(&hold);
    test_finish(stream);
    REQUIRE(holds(to, 1, SMALL));
}

void row_a_copy_from_pinned_memory_reads_its_source_when_it_runs(void) {
    struct test_hold hold;
    CUstream stream = test_stream();
    CUdeviceptr to = memory(SMALL);
    unsigned char *source = pinned(SMALL);
    memset(source, 1, SMALL);
    test_hold(&hold, stream);
    DRIVER(test_driver()->cuMemcpyHtoDAsync(to, source, SMALL, stream));
    memset(source, 2, SMALL);
    test_let_go(&hold);
    test_finish(stream);
    REQUIRE(holds(to, 2, SMALL));
}

void row_a_copy_to_pageable_memory_is_complete_when_it_returns(void) {
    CUstream stream = test_stream();
    CUdeviceptr from = memory(MIB(1));
    unsigned char *to = calloc(1, MIB(1));
    REQUIRE(to);
    test_fill((void *)(uintptr_t)from, 3, MIB(1), stream);
    DRIVER(test_driver()->cuMemcpyDtoHAsync(to, from, MIB(1), stream));
    REQUIRE(all_are(to, 3, MIB(1)));
    free(to);
}

void row_a_copy_to_pinned_memory_is_pending_behind_its_stream(void) {
    struct test_hold hold;
    CUstream stream = test_stream();
    CUdeviceptr from = memory(SMALL);
    unsigned char *to = pinned(SMALL);
    memset(to, 0, SMALL);
    test_fill((void *)(uintptr_t)from, 4, SMALL, stream);
    test_finish(stream);
    test_hold(&hold, stream);
    DRIVER(test_driver()->cuMemcpyDtoHAsync(to, from, SMALL, stream));
    REQUIRE(is_pending(stream) && all_are(to, 0, SMALL));
    test_let_go(&hold);
    test_finish(stream);
    REQUIRE(all_are(to, 4, SMALL));
}

// ------------------------------------------------------------------------------ what is waited for

void row_a_copy_on_the_device_does_not_wait_on_the_host(void) {
    struct test_hold hold;
    CUstream stream = test_blocking_stream();
    CUdeviceptr from = memory(SMALL), to = memory(SMALL);
    test_fill((void *)(uintptr_t)from, 5, SMALL, stream);
    test_hold(&hold, stream);
    DRIVER(wider()->cuMemcpyDtoD_v2(to, from, SMALL));
    REQUIRE(is_pending(CU_STREAM_LEGACY));
    test_let_go(&hold);
    test_finish(CU_STREAM_LEGACY);
    REQUIRE(holds(to, 5, SMALL));
}

void row_a_set_of_device_memory_does_not_wait_on_the_host(void) {
    struct test_hold hold;
    CUstream stream = test_blocking_stream();
    CUdeviceptr to = memory(SMALL);
    test_hold(&hold, stream);
    DRIVER(wider()->cuMemsetD8_v2(to, 6, SMALL));
    REQUIRE(is_pending(CU_STREAM_LEGACY));
    test_let_go(&hold);
    test_finish(CU_STREAM_LEGACY);
    REQUIRE(holds(to, 6, SMALL));
}

void row_a_copy_between_streams_is_ordered_by_an_event(void) {
    CUstream a = test_stream(), b = test_stream();
    CUevent event = test_event();
    CUdeviceptr from = memory(MIB(4)), to = memory(MIB(4));
    struct test_hold hold;
    test_hold(&hold, a);
    test_fill((void *)(uintptr_t)from, 7, MIB(4), a);
    DRIVER(test_driver()->cuEventRecord(event, a));
    DRIVER(test_driver()->cuStreamWaitEvent(b, event, 0));
    DRIVER(wider()->cuMemcpyDtoDAsync_v2(to, from, MIB(4), b));
    REQUIRE(is_pending(b));
    test_let_go(&hold);
    test_finish(b);
    REQUIRE(holds(to, 7, MIB(4)));
}

// --------------------------------------------------------------------------------- kinds of memory

void row_a_copy_finds_out_where_its_memory_is(void) {
    CUdeviceptr on_device = memory(SMALL);
    unsigned char *on_host = pinned(SMALL), pageable[SMALL];
    CUstream stream = test_stream();
    memset(on_host, 8, SMALL);
    DRIVER(wider()->cuMemcpy(on_device, (uintptr_t)on_host, SMALL));
    REQUIRE(holds(on_device, 8, SMALL));
    DRIVER(wider()->cuMemcpy((uintptr_t)pageable, on_device, SMALL));
    REQUIRE(all_are(pageable, 8, SMALL));
    memset(on_host, 9, SMALL);
    DRIVER(test_driver()->cuMemcpyAsync((uintptr_t)pageable, (uintptr_t)on_host, SMALL, stream));
    test_finish(stream);
    REQUIRE(all_are(pageable, 9, SMALL));
}

void row_a_copy_of_no_bytes_succeeds(void) {
    CUdeviceptr to = memory(SMALL);
    unsigned char byte = 0;
    CUstream stream = test_stream();
    ANSWERS(test_driver()->cuMemcpyHtoD(to, &byte, 0), CUDA_SUCCESS);
    ANSWERS(wider()->cuMemcpyDtoD_v2(to, to, 0), CUDA_SUCCESS);
    ANSWERS(test_driver()->cuMemcpyAsync(to, to, 0, stream), CUDA_SUCCESS);
    ANSWERS(test_driver()->cuMemsetD8Async(to, 0, 0, stream), CUDA_SUCCESS);
}

void row_a_copy_of_memory_that_is_nobodys_is_invalid(void) {
    CUdeviceptr to = memory(SMALL), nobodys = (CUdeviceptr)1 << 60;
    unsigned char bytes[16] = {0};
    CUstream stream = test_stream();
    ANSWERS(test_driver()->cuMemcpyHtoDAsync(0, bytes, sizeof bytes, stream),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemcpyHtoDAsync(to, NULL, sizeof bytes, stream),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemcpyDtoHAsync(bytes, nobodys, sizeof bytes, stream),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemcpyDtoDAsync_v2(to, nobodys, sizeof bytes, stream),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemsetD8Async(nobodys, 0, sizeof bytes, stream),
            CUDA_ERROR_INVALID_VALUE);
    test_forgive_complaints();
}

void row_a_copy_past_the_end_of_an_allocation_is_invalid(void) {
    CUdeviceptr to = memory(MIB(2));
    CUstream stream = test_stream();
    unsigned char *from = pinned(MIB(8));
    ANSWERS(test_driver()->cuMemcpyHtoDAsync(to + MIB(2) - 16, from, MIB(7), stream),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemsetD8Async(to + MIB(2) - 16, 0, MIB(7), stream),
            CUDA_ERROR_INVALID_VALUE);
    test_forgive_complaints();
}

// Returns an allocation of 2 MiB that another one follows without a gap.
static CUdeviceptr memory_before_other(void) {
    enum { MOST = 32 };
    CUdeviceptr all[MOST];
    for (int i = 0; i < MOST; i++) {
        all[i] = memory(MIB(2));
        for (int j = 0; j < i; j++) {
            if (all[i] + MIB(2) == all[j] || all[j] + MIB(2) == all[i])
                return all[i] < all[j] ? all[i] : all[j];
        }
    }
    test_skip("no two allocations are neighbours");
}

void row_a_copy_over_two_allocations_is_invalid(void) {
    CUstream stream = test_stream();
    CUdeviceptr from = memory_before_other();
    unsigned char *host = calloc(1, MIB(4));
    REQUIRE(host);
    ANSWERS(test_driver()->cuMemcpyHtoD(from, host, MIB(4)), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemcpyHtoDAsync(from, host, MIB(4), stream), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemcpyDtoH(host, from, MIB(4)), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemsetD8Async(from, 1, MIB(4), stream), CUDA_ERROR_INVALID_VALUE);
    free(host);
    test_forgive_complaints();
}

void row_a_copy_that_leaves_registered_memory_is_invalid(void) {
    CUstream stream = test_stream();
    CUdeviceptr to = memory(MIB(1));
    unsigned char *host =
        mmap(NULL, MIB(1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *second = host + KIB(512);
    REQUIRE(host != MAP_FAILED);
    memset(host, 1, MIB(1));
    DRIVER(test_driver()->cuMemHostRegister(host, KIB(512), 0));
    ANSWERS(test_driver()->cuMemcpyHtoD(to, host, MIB(1)), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemcpyHtoDAsync(to, host, MIB(1), stream), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemcpyDtoHAsync(host, to, MIB(1), stream), CUDA_ERROR_INVALID_VALUE);
    DRIVER(test_driver()->cuMemHostRegister(second, KIB(512), 0));
    ANSWERS(test_driver()->cuMemcpyHtoD(to, host, MIB(1)), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemcpyHtoDAsync(to, host, MIB(1), stream), CUDA_ERROR_INVALID_VALUE);
    DRIVER(test_driver()->cuMemHostUnregister(host));
    DRIVER(test_driver()->cuMemcpyHtoD(to, host, MIB(1)));
    REQUIRE(holds(to, 1, MIB(1)));
    DRIVER(test_driver()->cuMemHostUnregister(second));
    test_forgive_complaints();
}

// --------------------------------------------------------------------------------- rows and planes

void row_a_copy_of_rows_takes_the_pitch_of_both_sides(void) {
    enum { WIDTH = 48, ROWS = 5, FROM_PITCH = 64, TO_PITCH = 96 };
    unsigned char source[ROWS * FROM_PITCH], result[ROWS * TO_PITCH];
    CUdeviceptr to = memory(sizeof result);
    CUstream stream = test_stream();
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (unsigned char)i;
    test_fill((void *)(uintptr_t)to, 0, sizeof result, stream);
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_HOST,
        .srcHost = source,
        .srcPitch = FROM_PITCH,
        .srcXInBytes = 4,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = to,
        .dstPitch = TO_PITCH,
        .dstY = 0,
        .WidthInBytes = WIDTH,
        .Height = ROWS,
    };
    DRIVER(test_driver()->cuMemcpy2DAsync(&copy, stream));
    test_finish(stream);
    DRIVER(test_driver()->cuMemcpyDtoH(result, to, sizeof result));
    for (size_t row = 0; row < ROWS; row++) {
        REQUIRE(memcmp(result + row * TO_PITCH, source + row * FROM_PITCH + 4, WIDTH) == 0);
        REQUIRE(all_are(result + row * TO_PITCH + WIDTH, 0, TO_PITCH - WIDTH));
    }
}

void row_a_pitch_that_is_less_than_a_row_is_invalid(void) {
    CUdeviceptr from = memory(SMALL), to = memory(SMALL);
    CUDA_MEMCPY2D copy = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = from,
        .srcPitch = 32,
        .dstMemoryType = CU_MEMORYTYPE_DEVICE,
        .dstDevice = to,
        .dstPitch = 64,
        .WidthInBytes = 48,
        .Height = 2,
    };
    ANSWERS(wider()->cuMemcpy2D_v2(&copy), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemcpy2D_v2(NULL), CUDA_ERROR_INVALID_VALUE);
}

void row_a_copy_of_planes_takes_pitch_and_height_of_both_sides(void) {
    enum { WIDTH = 16, ROWS = 3, PLANES = 2, PITCH = 32, HEIGHT = 4 };
    unsigned char source[PLANES * HEIGHT * PITCH], result[WIDTH * ROWS * PLANES];
    CUdeviceptr from = memory(sizeof source);
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (unsigned char)(i * 7);
    DRIVER(test_driver()->cuMemcpyHtoD(from, source, sizeof source));
    CUDA_MEMCPY3D copy = {
        .srcMemoryType = CU_MEMORYTYPE_DEVICE,
        .srcDevice = from,
        .srcPitch = PITCH,
        .srcHeight = HEIGHT,
        .dstMemoryType = CU_MEMORYTYPE_HOST,
        .dstHost = result,
        .dstPitch = WIDTH,
        .dstHeight = ROWS,
        .WidthInBytes = WIDTH,
        .Height = ROWS,
        .Depth = PLANES,
    };
    DRIVER(wider()->cuMemcpy3D_v2(&copy));
    for (size_t plane = 0; plane < PLANES; plane++)
        for (size_t row = 0; row < ROWS; row++)
            REQUIRE(memcmp(result + (plane * ROWS + row) * WIDTH,
                           source + (plane * HEIGHT + row) * PITCH, WIDTH) == 0);
}

// -------------------------------------------------------------------------------------------- sets

void row_a_set_of_words_writes_whole_words(void) {
    uint32_t words[8];
    uint16_t halves[8];
    CUdeviceptr to = memory(SMALL);
    CUstream stream = test_stream();
    DRIVER(wider()->cuMemsetD32Async(to, 0x12345678, 8, stream));
    test_finish(stream);
    DRIVER(test_driver()->cuMemcpyDtoH(words, to, sizeof words));
    REQUIRE(words[0] == 0x12345678 && words[7] == 0x12345678);
    DRIVER(wider()->cuMemsetD16_v2(to, 0xABCD, 8));
    DRIVER(test_driver()->cuMemcpyDtoH(halves, to, sizeof halves));
    REQUIRE(halves[0] == 0xABCD && halves[7] == 0xABCD);
}

void row_a_set_of_words_wants_them_aligned(void) {
    CUdeviceptr to = memory(SMALL);
    CUstream stream = test_stream();
    ANSWERS(wider()->cuMemsetD32Async(to + 2, 1, 8, stream), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemsetD16Async(to + 1, 1, 8, stream), CUDA_ERROR_INVALID_VALUE);
}

void row_a_set_of_rows_leaves_what_is_between_them(void) {
    unsigned char result[4 * 64];
    CUdeviceptr to = memory(sizeof result);
    CUstream stream = test_stream();
    test_fill((void *)(uintptr_t)to, 1, sizeof result, stream);
    DRIVER(wider()->cuMemsetD2D8Async(to, 64, 9, 40, 4, stream));
    test_finish(stream);
    DRIVER(test_driver()->cuMemcpyDtoH(result, to, sizeof result));
    for (size_t row = 0; row < 4; row++) {
        REQUIRE(all_are(result + row * 64, 9, 40));
        REQUIRE(all_are(result + row * 64 + 40, 1, 24));
    }
}

// ------------------------------------------------------------------------------- words of a stream

void row_a_stream_waits_for_a_value(void) {
    CUstream waits = test_stream(), writes = test_stream();
    CUdeviceptr word = memory(64);
    DRIVER(test_driver()->cuMemsetD8Async(word, 0, 64, writes));
    test_finish(writes);
    DRIVER(test_driver()->cuStreamWaitValue32(waits, word, 5, CU_STREAM_WAIT_VALUE_GEQ));
    REQUIRE(is_pending(waits));
    DRIVER(test_driver()->cuStreamWriteValue32(writes, word, 4, 0));
    test_finish(writes);
    REQUIRE(is_pending(waits));
    DRIVER(test_driver()->cuStreamWriteValue32(writes, word, 6, 0));
    test_finish(waits);
}

void row_a_stream_waits_for_bits_or_an_equal_value(void) {
    CUstream waits = test_stream(), writes = test_stream();
    CUdeviceptr word = memory(64);
    DRIVER(test_driver()->cuMemsetD8Async(word, 0, 64, writes));
    test_finish(writes);
    DRIVER(test_driver()->cuStreamWaitValue32(waits, word, 8, CU_STREAM_WAIT_VALUE_AND));
    DRIVER(wider()->cuStreamWaitValue64_v2(waits, word + 8, 77, CU_STREAM_WAIT_VALUE_EQ));
    DRIVER(test_driver()->cuStreamWriteValue32(writes, word, 12, 0));
    test_finish(writes);
    REQUIRE(is_pending(waits));
    DRIVER(wider()->cuStreamWriteValue64_v2(writes, word + 8, 77, 0));
    test_finish(waits);
}

void row_a_word_of_a_stream_is_aligned_and_somebodys(void) {
    CUstream stream = test_stream();
    CUdeviceptr word = memory(64);
    ANSWERS(test_driver()->cuStreamWriteValue32(stream, word + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuStreamWaitValue64_v2(stream, word + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuStreamWriteValue32(stream, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
}

void row_a_stream_waits_for_a_bit_that_neither_has(void) {
    CUstream waits = test_stream(), writes = test_stream();
    CUdeviceptr word = memory(64);
    DRIVER(test_driver()->cuMemsetD8Async(word, 0xFF, 64, writes));
    test_finish(writes);
    DRIVER(test_driver()->cuStreamWaitValue32(waits, word, 0x0F, CU_STREAM_WAIT_VALUE_NOR));
    DRIVER(test_driver()->cuStreamWriteValue32(writes, word, 0xFFFFFFF0, 0));
    test_finish(writes);
    REQUIRE(is_pending(waits));
    DRIVER(test_driver()->cuStreamWriteValue32(writes, word, 0x7FFFFFFF, 0));
    test_finish(waits);
}

void row_a_wait_for_a_word_that_flushes_is_not_supported(void) {
    CUstream stream = test_stream();
    CUdeviceptr word = memory(64);
    const unsigned flags = CU_STREAM_WAIT_VALUE_EQ | CU_STREAM_WAIT_VALUE_FLUSH;
    DRIVER(test_driver()->cuStreamWriteValue32(stream, word, 1, 0));
    test_finish(stream);
    ANSWERS(test_driver()->cuStreamWaitValue32(stream, word, 1, flags), CUDA_ERROR_NOT_SUPPORTED);
    ANSWERS(test_driver()->cuStreamQuery(stream), CUDA_SUCCESS);
}

void row_a_condition_of_a_word_that_is_none_is_invalid(void) {
    CUstream stream = test_stream();
    CUdeviceptr word = memory(64);
    DRIVER(test_driver()->cuStreamWriteValue32(stream, word, 1, 0));
    test_finish(stream);
    ANSWERS(test_driver()->cuStreamWaitValue32(stream, word, 1, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuStreamWriteValue32(stream, word, 1, 2), CUDA_ERROR_INVALID_VALUE);
}

static CUstreamBatchMemOpParams wait_for(CUdeviceptr word, uint32_t value) {
    return (CUstreamBatchMemOpParams){.waitValue = {.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32,
                                                    .address = word,
                                                    .value = value,
                                                    .flags = CU_STREAM_WAIT_VALUE_EQ}};
}

static CUstreamBatchMemOpParams write_to(CUdeviceptr word, uint32_t value) {
    return (CUstreamBatchMemOpParams){.writeValue = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32,
                                                     .address = word,
                                                     .value = value}};
}

void row_several_words_come_in_order(void) {
    CUstream stream = test_stream(), other = test_stream();
    CUdeviceptr words = memory(64);
    uint32_t last = 0;
    DRIVER(test_driver()->cuMemsetD8Async(words, 0, 64, other));
    test_finish(other);
    CUstreamBatchMemOpParams operations[] = {write_to(words, 1), wait_for(words, 1),
                                             wait_for(words + 4, 7), write_to(words + 8, 9)};
    DRIVER(wider()->cuStreamBatchMemOp_v2(stream, 4, operations, 0));
    REQUIRE(is_pending(stream));
    DRIVER(test_driver()->cuStreamWriteValue32(other, words + 4, 7, 0));
    test_finish(stream);
    DRIVER(test_driver()->cuMemcpyDtoH(&last, words + 8, sizeof last));
    REQUIRE_EQUAL(last, 9);
}

void row_several_words_have_a_barrier_among_them(void) {
    CUstream stream = test_stream();
    CUdeviceptr word = memory(64);
    CUstreamBatchMemOpParams operations[] = {
        write_to(word, 1), {.memoryBarrier = {.operation = CU_STREAM_MEM_OP_BARRIER}}};
    DRIVER(wider()->cuStreamBatchMemOp_v2(stream, 2, operations, 0));
    test_finish(stream);
}

void row_several_words_are_below_256_and_all_valid(void) {
    CUstream stream = test_stream();
    CUdeviceptr word = memory(64);
    CUstreamBatchMemOpParams operations[256];
    for (int i = 0; i < 256; i++)
        operations[i] = write_to(word, 1);
    DRIVER(wider()->cuStreamBatchMemOp_v2(stream, 255, operations, 0));
    ANSWERS(wider()->cuStreamBatchMemOp_v2(stream, 256, operations, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuStreamBatchMemOp_v2(stream, 1, operations, 1), CUDA_ERROR_INVALID_VALUE);
    operations[1] = write_to(word + 2, 1);
    ANSWERS(wider()->cuStreamBatchMemOp_v2(stream, 2, operations, 0), CUDA_ERROR_INVALID_VALUE);
    test_finish(stream);
}

void row_no_words_and_a_flush_are_told_apart(void) {
    CUstream stream = test_stream();
    CUstreamBatchMemOpParams flush = {
        .flushRemoteWrites = {.operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES}};
    ANSWERS(wider()->cuStreamBatchMemOp_v2(stream, 0, &flush, 0), CUDA_SUCCESS);
    ANSWERS(wider()->cuStreamBatchMemOp_v2(stream, 1, &flush, 0), CUDA_ERROR_NOT_SUPPORTED);
}

// ---------------------------------------------------------------------------------------- batches

static CUresult copy_batch(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                           CUmemcpySrcAccessOrder order, CUstream stream) {
    CUmemcpyAttributes attributes = {.srcAccessOrder = order};
    size_t first = 0;
    WIDER_NEEDS(cuMemcpyBatchAsync_v2);
    return wider()->cuMemcpyBatchAsync_v2(to, from, sizes, count, &attributes, &first, 1, stream);
}

void row_copies_of_a_batch_are_all_made(void) {
    CUstream stream = test_stream();
    CUdeviceptr to[] = {memory(SMALL), memory(SMALL)}, from[] = {memory(SMALL), memory(SMALL)};
    size_t sizes[] = {SMALL, SMALL / 2};
    test_fill((void *)(uintptr_t)from[0], 1, SMALL, stream);
    test_fill((void *)(uintptr_t)from[1], 2, SMALL, stream);
    DRIVER(copy_batch(to, from, sizes, 2, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, stream));
    test_finish(stream);
    REQUIRE(holds(to[0], 1, SMALL) && holds(to[1], 2, SMALL / 2));
}

void row_a_batch_may_read_its_source_during_the_call(void) {
    struct test_hold hold;
    CUstream stream = test_stream();
    unsigned char source[SMALL];
    CUdeviceptr to = memory(SMALL), from = (uintptr_t)source;
    size_t size = SMALL;
    memset(source, 1, sizeof source);
    test_hold(&hold, stream);
    DRIVER(copy_batch(&to, &from, &size, 1, CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL, stream));
    memset(source, 2, sizeof source);
    test_let_go(&hold);
    test_finish(stream);
    REQUIRE(holds(to, 1, SMALL));
}

void row_a_batch_takes_no_null_stream(void) {
    CUdeviceptr to = memory(SMALL), from = memory(SMALL);
    size_t size = SMALL;
    const CUmemcpySrcAccessOrder order = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    ANSWERS(copy_batch(&to, &from, &size, 1, order, NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(copy_batch(&to, &from, &size, 1, order, CU_STREAM_LEGACY), CUDA_ERROR_INVALID_VALUE);
    DRIVER(copy_batch(&to, &from, &size, 1, order, CU_STREAM_PER_THREAD));
    test_finish(CU_STREAM_PER_THREAD);
}

void row_a_batch_has_copies_and_an_order(void) {
    CUdeviceptr to = memory(SMALL), from = memory(SMALL);
    size_t size = SMALL, first = 0, second = 1;
    CUstream stream = test_stream();
    CUmemcpyAttributes order = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    WIDER_NEEDS(cuMemcpyBatchAsync_v2);
    ANSWERS(copy_batch(&to, &from, &size, 0, order.srcAccessOrder, stream),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(copy_batch(&to, &from, &size, 1, (CUmemcpySrcAccessOrder)0, stream),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(copy_batch(&to, &from, &size, 1, (CUmemcpySrcAccessOrder)4, stream),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemcpyBatchAsync_v2(&to, &from, &size, 1, NULL, &first, 0, stream),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemcpyBatchAsync_v2(&to, &from, &size, 1, &order, &second, 1, stream),
            CUDA_ERROR_INVALID_VALUE);
}

// ------------------------------------------------------------------------------------------ peers

void row_a_copy_between_contexts_of_one_device_is_a_copy(void) {
    CUcontext here = NULL, there = NULL;
    CUdeviceptr from = memory(SMALL), to;
    CUstream stream = test_stream();
    test_fill((void *)(uintptr_t)from, 5, SMALL, stream);
    test_finish(stream);
    DRIVER(test_driver()->cuCtxGetCurrent(&here));
    DRIVER(test_driver()->cuCtxCreate(&there, 0, 0));
    to = memory(SMALL);
    DRIVER(wider()->cuMemcpyPeer(to, there, from, here, SMALL));
    test_finish(NULL);
    REQUIRE(holds(to, 5, SMALL));
}

void row_a_copy_between_contexts_may_leave_out_the_current_one(void) {
    CUcontext here = NULL;
    CUdeviceptr from = memory(SMALL), to = memory(SMALL);
    CUstream stream = test_stream();
    DRIVER(test_driver()->cuCtxGetCurrent(&here));
    DRIVER(wider()->cuMemcpyPeerAsync(to, here, from, here, SMALL, stream));
    DRIVER(wider()->cuMemcpyPeerAsync(to, NULL, from, here, SMALL, stream));
    DRIVER(wider()->cuMemcpyPeerAsync(to, here, from, NULL, SMALL, stream));
    test_finish(stream);
}
