// Copies and sets: what they move, when they read their source, and when their calls return.
#include <stdlib.h>
#include <string.h>

#include "unit/simcuda/fixture.h"

#define SIZE  ((size_t)4096)
#define LARGE ((size_t)256 << 10)

static CUdeviceptr device_memory(size_t size) {
    CUdeviceptr address;
    OK(cuMemAlloc_v2(&address, size));
    return address;
}

static unsigned char *pinned_memory(size_t size) {
    void *memory;
    OK(cuMemHostAlloc(&memory, size, 0));
    memset(memory, 0, size);
    return memory;
}

static unsigned char *pageable_memory(size_t size) {
    unsigned char *memory = calloc(1, size);
    assert_non_null(memory);
    return memory;
}

static bool is_all(const unsigned char *bytes, unsigned char value, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != value)
            return false;
    }
    return true;
}

static bool device_is_all(CUdeviceptr address, unsigned char value, size_t size) {
    unsigned char *bytes = pageable_memory(size);
    OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(bytes, address, size));
    bool answer = is_all(bytes, value, size);
    free(bytes);
    return answer;
}

static CUdeviceptr at(const void *memory) {
    return (uintptr_t)memory;
}

// ------------------------------------------------------------------------- when the source is read

static void a_pageable_source_is_taken_before_an_asynchronous_call_returns(void **state) {
    (void)state;
    const size_t sizes[] = {SIZE, LARGE};
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr device = device_memory(LARGE);
    unsigned char *source = pageable_memory(LARGE);
    for (size_t i = 0; i < 2; i++) {
        spin(stream, 5 * MS);
        memset(source, 1, sizes[i]);
        OK(cuMemcpyHtoDAsync_v2(device, source, sizes[i], stream));
        memset(source, 2, sizes[i]);
        assert_true(device_is_all(device, 1, sizes[i]));
    }
    free(source);
    OK(cuMemFree_v2(device));
}

static void a_pinned_source_is_read_when_the_stream_comes_to_the_copy(void **state) {
    (void)state;
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr device = device_memory(SIZE);
    unsigned char *source = pinned_memory(SIZE);
    spin(stream, 5 * MS);
    memset(source, 1, SIZE);
    OK(cuMemcpyHtoDAsync_v2(device, source, SIZE, stream));
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    memset(source, 2, SIZE);
    assert_true(device_is_all(device, 2, SIZE));
}

static void registered_memory_is_pinned_memory(void **state) {
    (void)state;
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr device = device_memory(SIZE);
    unsigned char *source = pageable_memory(SIZE);
    OK(cuMemHostRegister_v2(source, SIZE, 0));
    spin(stream, 5 * MS);
    OK(cuMemcpyHtoDAsync_v2(device, source, SIZE, stream));
    memset(source, 3, SIZE);
    assert_true(device_is_all(device, 3, SIZE));
    OK(cuMemHostUnregister(source));
    spin(stream, 5 * MS);
    OK(cuMemcpyHtoDAsync_v2(device, source, SIZE, stream));
    memset(source, 4, SIZE);
    assert_true(device_is_all(device, 3, SIZE));
    free(source);
}

// ----------------------------------------------------------------------------- when a call returns

static void a_copy_to_pageable_memory_is_complete_when_its_call_returns(void **state) {
    (void)state;
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr device = device_memory(SIZE);
    unsigned char *target = pageable_memory(SIZE);
    spin(stream, 5 * MS);
    OK(cuMemsetD8Async(device, 7, SIZE, stream));
    OK(cuMemcpyDtoHAsync_v2(target, device, SIZE, stream));
    assert_true(is_all(target, 7, SIZE));
    OK(cuStreamQuery(stream));
    free(target);
}

static void a_copy_to_pinned_memory_is_not_waited_for(void **state) {
    (void)state;
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr device = device_memory(SIZE);
    unsigned char *target = pinned_memory(SIZE);
    spin(stream, 5 * MS);
    OK(cuMemsetD8Async(device, 7, SIZE, stream));
    OK(cuMemcpyDtoHAsync_v2(target, device, SIZE, stream));
    assert_true(is_all(target, 0, SIZE));
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(stream));
    assert_true(is_all(target, 7, SIZE));
}

static void a_synchronous_copy_on_the_device_is_not_waited_for(void **state) {
    (void)state;
    CUdeviceptr from = device_memory(SIZE), to = device_memory(SIZE);
    OK(cuMemsetD8_v2(from, 5, SIZE));
    spin(NULL, 5 * MS);
    OK(cuMemcpyDtoD_v2(to, from, SIZE));
    FAILS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    assert_true(device_is_all(to, 5, SIZE));
}

static void a_synchronous_copy_from_pinned_memory_is_waited_for(void **state) {
    (void)state;
    CUdeviceptr device = device_memory(SIZE);
    unsigned char *source = pinned_memory(SIZE);
    spin(NULL, 5 * MS);
    OK(cuMemcpyHtoD_v2(device, source, SIZE));
    OK(cuStreamQuery(NULL));
}

static void a_small_synchronous_copy_from_pageable_memory_waits_for_nothing(void **state) {
    (void)state;
    CUdeviceptr device = device_memory(LARGE);
    unsigned char *source = pageable_memory(LARGE);
    memset(source, 1, LARGE);
    spin(NULL, 5 * MS);
    uint64_t before = simcudaNow();
    OK(cuMemcpyHtoD_v2(device, source, (size_t)64 << 10));
    memset(source, 2, LARGE);
    assert_true(simcudaNow() - before < MS);
    FAILS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    assert_true(device_is_all(device, 1, (size_t)64 << 10));
    free(source);
}

static void a_large_one_waits_for_the_stream_first(void **state) {
    (void)state;
    CUstream stream = make_stream();
    CUdeviceptr device = device_memory(LARGE);
    unsigned char *source = pageable_memory(LARGE);
    spin(stream, 5 * MS);
    OK(cuMemcpyHtoD_v2(device, source, ((size_t)64 << 10) + 1));
    OK(cuStreamQuery(stream));
    free(source);
}

// A program that relies on the copy's end has to wait for it.
static void the_host_does_not_know_a_copy_to_be_complete_that_waits_in_its_stream(void **state) {
    (void)state;
    CUstream other = make_non_blocking_stream();
    CUdeviceptr device = device_memory(SIZE);
    unsigned char *source = pageable_memory(SIZE);
    OK(cuMemcpyHtoD_v2(device, source, SIZE));
    touch(other, "reader", device, SIZE, simcudaAccessRead);
    OK(cuCtxSynchronize());
    expect_no_report();
    spin(NULL, 5 * MS);
    OK(cuMemcpyHtoD_v2(device, source, SIZE));
    touch(other, "reader", device, SIZE, simcudaAccessRead);
    OK(cuCtxSynchronize());
    expect_report("race");
    free(source);
}

static void a_copy_from_host_to_host_is_complete_when_its_call_returns(void **state) {
    (void)state;
    CUstream stream = make_non_blocking_stream();
    unsigned char *source = pinned_memory(SIZE), *target = pinned_memory(SIZE);
    memset(source, 9, SIZE);
    spin(stream, 5 * MS);
    OK(cuMemcpyAsync(at(target), at(source), SIZE, stream));
    assert_true(is_all(target, 9, SIZE));
    OK(cuStreamQuery(stream));
}

static void a_synchronous_set_waits_for_host_memory_alone(void **state) {
    (void)state;
    CUdeviceptr device = device_memory(SIZE);
    unsigned char *pinned = pinned_memory(SIZE);
    spin(NULL, 5 * MS);
    OK(cuMemsetD8_v2(device, 1, SIZE));
    FAILS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    OK(cuMemsetD8_v2(at(pinned), 1, SIZE));
    assert_true(is_all(pinned, 1, SIZE));
    OK(cuStreamQuery(NULL));
    spin(NULL, 5 * MS);
    OK(cuMemsetD8Async(at(pinned), 2, SIZE, NULL));
    assert_true(is_all(pinned, 1, SIZE));
    FAILS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
}

// ----------------------------------------------------------------------------------- what is moved

static void the_kinds_of_both_addresses_are_found(void **state) {
    (void)state;
    CUdeviceptr first = device_memory(SIZE), second = device_memory(SIZE);
    unsigned char *pinned = pinned_memory(SIZE), *pageable = pageable_memory(SIZE);
    memset(pageable, 6, SIZE);
    OK(cuMemcpy(at(pinned), at(pageable), SIZE));
    OK(cuMemcpy(first, at(pinned), SIZE));
    OK(cuMemcpy(second, first, SIZE));
    memset(pageable, 0, SIZE);
    OK(cuMemcpy(at(pageable), second, SIZE));
    assert_true(is_all(pageable, 6, SIZE));
    free(pageable);
}

// Two rows of 3 bytes from the middle of rows of 8, to the middle of rows of 16.
static CUDA_MEMCPY2D rows_of_three(void) {
    return (CUDA_MEMCPY2D){.srcXInBytes = 2,
                           .srcY = 1,
                           .srcPitch = 8,
                           .dstXInBytes = 5,
                           .dstY = 1,
                           .dstPitch = 16,
                           .WidthInBytes = 3,
                           .Height = 2};
}

static void a_copy_of_rows_moves_them_and_nothing_else(void **state) {
    (void)state;
    unsigned char source[24], target[48];
    CUdeviceptr device = device_memory(sizeof target);
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (unsigned char)i;
    OK(cuMemsetD8_v2(device, 0xFF, sizeof target));
    CUDA_MEMCPY2D copy = rows_of_three();
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = source;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = device;
    OK(cuMemcpy2D_v2(&copy));
    OK(cuMemcpyDtoH_v2(target, device, sizeof target));
    for (size_t i = 0; i < sizeof target; i++) {
        size_t row = i / 16, column = i % 16;
        bool is_moved = row >= 1 && column >= 5 && column < 8;
        assert_int_equal(target[i], is_moved ? row * 8 + column - 3 : 0xFF);
    }
    OK(cuMemsetD8_v2(device, 0, sizeof target));
    OK(cuMemcpy2DUnaligned_v2(&copy));
    OK(cuMemcpy2DAsync_v2(&copy, NULL));
    OK(cuMemcpyDtoH_v2(target, device, sizeof target));
    assert_int_equal(target[16 + 5], 8 + 2);
    assert_int_equal(target[32 + 8], 0);
}

static void a_copy_of_layers_moves_them_and_nothing_else(void **state) {
    (void)state;
    unsigned char source[64], target[64];
    CUdeviceptr device = device_memory(sizeof source);
    for (size_t i = 0; i < sizeof source; i++)
        source[i] = (unsigned char)i;
    OK(cuMemcpyHtoD_v2(device, source, sizeof source));
    memset(target, 0xFF, sizeof target);
    // 2 by 2 by 2 of 4 by 4 by 4, from one corner to the other.
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                          .srcDevice = device,
                          .srcPitch = 4,
                          .srcHeight = 4,
                          .dstXInBytes = 2,
                          .dstY = 2,
                          .dstZ = 2,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = target,
                          .dstPitch = 4,
                          .dstHeight = 4,
                          .WidthInBytes = 2,
                          .Height = 2,
                          .Depth = 2};
    OK(cuMemcpy3D_v2(&copy));
    for (size_t i = 0; i < sizeof target; i++) {
        size_t x = i % 4, y = i / 4 % 4, z = i / 16;
        bool is_moved = x >= 2 && y >= 2 && z >= 2;
        assert_int_equal(target[i], is_moved ? (z - 2) * 16 + (y - 2) * 4 + x - 2 : 0xFF);
    }
    copy.dstXInBytes = copy.dstY = copy.dstZ = 0;
    OK(cuMemcpy3DAsync_v2(&copy, NULL));
    assert_int_equal(target[16], 16);
}

static void sets_write_elements_of_each_size(void **state) {
    (void)state;
    uint32_t words[8];
    CUdeviceptr device = device_memory(sizeof words);
    OK(cuMemsetD32_v2(device, 0xFFFFFFFF, 8));
    OK(cuMemsetD8_v2(device, 0x12, 3));
    OK(cuMemsetD16_v2(device + 4, 0x3456, 1));
    OK(cuMemsetD32_v2(device + 8, 0x789ABCDE, 2));
    OK(cuMemcpyDtoH_v2(words, device, sizeof words));
    const uint32_t expected[8] = {0xFF121212, 0xFFFF3456, 0x789ABCDE, 0x789ABCDE,
                                  0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF};
    assert_memory_equal(words, expected, sizeof words);
    OK(cuMemsetD16Async(device, 0x1111, 1, NULL));
    OK(cuMemsetD32Async(device + 4, 0x22222222, 1, NULL));
    OK(cuMemcpyDtoH_v2(words, device, sizeof words));
    assert_int_equal(words[0], 0xFF121111);
    assert_int_equal(words[1], 0x22222222);
}

static void sets_of_rows_leave_what_lies_between(void **state) {
    (void)state;
    unsigned char bytes[48];
    CUdeviceptr device = device_memory(sizeof bytes);
    OK(cuMemsetD8_v2(device, 0, sizeof bytes));
    OK(cuMemsetD2D8_v2(device, 16, 1, 3, 3));
    OK(cuMemsetD2D16_v2(device + 4, 16, 0x0202, 2, 3));
    OK(cuMemsetD2D32_v2(device + 8, 16, 0x03030303, 1, 3));
    OK(cuMemsetD2D8Async(device + 12, 16, 4, 1, 1, NULL));
    OK(cuMemsetD2D16Async(device + 14, 16, 0x0505, 1, 1, NULL));
    OK(cuMemsetD2D32Async(device + 44, 16, 0x06060606, 1, 1, NULL));
    OK(cuMemcpyDtoH_v2(bytes, device, sizeof bytes));
    const unsigned char row[16] = {1, 1, 1, 0, 2, 2, 2, 2, 3, 3, 3, 3, 0, 0, 0, 0};
    assert_memory_equal(bytes + 16, row, 16);
    assert_memory_equal(bytes, row, 12);
    assert_int_equal(bytes[12], 4);
    assert_int_equal(bytes[14], 5);
    assert_int_equal(bytes[47], 6);
}

static void a_copy_between_devices_needs_no_access_between_them(void **state) {
    (void)state;
    CUcontext contexts[2];
    CUdeviceptr memory[2];
    for (size_t peers = 0; peers < 2; peers++) {
        become(peers ? "devices=2,peers=1" : "devices=2,peers=0");
        contexts[0] = current_context();
        memory[0] = device_memory(SIZE);
        OK(cuMemsetD8_v2(memory[0], 3, SIZE));
        OK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
        OK(cuCtxSetCurrent(contexts[1]));
        memory[1] = device_memory(SIZE);
        OK(cuMemcpyPeer(memory[1], contexts[1], memory[0], contexts[0], SIZE));
        assert_true(device_is_all(memory[1], 3, SIZE));
        OK(cuMemsetD8_v2(memory[1], 4, SIZE));
        OK(cuMemcpyPeerAsync(memory[0], contexts[0], memory[1], contexts[1], SIZE, NULL));
        assert_true(device_is_all(memory[0], 4, SIZE));
        expect_no_report();
    }
}

static void a_peer_copy_runs_after_all_work_of_both_contexts_and_before_what_follows(void **state) {
    (void)state;
    CUcontext contexts[2];
    CUdeviceptr memory[2];
    become("devices=2");
    contexts[0] = current_context();
    memory[0] = device_memory(SIZE);
    CUstream before = make_non_blocking_stream();
    spin(before, 5 * MS);
    touch(before, "writer", memory[0], SIZE, simcudaAccessWrite);
    OK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
    OK(cuCtxSetCurrent(contexts[1]));
    memory[1] = device_memory(SIZE);
    OK(cuMemcpyPeer(memory[1], contexts[1], memory[0], contexts[0], SIZE));
    OK(cuCtxSetCurrent(contexts[0]));
    touch(NULL, "next writer", memory[0], SIZE, simcudaAccessWrite);
    OK(cuCtxSynchronize());
    expect_no_report();
}

static void a_copy_of_layers_between_devices_checks_their_contexts(void **state) {
    (void)state;
    CUdeviceptr from = device_memory(SIZE), to = device_memory(SIZE);
    OK(cuMemsetD8_v2(from, 8, SIZE));
    CUDA_MEMCPY3D_PEER copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = from,
                               .srcContext = current_context(),
                               .srcPitch = 64,
                               .srcHeight = 8,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = to,
                               .dstContext = current_context(),
                               .dstPitch = 64,
                               .dstHeight = 8,
                               .WidthInBytes = 64,
                               .Height = 8,
                               .Depth = 8};
    OK(cuMemcpy3DPeer(&copy));
    OK(cuMemcpy3DPeerAsync(&copy, NULL));
    assert_true(device_is_all(to, 8, SIZE));
    copy.dstContext = (CUcontext)(void *)&copy;
    FAILS(cuMemcpy3DPeer(&copy), CUDA_ERROR_INVALID_CONTEXT);
    assert_non_null(
        strstr(simcudaReportText(0), "cuMemcpy3DPeer names a context that never existed"));
    expect_report("use-of-destroyed-context");
    FAILS(cuMemcpy3DPeer(NULL), CUDA_ERROR_INVALID_VALUE);
}

static void a_copy_between_contexts_means_the_current_one_by_null(void **state) {
    (void)state;
    CUdeviceptr from = device_memory(SIZE), to = device_memory(SIZE);
    CUcontext current = current_context();
    OK(cuMemsetD8_v2(from, 8, SIZE));
    OK(cuMemcpyPeerAsync(to, NULL, from, current, SIZE, NULL));
    assert_true(device_is_all(to, 8, SIZE));
    OK(cuMemcpyPeer(to, current, from, NULL, SIZE));
    OK(cuCtxSetCurrent(NULL));
    FAILS(cuMemcpyPeerAsync(to, NULL, from, current, SIZE, NULL), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuCtxSetCurrent(current));
}

// ----------------------------------------------------------------------------------------- batches

#define PIECES ((size_t)4)

struct batch {
    CUdeviceptr to[PIECES], from[PIECES];
    size_t sizes[PIECES], firsts[2];
    CUmemcpyAttributes attributes[2];
};

static struct batch batch_of(CUdeviceptr to, CUdeviceptr from, CUmemcpySrcAccessOrder order) {
    struct batch batch = {.firsts = {0, 2}};
    batch.attributes[0].srcAccessOrder = batch.attributes[1].srcAccessOrder = order;
    for (size_t i = 0; i < PIECES; i++) {
        batch.to[i] = to + 100 * i;
        batch.from[i] = from + 100 * i;
        batch.sizes[i] = 100;
    }
    return batch;
}

static CUresult copy_batch(struct batch *batch, size_t attributes, CUstream stream) {
    return cuMemcpyBatchAsync_v2(batch->to, batch->from, batch->sizes, PIECES, batch->attributes,
                                 batch->firsts, attributes, stream);
}

static void a_batch_reads_its_sources_when_its_attributes_say(void **state) {
    (void)state;
    static const CUmemcpySrcAccessOrder orders[] = {CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
                                                    CU_MEMCPY_SRC_ACCESS_ORDER_STREAM,
                                                    CU_MEMCPY_SRC_ACCESS_ORDER_ANY};
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr device = device_memory(PIECES * 100);
    unsigned char *sources[] = {pinned_memory(PIECES * 100), pageable_memory(PIECES * 100)};
    for (size_t i = 0; i < 6; i++) {
        struct batch batch = batch_of(device, at(sources[i % 2]), orders[i / 2]);
        spin(stream, 5 * MS);
        memset(sources[i % 2], 1, PIECES * 100);
        OK(copy_batch(&batch, 2, stream));
        FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
        memset(sources[i % 2], 2, PIECES * 100);
        assert_true(device_is_all(device, i < 2 ? 1 : 2, PIECES * 100));
    }
    free(sources[1]);
}

static void a_batch_is_one_piece_of_work(void **state) {
    (void)state;
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr from = device_memory(PIECES * 100), to = device_memory(PIECES * 100);
    struct batch batch = batch_of(to, from, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    OK(cuMemsetD8_v2(from, 5, PIECES * 100));
    OK(cuCtxSynchronize());
    spin(stream, 5 * MS);
    OK(copy_batch(&batch, 1, stream));
    assert_int_equal(simcudaPending(stream), 2);
    assert_true(device_is_all(to, 5, PIECES * 100));
}

static void a_batch_that_is_wrong_copies_nothing(void **state) {
    (void)state;
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr from = device_memory(PIECES * 100), to = device_memory(PIECES * 100);
    const struct batch right = batch_of(to, from, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM);
    size_t failed = 0;
    struct batch wrong = right;
    FAILS(copy_batch(&wrong, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(copy_batch(&wrong, 1, CU_STREAM_LEGACY), CUDA_ERROR_INVALID_VALUE);
    FAILS(copy_batch(&wrong, 0, stream), CUDA_ERROR_INVALID_VALUE);
    FAILS(copy_batch(&wrong, PIECES + 1, stream), CUDA_ERROR_INVALID_VALUE);
    wrong.firsts[0] = 1;
    FAILS(copy_batch(&wrong, 2, stream), CUDA_ERROR_INVALID_VALUE);
    wrong = right;
    wrong.firsts[1] = 0;
    FAILS(copy_batch(&wrong, 2, stream), CUDA_ERROR_INVALID_VALUE);
    wrong.firsts[1] = PIECES;
    FAILS(copy_batch(&wrong, 2, stream), CUDA_ERROR_INVALID_VALUE);
    wrong = right;
    wrong.attributes[0].srcAccessOrder = 0;
    FAILS(copy_batch(&wrong, 1, stream), CUDA_ERROR_INVALID_VALUE);
    wrong = right;
    wrong.to[PIECES - 1] = to + GRANULE - 1;
    FAILS(cuMemcpyBatchAsync(wrong.to, wrong.from, wrong.sizes, PIECES, wrong.attributes,
                             wrong.firsts, 1, &failed, stream),
          CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(failed, SIZE_MAX);
    expect_report("fault");
    assert_int_equal(simcudaPending(stream), 0);
    OK(cuMemcpyBatchAsync(wrong.to, wrong.from, wrong.sizes, 1, wrong.attributes, wrong.firsts, 1,
                          &failed, stream));
}

// ------------------------------------------------------------------------------------------ misuse

static void a_copy_past_the_end_of_memory_is_refused_and_told(void **state) {
    (void)state;
    CUdeviceptr device = device_memory(512);
    unsigned char bytes[600] = {0};
    FAILS(cuMemcpyHtoD_v2(device, bytes, 513), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    FAILS(cuMemcpyDtoHAsync_v2(bytes, device, 513, NULL), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    FAILS(cuMemcpy(device + 1, at(bytes), 512), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    FAILS(cuMemsetD32_v2(device, 1, 129), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    OK(cuMemcpyHtoD_v2(device, bytes, 512));
}

static void a_copy_does_not_go_on_in_the_next_allocation(void **state) {
    (void)state;
    CUdeviceptr first = device_memory(GRANULE), second = device_memory(GRANULE), to;
    struct memory mapped = map_memory(GRANULE);
    assert_int_equal(second, first + GRANULE);
    OK(cuMemAlloc_v2(&to, 2 * GRANULE));
    FAILS(cuMemcpyDtoD_v2(to, second - 1, 2), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    FAILS(cuMemsetD8_v2(first, 0, GRANULE + 1), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    FAILS(cuMemsetD2D8_v2(first, GRANULE, 0, 1, 2), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    OK(cuMemsetD2D8_v2(first, GRANULE / 2, 0, GRANULE / 2, 2));
    OK(cuMemcpyDtoD_v2(to, first, GRANULE));
    OK(cuMemcpyDtoD_v2(to, mapped.address, GRANULE));
    OK(cuCtxSynchronize());
    unmap_memory(mapped);
}

static void freed_memory_is_no_place_to_copy_to(void **state) {
    (void)state;
    CUdeviceptr device = device_memory(SIZE);
    unsigned char bytes[8] = {0};
    OK(cuMemFree_v2(device));
    FAILS(cuMemcpyHtoD_v2(device, bytes, 8), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    FAILS(cuMemcpy(device, at(bytes), 8), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    FAILS(cuMemcpy(at(bytes), device, 8), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
}

static void memory_that_goes_before_the_copy_runs_fails_the_context(void **state) {
    (void)state;
    CUstream stream = make_non_blocking_stream();
    struct memory memory = map_memory(GRANULE);
    unsigned char bytes[8] = {0};
    spin(stream, 5 * MS);
    OK(cuMemcpyHtoDAsync_v2(memory.address, bytes, 8, stream));
    OK(cuMemUnmap(memory.address, GRANULE));
    expect_report("unmap-in-use"); // what comes of it is no other mistake
    FAILS(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void a_copy_needs_access_to_memory_that_has_some(void **state) {
    (void)state;
    unsigned char bytes[8] = {0};
    CUdeviceptr address = reserve(GRANULE);
    CUmemGenericAllocationHandle handle = create_extent(GRANULE);
    OK(cuMemMap(address, GRANULE, 0, handle, 0));
    FAILS(cuMemcpyDtoH_v2(bytes, address, 8), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("no-access");
}

static void host_addresses_that_are_none_are_refused(void **state) {
    (void)state;
    CUdeviceptr device = device_memory(SIZE);
    FAILS(cuMemcpyHtoD_v2(device, NULL, 8), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoH_v2(NULL, device, 8), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyHtoDAsync_v2(device, (void *)(uintptr_t)device, 8, NULL),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpy(device, 0, 8), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    OK(cuMemcpyHtoD_v2(device, NULL, 0));
    OK(cuMemcpyDtoH_v2(NULL, 0, 0));
}

// The driver does not take it apart. A program registers a part of a buffer, and copies all of it.
static void memory_that_is_pinned_in_part_is_refused(void **state) {
    (void)state;
    static char memory[4 * SIZE];
    CUdeviceptr device = device_memory(4 * SIZE);
    OK(cuMemHostRegister_v2(memory, SIZE, 0));
    FAILS(cuMemcpyHtoD_v2(device, memory, SIZE + 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyHtoDAsync_v2(device, memory, 4 * SIZE, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpyDtoH_v2(memory + SIZE - 1, device, 2), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpy(device, (uintptr_t)memory, 4 * SIZE), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemcpyHtoD_v2(device, memory, SIZE));
    OK(cuMemcpyHtoD_v2(device, memory + SIZE, 3 * SIZE));
    OK(cuMemHostRegister_v2(memory + SIZE, SIZE, 0));
    FAILS(cuMemcpyHtoD_v2(device, memory, 2 * SIZE), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostUnregister(memory));
    OK(cuMemcpyHtoD_v2(device, memory, 2 * SIZE));
    OK(cuMemHostUnregister(memory + SIZE));
    assert_int_equal(simcudaReportCount("fault"), 0);
}

static void wrong_shapes_are_refused(void **state) {
    (void)state;
    unsigned char bytes[64] = {0};
    CUdeviceptr device = device_memory(SIZE);
    CUDA_MEMCPY2D right = rows_of_three(), wrong;
    right.srcMemoryType = CU_MEMORYTYPE_HOST;
    right.srcHost = bytes;
    right.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    right.dstDevice = device;
    FAILS(cuMemcpy2D_v2(NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemcpy2DAsync_v2(NULL, NULL), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.srcPitch = 4;
    FAILS(cuMemcpy2D_v2(&wrong), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.dstPitch = (size_t)1 << 31;
    FAILS(cuMemcpy2D_v2(&wrong), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    FAILS(cuMemcpy2D_v2(&wrong), CUDA_ERROR_NOT_SUPPORTED);
    wrong = right, wrong.srcMemoryType = 0;
    FAILS(cuMemcpy2D_v2(&wrong), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.Height = SIZE_MAX;
    FAILS(cuMemcpy2D_v2(&wrong), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.srcHost = NULL;
    FAILS(cuMemcpy2D_v2(&wrong), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.Height = 0;
    OK(cuMemcpy2D_v2(&wrong));
    wrong = right, wrong.WidthInBytes = 0, wrong.Height = SIZE_MAX / 2;
    OK(cuMemcpy2D_v2(&wrong));
    wrong = right, wrong.Height = 1, wrong.srcPitch = wrong.srcY = 0;
    OK(cuMemcpy2D_v2(&wrong));
}

static void wrong_layers_are_refused(void **state) {
    (void)state;
    CUdeviceptr from = device_memory(SIZE), to = device_memory(SIZE);
    const CUDA_MEMCPY3D right = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .srcDevice = from,
                                 .srcPitch = 4,
                                 .srcHeight = 4,
                                 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                 .dstDevice = to,
                                 .dstPitch = 4,
                                 .dstHeight = 4,
                                 .WidthInBytes = 4,
                                 .Height = 4,
                                 .Depth = 2};
    CUDA_MEMCPY3D wrong;
    OK(cuMemcpy3D_v2(&right));
    FAILS(cuMemcpy3D_v2(NULL), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.srcHeight = 3;
    FAILS(cuMemcpy3D_v2(&wrong), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.reserved0 = &wrong;
    FAILS(cuMemcpy3D_v2(&wrong), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.srcLOD = 1;
    FAILS(cuMemcpy3DAsync_v2(&wrong, NULL), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.srcZ = SIZE_MAX;
    FAILS(cuMemcpy3D_v2(&wrong), CUDA_ERROR_INVALID_VALUE);
    wrong = right, wrong.Depth = 1, wrong.srcHeight = 0;
    OK(cuMemcpy3D_v2(&wrong));
}

static void sets_that_do_not_fit_their_elements_are_refused(void **state) {
    (void)state;
    CUdeviceptr device = device_memory(SIZE);
    FAILS(cuMemsetD16_v2(device + 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemsetD32Async(device + 2, 1, 1, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemsetD2D32_v2(device, 6, 1, 1, 2), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemsetD2D16Async(device, 4, 1, 3, 2, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemsetD32_v2(device, 1, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemsetD32_v2(device, 1, 0));
    OK(cuMemsetD2D8_v2(device, 0, 1, 0, 0));
}

static void a_copy_on_a_stream_that_is_none_is_refused(void **state) {
    (void)state;
    unsigned char bytes[8] = {0};
    CUdeviceptr device = device_memory(SIZE);
    CUstream stream = make_stream();
    OK(cuStreamDestroy_v2(stream));
    FAILS(cuMemcpyHtoDAsync_v2(device, bytes, 8, stream), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-stream");
    OK(cuCtxSetCurrent(NULL));
    FAILS(cuMemcpyHtoD_v2(device, bytes, 8), CUDA_ERROR_INVALID_CONTEXT);
}

static void a_capture_takes_asynchronous_copies_and_no_others(void **state) {
    (void)state;
    CUgraph graph;
    unsigned char bytes[8] = {1};
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr device = device_memory(SIZE);
    OK(cuMemsetD8_v2(device, 0, SIZE));
    OK(cuCtxSynchronize());
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    OK(cuMemcpyHtoDAsync_v2(device, bytes, 8, stream));
    OK(cuMemcpyDtoHAsync_v2(bytes, device, 8, stream));
    OK(cuMemsetD32Async(device, 1, 1, stream));
    FAILS(cuMemcpyHtoD_v2(device, bytes, 8), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_report("capture-unsafe-call");
    FAILS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_true(device_is_all(device, 0, SIZE));
}

#define COPY_TEST(function) cmocka_unit_test_setup_teardown(function, begin, end_without_reports)

int main(void) {
    const struct CMUnitTest tests[] = {
        COPY_TEST(a_pageable_source_is_taken_before_an_asynchronous_call_returns),
        COPY_TEST(a_pinned_source_is_read_when_the_stream_comes_to_the_copy),
        COPY_TEST(registered_memory_is_pinned_memory),
        COPY_TEST(a_copy_to_pageable_memory_is_complete_when_its_call_returns),
        COPY_TEST(a_copy_to_pinned_memory_is_not_waited_for),
        COPY_TEST(a_synchronous_copy_on_the_device_is_not_waited_for),
        COPY_TEST(a_synchronous_copy_from_pinned_memory_is_waited_for),
        COPY_TEST(a_small_synchronous_copy_from_pageable_memory_waits_for_nothing),
        COPY_TEST(a_large_one_waits_for_the_stream_first),
        COPY_TEST(the_host_does_not_know_a_copy_to_be_complete_that_waits_in_its_stream),
        COPY_TEST(a_copy_from_host_to_host_is_complete_when_its_call_returns),
        COPY_TEST(a_synchronous_set_waits_for_host_memory_alone),
        COPY_TEST(the_kinds_of_both_addresses_are_found),
        COPY_TEST(a_copy_of_rows_moves_them_and_nothing_else),
        COPY_TEST(a_copy_of_layers_moves_them_and_nothing_else),
        COPY_TEST(sets_write_elements_of_each_size),
        COPY_TEST(sets_of_rows_leave_what_lies_between),
        COPY_TEST(a_copy_between_devices_needs_no_access_between_them),
        COPY_TEST(a_peer_copy_runs_after_all_work_of_both_contexts_and_before_what_follows),
        COPY_TEST(a_copy_of_layers_between_devices_checks_their_contexts),
        COPY_TEST(a_copy_between_contexts_means_the_current_one_by_null),
        COPY_TEST(a_batch_reads_its_sources_when_its_attributes_say),
        COPY_TEST(a_batch_is_one_piece_of_work),
        COPY_TEST(a_batch_that_is_wrong_copies_nothing),
        COPY_TEST(a_copy_past_the_end_of_memory_is_refused_and_told),
        COPY_TEST(a_copy_does_not_go_on_in_the_next_allocation),
        COPY_TEST(freed_memory_is_no_place_to_copy_to),
        COPY_TEST(memory_that_goes_before_the_copy_runs_fails_the_context),
        COPY_TEST(a_copy_needs_access_to_memory_that_has_some),
        COPY_TEST(host_addresses_that_are_none_are_refused),
        COPY_TEST(memory_that_is_pinned_in_part_is_refused),
        COPY_TEST(wrong_shapes_are_refused),
        COPY_TEST(wrong_layers_are_refused),
        COPY_TEST(sets_that_do_not_fit_their_elements_are_refused),
        COPY_TEST(a_copy_on_a_stream_that_is_none_is_refused),
        COPY_TEST(a_capture_takes_asynchronous_copies_and_no_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
