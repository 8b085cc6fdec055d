// A program that is checked: what it does to blocks of memory is found when it enqueues the work,
// or frees the block. Whether the work is complete by then plays no part.
#include <stdio.h>
#include <string.h>

#include "simcuda/entry/library_entry.h"
#include "unit/simcuda/fixture.h"

enum { SIZE = 4096 };

static struct memory memory; // of an allocator
static CUstream a, b;

static int begin_check(void **state) {
    (void)state;
    become("reports=check");
    memory = map_memory(GRANULE);
    a = make_non_blocking_stream();
    b = make_non_blocking_stream();
    return 0;
}

// Where nothing is checked any more the process ends as others do.
static int end_check(void **state) {
    (void)state;
    expect_no_report();
    become("");
    return 0;
}

static void settle(void) {
    simcudaAdvance(1000 * MS);
    assert_int_equal(simcudaPendingAll(), 0);
}

static void order(CUstream first, CUstream second) {
    CUevent event = make_event();
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuEventDestroy_v2(event));
}

static CUdeviceptr begin_block(void) {
    simcudaBlockBegin(memory.address, SIZE);
    return memory.address;
}

static void write_on(CUstream stream, CUdeviceptr address, uint64_t size) {
    touch(stream, "writer", address, size, simcudaAccessWrite);
}

static void expect_text(const char *text) {
    const char *actual = simcudaReportText(0);
    if (!actual || !strstr(actual, text))
        fail_msg("no \"%s\" in: %s", text, actual ? actual : "nothing");
}

// ------------------------------------------------------------------------------------------ bounds

static void work_inside_of_its_block_is_right(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    write_on(a, block, SIZE);
    write_on(a, block + SIZE - 1, 1);
    simcudaBlockEnd(block, a);
}

static void a_byte_past_the_end_is_out_of_bounds(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    write_on(a, block + 1, SIZE);
    expect_text("1 byte past the end of the block of 4096 bytes from a pool, allocation #1");
    expect_report("out-of-bounds");
}

static void a_range_past_the_last_address_is_out_of_bounds(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    write_on(a, block + 8, UINT64_MAX);
    expect_text(", 0xffffffffffffffff), which is ");
    expect_report("out-of-bounds");
}

static void a_block_of_cuMemAlloc_ends_where_the_program_said(void **state) {
    CUdeviceptr block;
    (void)state;
    OK(cuMemAlloc_v2(&block, 1000));
    touch(a, "reader", block, 1000, simcudaAccessRead);
    expect_no_report();
    touch(a, "reader", block, 1010, simcudaAccessRead);
    expect_text("\"reader\" on stream 1 (thread 1) reads ");
    expect_text("10 bytes past the end of the block of 1000 bytes from cuMemAlloc #1");
    expect_report("out-of-bounds");
    OK(cuMemFree_v2(block));
}

static void a_row_past_the_end_is_no_row_of_the_next_block(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    simcudaBlockBegin(block + SIZE, SIZE);
    OK(cuMemsetD2D8Async(block, SIZE / 4, 0, 8, 4, a));
    expect_no_report();
    OK(cuMemsetD2D8Async(block, SIZE / 4, 0, 8, 5, a));
    expect_text("8 bytes past the end of the block of 4096 bytes from a pool, allocation #1");
    expect_report("out-of-bounds");
}

static void each_side_of_a_copy_has_a_block_of_its_own(void **state) {
    CUdeviceptr block = begin_block();
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                          .srcDevice = block,
                          .srcPitch = SIZE / 4,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = block + SIZE,
                          .dstPitch = SIZE / 8,
                          .WidthInBytes = 8,
                          .Height = 4};
    (void)state;
    simcudaBlockBegin(block + SIZE, SIZE / 2);
    OK(cuMemcpy2DAsync_v2(&copy, a));
    expect_no_report();
    simcudaBlockEnd(block + SIZE, a);
    simcudaBlockBegin(block + SIZE, SIZE / 4);
    OK(cuMemcpy2DAsync_v2(&copy, a));
    expect_text("\"copy on device\" on stream 1 (thread 1) writes ");
    expect_text("8 bytes past the end of the block of 1024 bytes from a pool, allocation #3");
    expect_report("out-of-bounds");
}

static void memory_of_the_program_that_is_no_blocks_is_its_own(void **state) {
    begin_block();
    (void)state;
    write_on(a, memory.address + SIZE, SIZE);
}

static void memory_of_a_pool_that_is_no_blocks_is_out_of_bounds(void **state) {
    CUresult (*create)(CUmemGenericAllocationHandle *, size_t, const CUmemAllocationProp *,
                       unsigned long long);
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address = reserve(GRANULE);
    void *function = simcudaLibraryEntry("cuMemCreate");
    (void)state;
    memcpy(&create, &function, sizeof create);
    OK(create(&handle, GRANULE, &prop, 0));
    OK(cuMemMap(address, GRANULE, 0, handle, 0));
    allow(address, GRANULE);
    write_on(a, address + SIZE, 8);
    expect_no_report(); // of an allocator that tells of no blocks
    simcudaBlockBegin(address, SIZE);
    write_on(a, address, SIZE);
    expect_no_report();
    write_on(a, address + SIZE, 8);
    expect_text("where memory of a pool is that no block has");
    expect_report("out-of-bounds");
}

static void a_call_refused_behind_the_end_says_where_the_block_ends(void **state) {
    CUdeviceptr block;
    char end[100];
    (void)state;
    OK(cuMemAlloc_v2(&block, SIZE));
    FAILS(cuMemsetD8Async(block + 8, 0, SIZE, a), CUDA_ERROR_INVALID_VALUE);
    snprintf(end, sizeof end, "); the block of 4096 bytes from cuMemAlloc #1 ends at 0x%llx",
             block + SIZE);
    expect_text(end);
    expect_report("fault");
    OK(cuMemFree_v2(block));
}

static void a_call_refused_for_a_freed_block_says_who_freed_it(void **state) {
    CUdeviceptr block;
    (void)state;
    OK(cuMemAlloc_v2(&block, SIZE));
    OK(cuMemFree_v2(block));
    FAILS(cuMemsetD8Async(block, 0, SIZE, a), CUDA_ERROR_INVALID_VALUE);
    expect_text("); the block of 4096 bytes from cuMemAlloc #1 was freed by thread 1");
    expect_report("fault");
}

// -------------------------------------------------------------------------------- use after a free

static void work_behind_a_free_in_its_stream_is_a_use_after_it(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    write_on(a, block, SIZE);
    simcudaBlockEnd(block, a);
    write_on(a, block + 8, 8);
    expect_text("which was freed on stream 1 (thread 1) before");
    expect_report("use-after-free");
}

static void work_behind_the_free_by_an_event_is_a_use_after_it(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    simcudaBlockEnd(block, a);
    order(a, b);
    write_on(b, block, 8);
    expect_report("use-after-free");
}

static void an_event_from_before_the_free_does_not_order_work_behind_it(void **state) {
    CUdeviceptr block = begin_block();
    CUevent event = make_event();
    (void)state;
    OK(cuEventRecord(event, a));
    simcudaBlockEnd(block, a);
    OK(cuStreamWaitEvent(b, event, 0));
    write_on(b, block, 8);
    expect_text("which was freed on stream 1 (thread 1) with no order to that");
    expect_report("early-free");
}

static void work_is_behind_a_free_that_the_host_has_waited_for(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    write_on(a, block, 8);
    simcudaBlockEnd(block, a);
    OK(cuStreamSynchronize(a));
    write_on(b, block, 8);
    expect_text("which was freed on stream 1 (thread 1) before");
    expect_report("use-after-free");
}

static void a_free_behind_another_stream_is_over_when_that_is(void **state) {
    CUdeviceptr block = begin_block();
    CUstream c = make_non_blocking_stream();
    (void)state;
    spin(b, MS);
    simcudaBlockBehind(block, b);
    simcudaBlockEnd(block, a);
    write_on(c, block, 8);
    expect_text("with no order to that");
    expect_report("early-free");
    OK(cuStreamSynchronize(b));
    write_on(c, block, 8);
    expect_report("use-after-free");
}

static void any_work_behind_a_free_at_once_is_a_use_after_it(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    simcudaBlockEndAtOnce(block);
    write_on(b, block, 8);
    expect_text("which was freed by thread 1 before");
    expect_report("use-after-free");
}

static void a_use_after_free_that_also_faults_is_one_report(void **state) {
    CUdeviceptr block;
    (void)state;
    OK(cuMemAlloc_v2(&block, SIZE));
    OK(cuMemFree_v2(block));
    write_on(a, block, 8);
    FAILS(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("use-after-free");
}

static void bytes_that_are_a_blocks_again_may_be_used(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    simcudaBlockEnd(block, a);
    begin_block();
    write_on(a, block, SIZE);
}

static void what_is_left_of_a_freed_block_stays_freed(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    simcudaBlockEnd(block, a);
    simcudaBlockBegin(block + 1024, 1024);
    write_on(a, block + 1024, 1024);
    expect_no_report();
    write_on(a, block, 1024);
    expect_text("of the block of 4096 bytes from a pool, allocation #1,");
    expect_report("use-after-free");
    write_on(a, block + 2048, 2048);
    expect_report("use-after-free");
}

static void a_mapping_of_the_programs_own_is_no_freed_block(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    simcudaBlockEnd(block, a);
    OK(cuStreamSynchronize(a));
    OK(cuMemUnmap(memory.address, GRANULE));
    OK(cuMemRelease(memory.handle));
    memory.handle = create_extent(GRANULE);
    OK(cuMemMap(memory.address, GRANULE, 0, memory.handle, 0));
    allow(memory.address, GRANULE);
    write_on(a, block, SIZE);
}

static void what_a_context_allocated_goes_with_it(void **state) {
    CUcontext context;
    CUdeviceptr block;
    (void)state;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&block, SIZE));
    OK(cuCtxDestroy_v2(context));
    OK(cuCtxSynchronize());
    CUdeviceptr again;
    OK(cuMemAlloc_v2(&again, 2 * SIZE));
    assert_int_equal(again, block);
    write_on(a, again, 2 * SIZE);
    OK(cuStreamSynchronize(a));
    OK(cuMemFree_v2(again));
}

// ------------------------------------------------------------------------------------- early frees

static void a_free_with_no_order_to_pending_work_is_early(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    spin(a, MS);
    write_on(a, block, 8);
    write_on(a, block + 8, 8);
    simcudaBlockEnd(block, b);
    expect_text("a free on stream 2 (thread 1) frees the block of 4096 bytes");
    expect_text("after \"writer\" on stream 1 (thread 1), which writes ");
    expect_report("early-free");
}

static void a_free_with_no_order_to_complete_work_is_early_too(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    touch(a, "reader", block, 8, simcudaAccessRead);
    settle();
    simcudaBlockEnd(block, b);
    expect_report("early-free");
}

static void a_free_behind_the_work_by_an_event_is_right(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    write_on(a, block, SIZE);
    order(a, b);
    simcudaBlockEnd(block, b);
}

static void a_free_at_once_is_right_when_the_host_has_waited(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    write_on(a, block, SIZE);
    OK(cuStreamSynchronize(a));
    simcudaBlockEndAtOnce(block);
}

static void a_free_at_once_is_early_when_the_host_has_not_waited(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    write_on(a, block, SIZE);
    settle();
    simcudaBlockEndAtOnce(block);
    expect_text("a free by thread 1 frees");
    expect_report("early-free");
}

static void a_free_in_the_default_stream_is_behind_blocking_streams(void **state) {
    CUdeviceptr block = begin_block();
    CUstream blocking = make_stream();
    (void)state;
    write_on(blocking, block, SIZE);
    simcudaBlockEnd(block, NULL);
}

static void a_free_in_a_blocking_stream_is_behind_the_default_stream(void **state) {
    CUdeviceptr block = begin_block();
    CUstream blocking = make_stream();
    (void)state;
    write_on(NULL, block, SIZE);
    simcudaBlockEnd(block, blocking);
}

static void a_free_can_be_behind_several_streams(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    write_on(a, block, 8);
    write_on(b, block + 8, 8);
    simcudaBlockBehind(block, b);
    simcudaBlockEnd(block, a);
    expect_no_report();
    begin_block();
    write_on(b, block + 8, 8);
    simcudaBlockEnd(block, a);
    expect_report("early-free");
}

static void a_use_by_who_had_the_bytes_before_is_not_the_new_blocks(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    write_on(a, block, SIZE);
    simcudaBlockEnd(block, a);
    begin_block();
    simcudaBlockEnd(block, b);
}

static void work_that_ran_before_an_early_free_is_no_race_besides(void **state) {
    CUdeviceptr block;
    (void)state;
    OK(cuMemAlloc_v2(&block, SIZE));
    write_on(a, block, SIZE);
    settle();
    OK(cuMemFreeAsync(block, b));
    settle();
    expect_text("cuMemFreeAsync on stream 2 (thread 1) frees");
    expect_report("early-free");
}

static void a_free_in_a_stream_that_never_existed_is_behind_all(void **state) {
    CUdeviceptr block = begin_block();
    CUstream gone = make_stream();
    (void)state;
    OK(cuStreamDestroy_v2(gone));
    simcudaBlockEnd(block, gone);
    expect_no_report();
    write_on(a, block, 8);
    expect_report("use-after-free");
}

// ----------------------------------------------------------------------------- frees behind a word

static CUdeviceptr make_word(void) {
    CUdeviceptr word;
    OK(cuMemAlloc_v2(&word, 4));
    OK(cuMemsetD32_v2(word, 0, 1));
    OK(cuCtxSynchronize());
    return word;
}

static void write_word(CUstream stream, CUdeviceptr word) {
    OK(cuStreamWriteValue32_v2(stream, word, 1, 0));
}

static void wait_for_word(CUstream stream, CUdeviceptr word) {
    OK(cuStreamWaitValue32_v2(stream, word, 1, CU_STREAM_WAIT_VALUE_EQ));
}

static void end_words(CUdeviceptr word) {
    OK(cuCtxSynchronize());
    OK(cuMemFree_v2(word));
}

// A first stream, after some time, writes the block, and then the word.
static void write_block_and_word(CUdeviceptr block, CUdeviceptr word) {
    spin(a, MS);
    write_on(a, block, SIZE);
    write_word(a, word);
}

static void a_free_behind_a_wait_for_a_word_is_behind_who_writes_it(void **state) {
    CUdeviceptr block = begin_block(), word = make_word();
    (void)state;
    write_block_and_word(block, word);
    wait_for_word(b, word);
    simcudaBlockEnd(block, b);
    end_words(word);
}

static void also_in_a_stream_that_waits_for_the_one_that_waits(void **state) {
    CUdeviceptr block, word = make_word();
    CUstream c = make_non_blocking_stream();
    (void)state;
    OK(cuMemAlloc_v2(&block, SIZE));
    write_block_and_word(block, word);
    wait_for_word(b, word);
    order(b, c);
    OK(cuMemFreeAsync(block, c));
    end_words(word);
}

static void also_while_who_waits_does_something_behind_the_wait(void **state) {
    CUdeviceptr block = begin_block(), word = make_word();
    CUstream c = make_non_blocking_stream();
    (void)state;
    write_block_and_word(block, word);
    wait_for_word(b, word);
    spin(b, 10 * MS);
    order(b, c);
    simcudaAdvance(5 * MS);
    simcudaBlockEnd(block, c);
    end_words(word);
}

static void also_among_the_streams_that_a_free_is_behind(void **state) {
    CUdeviceptr block = begin_block(), word = make_word();
    (void)state;
    write_block_and_word(block, word);
    wait_for_word(b, word);
    simcudaBlockBehind(block, b);
    simcudaBlockEnd(block, make_non_blocking_stream());
    end_words(word);
}

static void also_in_the_default_stream_and_in_blocking_ones(void **state) {
    CUdeviceptr block = begin_block(), word = make_word();
    CUstream blocking = make_stream();
    (void)state;
    write_block_and_word(block, word);
    wait_for_word(blocking, word);
    simcudaBlockEnd(block, NULL);
    begin_block();
    write_on(a, block, SIZE);
    write_word(a, word);
    wait_for_word(NULL, word);
    simcudaBlockEnd(block, blocking);
    end_words(word);
}

static void work_of_who_writes_the_word_may_come_to_its_stream_after_the_free(void **state) {
    CUdeviceptr block = begin_block(), word = make_word();
    (void)state;
    wait_for_word(b, word);
    simcudaBlockEnd(block, b);
    write_on(a, block, SIZE);
    write_word(a, word);
    end_words(word);
    write_on(b, block, SIZE);
    expect_report("use-after-free");
}

static void a_free_behind_a_wait_that_is_over_is_early_for_others(void **state) {
    CUdeviceptr block = begin_block(), word = make_word();
    (void)state;
    write_word(a, word);
    wait_for_word(b, word);
    settle();
    write_on(a, block, SIZE);
    simcudaBlockEnd(block, b);
    expect_report("early-free");
    end_words(word);
}

static void a_free_beside_a_wait_for_a_word_is_early(void **state) {
    CUdeviceptr block = begin_block(), word = make_word();
    CUstream c = make_non_blocking_stream();
    (void)state;
    wait_for_word(b, word);
    write_on(a, block, SIZE);
    simcudaBlockEnd(block, c);
    expect_report("early-free");
    write_word(a, word);
    end_words(word);
}

static void one_that_is_ordered_before_the_wait_is_early(void **state) {
    CUdeviceptr block = begin_block(), word = make_word();
    CUstream c = make_non_blocking_stream();
    (void)state;
    write_on(a, block, SIZE);
    order(b, c);
    wait_for_word(b, word);
    simcudaBlockEnd(block, c);
    expect_report("early-free");
    write_word(a, word);
    end_words(word);
}

// The free asks what the default stream runs after while that isn't all known yet.
static void work_behind_the_free_is_behind_who_writes_the_word_too(void **state) {
    CUdeviceptr block = begin_block(), word = make_word();
    CUstream blocking = make_stream();
    (void)state;
    wait_for_word(blocking, word);
    simcudaBlockEnd(block, NULL);
    write_on(a, memory.address + SIZE, SIZE);
    write_word(a, word);
    simcudaAdvance(MS); // the write is done, and the wait goes on
    settle();
    write_on(NULL, memory.address + SIZE, SIZE);
    end_words(word);
}

// ----------------------------------------------------------------------------- bad frees and leaks

static void a_second_free_says_who_made_the_first(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    simcudaBlockEnd(block, a);
    simcudaBlockEnd(block, b);
    expect_text("a second time; it was freed on stream 1 (thread 1)");
    expect_report("bad-free");
}

static void a_free_of_the_middle_says_where_it_lies(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    simcudaBlockEnd(block + 256, a);
    expect_text("but one 256 bytes behind that of the block of 4096 bytes");
    expect_report("bad-free");
}

static void a_free_of_what_no_allocator_has_is_not_its_mistake(void **state) {
    (void)state;
    simcudaBlockEnd(memory.address + SIZE, a);
    simcudaBlockEndAtOnce(1);
}

static void a_block_that_lives_is_a_leak_of_its_allocator(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    uint64_t with = simcudaLeakCheck();
    simcudaReportClear();
    simcudaBlockEnd(block, a);
    assert_int_equal(simcudaLeakCheck(), with - 1);
    simcudaReportClear();
}

static void blocks_go_with_the_memory_that_they_are_parts_of(void **state) {
    CUcontext context;
    CUdeviceptr arena;
    (void)state;
    OK(cuMemAlloc_v2(&arena, GRANULE));
    uint64_t with = simcudaLeakCheck();
    simcudaReportClear();
    simcudaBlockBegin(arena, SIZE);
    simcudaBlockBegin(arena + SIZE, SIZE);
    begin_block();
    OK(cuMemFree_v2(arena));
    OK(cuMemUnmap(memory.address, GRANULE));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&arena, GRANULE));
    simcudaBlockBegin(arena + SIZE, SIZE);
    OK(cuCtxDestroy_v2(context));
    assert_int_equal(simcudaLeakCheck(), with - 2); // the arena, and the mapping
    simcudaReportClear();
}

static void a_block_over_a_live_one_takes_its_place(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    simcudaBlockBegin(block + 1024, SIZE);
    write_on(a, block + 1024, SIZE);
    simcudaBlockEnd(block + 1024, a);
}

// ---------------------------------------------------------------------------------------- texts

static void a_long_name_of_a_kernel_is_told_whole(void **state) {
    const char *first = "_ZN7company7library6detail12first_kernelEPfi";
    const char *second = "_ZN7company7library6detail13second_kernelEPfi";
    char text[200];
    (void)state;
    touch(a, first, memory.address, SIZE, simcudaAccessWrite);
    touch(b, second, memory.address, SIZE, simcudaAccessWrite);
    settle();
    snprintf(text, sizeof text, "\"%s\" on stream 2 (thread 1) writes bytes that \"%s\"", second,
             first);
    expect_text(text);
    expect_report("race");
}

static void a_call_has_its_own_name(void **state) {
    CUdeviceptr address;
    CUgraph graph;
    size_t pitch;
    (void)state;
    OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    FAILS(cuMemAllocPitch_v2(&address, &pitch, 100, 10, 4), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    FAILS(cuStreamEndCapture(a, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    expect_text("cuMemAllocPitch is not allowed while stream 1 captures");
    expect_report("capture-unsafe-call");
}

static void a_name_that_is_very_long_is_cut_between_characters(void **state) {
    char name[1000], text[300];
    (void)state;
    for (size_t i = 0; i < sizeof name - 1; i++)
        name[i] = (char)(i % 2 ? 0xC3 : 0xA4);
    name[0] = 'x';
    name[sizeof name - 1] = '\0';
    touch(a, name, memory.address, SIZE, simcudaAccessWrite);
    touch(b, name, memory.address, SIZE, simcudaAccessWrite);
    settle();
    snprintf(text, sizeof text, "\"%.199s...\" on stream 1", name);
    expect_text(text);
    expect_text(", and nothing orders the two: [");
    expect_report("race");
}

static void a_race_of_what_had_the_bytes_before_does_not_name_the_block(void **state) {
    CUdeviceptr block = begin_block();
    (void)state;
    spin(a, MS);
    write_on(a, block, SIZE);
    write_on(b, block, SIZE);
    order(b, a);
    simcudaBlockEnd(block, a);
    begin_block();
    settle();
    assert_null(strstr(simcudaReportText(0), "allocation #2"));
    expect_report("race");
    write_on(b, block, SIZE);
    settle();
    expect_text("of the block of 4096 bytes from a pool, allocation #2");
    expect_report("race");
}

// ------------------------------------------------------------------------------------- not checked

static void nothing_is_watched_where_the_program_is_not_checked(void **state) {
    (void)state;
    assert_int_equal(simcudaIsChecking(), 1);
    become("");
    assert_int_equal(simcudaIsChecking(), 0);
    memory = map_memory(GRANULE);
    a = make_stream();
    CUdeviceptr block = begin_block();
    write_on(a, block, 2 * SIZE);
    simcudaBlockBehind(block, a);
    simcudaBlockEnd(block, a);
    write_on(a, block, SIZE);
    simcudaBlockEndAtOnce(block);
}

static void a_destroyed_stream_has_the_programs_number(void **state) {
    (void)state;
    OK(cuStreamDestroy_v2(b));
    FAILS(cuStreamQuery(b), CUDA_ERROR_INVALID_HANDLE);
    expect_text("cuStreamQuery names stream 2, which was destroyed");
    expect_report("use-of-destroyed-stream");
    b = make_stream();
    write_on(b, memory.address, 8);
    write_on(a, memory.address, 8);
    settle();
    expect_text("on stream 3 (thread 1)");
    expect_report("race");
}

int main(void) {
#define CHECK_TEST(test) cmocka_unit_test_setup_teardown(test, begin_check, end_check)
    const struct CMUnitTest tests[] = {
        CHECK_TEST(work_inside_of_its_block_is_right),
        CHECK_TEST(a_byte_past_the_end_is_out_of_bounds),
        CHECK_TEST(a_range_past_the_last_address_is_out_of_bounds),
        CHECK_TEST(a_block_of_cuMemAlloc_ends_where_the_program_said),
        CHECK_TEST(a_row_past_the_end_is_no_row_of_the_next_block),
        CHECK_TEST(each_side_of_a_copy_has_a_block_of_its_own),
        CHECK_TEST(memory_of_the_program_that_is_no_blocks_is_its_own),
        CHECK_TEST(memory_of_a_pool_that_is_no_blocks_is_out_of_bounds),
        CHECK_TEST(a_call_refused_behind_the_end_says_where_the_block_ends),
        CHECK_TEST(a_call_refused_for_a_freed_block_says_who_freed_it),
        CHECK_TEST(work_behind_a_free_in_its_stream_is_a_use_after_it),
        CHECK_TEST(work_behind_the_free_by_an_event_is_a_use_after_it),
        CHECK_TEST(an_event_from_before_the_free_does_not_order_work_behind_it),
        CHECK_TEST(work_is_behind_a_free_that_the_host_has_waited_for),
        CHECK_TEST(a_free_behind_another_stream_is_over_when_that_is),
        CHECK_TEST(any_work_behind_a_free_at_once_is_a_use_after_it),
        CHECK_TEST(a_use_after_free_that_also_faults_is_one_report),
        CHECK_TEST(bytes_that_are_a_blocks_again_may_be_used),
        CHECK_TEST(what_is_left_of_a_freed_block_stays_freed),
        CHECK_TEST(a_mapping_of_the_programs_own_is_no_freed_block),
        CHECK_TEST(what_a_context_allocated_goes_with_it),
        CHECK_TEST(a_free_with_no_order_to_pending_work_is_early),
        CHECK_TEST(a_free_with_no_order_to_complete_work_is_early_too),
        CHECK_TEST(a_free_behind_the_work_by_an_event_is_right),
        CHECK_TEST(a_free_at_once_is_right_when_the_host_has_waited),
        CHECK_TEST(a_free_at_once_is_early_when_the_host_has_not_waited),
        CHECK_TEST(a_free_in_the_default_stream_is_behind_blocking_streams),
        CHECK_TEST(a_free_in_a_blocking_stream_is_behind_the_default_stream),
        CHECK_TEST(a_free_can_be_behind_several_streams),
        CHECK_TEST(a_use_by_who_had_the_bytes_before_is_not_the_new_blocks),
        CHECK_TEST(work_that_ran_before_an_early_free_is_no_race_besides),
        CHECK_TEST(a_free_in_a_stream_that_never_existed_is_behind_all),
        CHECK_TEST(a_free_behind_a_wait_for_a_word_is_behind_who_writes_it),
        CHECK_TEST(also_in_a_stream_that_waits_for_the_one_that_waits),
        CHECK_TEST(also_while_who_waits_does_something_behind_the_wait),
        CHECK_TEST(also_among_the_streams_that_a_free_is_behind),
        CHECK_TEST(also_in_the_default_stream_and_in_blocking_ones),
        CHECK_TEST(work_of_who_writes_the_word_may_come_to_its_stream_after_the_free),
        CHECK_TEST(a_free_behind_a_wait_that_is_over_is_early_for_others),
        CHECK_TEST(a_free_beside_a_wait_for_a_word_is_early),
        CHECK_TEST(one_that_is_ordered_before_the_wait_is_early),
        CHECK_TEST(work_behind_the_free_is_behind_who_writes_the_word_too),
        CHECK_TEST(a_second_free_says_who_made_the_first),
        CHECK_TEST(a_free_of_the_middle_says_where_it_lies),
        CHECK_TEST(a_free_of_what_no_allocator_has_is_not_its_mistake),
        CHECK_TEST(a_block_that_lives_is_a_leak_of_its_allocator),
        CHECK_TEST(blocks_go_with_the_memory_that_they_are_parts_of),
        CHECK_TEST(a_block_over_a_live_one_takes_its_place),
        CHECK_TEST(a_long_name_of_a_kernel_is_told_whole),
        CHECK_TEST(a_call_has_its_own_name),
        CHECK_TEST(a_name_that_is_very_long_is_cut_between_characters),
        CHECK_TEST(a_race_of_what_had_the_bytes_before_does_not_name_the_block),
        CHECK_TEST(nothing_is_watched_where_the_program_is_not_checked),
        CHECK_TEST(a_destroyed_stream_has_the_programs_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
