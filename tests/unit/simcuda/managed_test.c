// Managed memory: one address for the host and all devices, and what is said of its pages.
#include <string.h>

#include "simcuda/entry/attributes.h"
#include "unit/simcuda/fixture.h"

#define SIZE ((size_t)3 << 20)
#define PAGE ((size_t)4096)

static const CUmemLocation on_device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
static const CUmemLocation on_host = {CU_MEM_LOCATION_TYPE_HOST, 0};

static CUdeviceptr manage(size_t size) {
    CUdeviceptr address;
    OK(cuMemAllocManaged(&address, size, CU_MEM_ATTACH_GLOBAL));
    return address;
}

static unsigned char *bytes_at(CUdeviceptr address) {
    unsigned char *bytes;
    memcpy(&bytes, &address, sizeof bytes);
    return bytes;
}

// ------------------------------------------------------------------------------------- allocations

static void the_arguments_of_an_allocation_are_checked(void **state) {
    (void)state;
    CUdeviceptr address;
    FAILS(cuMemAllocManaged(&address, 0, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocManaged(NULL, SIZE, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_VALUE);
    for (unsigned flags = 0; flags < 10; flags++)
        FAILS(cuMemAllocManaged(&address, SIZE, flags),
              flags == 1 || flags == 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxSetCurrent(NULL));
    FAILS(cuMemAllocManaged(&address, SIZE, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_INVALID_CONTEXT);
}

static void the_device_says_that_it_has_such_memory(void **state) {
    (void)state;
    int value;
    OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)SIM_ATTRIBUTE_MANAGED_MEMORY, 0));
    assert_int_equal(value, 1);
    OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)SIM_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
                            0));
    assert_int_equal(value, 1);
    OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)SIM_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0));
    assert_int_equal(value, 0);
}

static void the_host_and_every_device_touch_it_at_one_address(void **state) {
    (void)state;
    CUcontext contexts[2];
    become("devices=2,peers=0");
    CUdeviceptr memory = manage(SIZE), errors = manage(8);
    memset(bytes_at(errors), 0, 8);
    for (uint32_t i = 0; i < SIZE / 4; i++)
        memcpy(bytes_at(memory) + 4 * (size_t)i, &i, sizeof i);
    for (int device = 0; device < 2; device++) {
        OK(cuDevicePrimaryCtxRetain(&contexts[device], device));
        OK(cuCtxSetCurrent(contexts[device]));
        OK(cuMemsetD32_v2(memory, (unsigned)device + 10, SIZE / 4));
        assert_int_equal(bytes_at(memory)[SIZE - 4], device + 10);
    }
    OK(cuCtxSetCurrent(contexts[0]));
    fill(NULL, memory, SIZE, 5);
    check(NULL, memory, SIZE, 5, errors);
    OK(cuCtxSynchronize());
    assert_int_equal(bytes_at(errors)[0], 0);
    assert_int_equal(bytes_at(memory)[4], 6);
    OK(cuMemFree_v2(memory));
    OK(cuMemFree_v2(errors));
}

static void work_past_its_end_faults(void **state) {
    (void)state;
    CUdeviceptr memory = manage(1000), base;
    size_t size;
    OK(cuMemGetAddressRange_v2(&base, &size, memory));
    assert_int_equal(size, 1000);
    FAILS(cuMemsetD8_v2(memory, 0, 1001), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    touch(NULL, "on its page", memory + PAGE - 8, 8, simcudaAccessWrite);
    OK(cuCtxSynchronize());
    touch(NULL, "outside", memory + PAGE - 7, 8, simcudaAccessWrite);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("fault");
}

static void copies_take_it_as_memory_of_either_kind(void **state) {
    (void)state;
    CUdeviceptr memory = manage(SIZE), device;
    unsigned char back[16] = "";
    OK(cuMemAlloc_v2(&device, 64));
    memcpy(bytes_at(memory), "managed", 8);
    OK(cuMemcpyHtoD_v2(device, bytes_at(memory), 8));
    OK(cuMemcpyDtoH_v2(bytes_at(memory + 100), device, 8));
    OK(cuMemcpyDtoDAsync_v2(memory + 200, memory + 100, 8, NULL));
    OK(cuMemcpyAsync(memory + 300, memory + 200, 8, NULL));
    OK(cuMemcpyDtoH_v2(back, memory + 300, 8));
    assert_string_equal((char *)back, "managed");
    FAILS(cuMemcpyHtoD_v2(device, bytes_at(memory + SIZE - 4), 8), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
}

static void a_synchronous_copy_from_it_waits_for_its_turn(void **state) {
    (void)state;
    CUdeviceptr memory = manage(SIZE), device;
    OK(cuMemAlloc_v2(&device, SIZE));
    for (size_t size = 8; size <= SIZE; size *= 64) {
        spin(NULL, 5 * MS);
        OK(cuMemcpyHtoD_v2(device, bytes_at(memory), size));
        OK(cuStreamQuery(NULL));
    }
}

static void it_counts_as_no_memory_of_the_device(void **state) {
    (void)state;
    size_t before, after, total;
    OK(cuMemGetInfo_v2(&before, &total));
    CUdeviceptr memory = manage(SIZE);
    OK(cuMemsetD8_v2(memory, 1, SIZE));
    OK(cuMemGetInfo_v2(&after, &total));
    assert_int_equal(before, after);
    OK(cuMemFree_v2(memory));
}

static void a_pointer_to_it_tells_so(void **state) {
    (void)state;
    CUdeviceptr memory = manage(SIZE), device = 0, base = 0;
    void *host = NULL;
    CUcontext context = NULL;
    size_t size = 0;
    unsigned type = 9, access = 9, flags = 9;
    bool is_managed = false;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory));
    assert_true(is_managed);
    OK(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory + 5));
    assert_ptr_equal(host, bytes_at(memory + 5));
    OK(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory + 5));
    assert_int_equal(device, memory + 5);
    OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    assert_ptr_equal(context, current_context());
    OK(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, memory));
    assert_int_equal(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cuMemGetAddressRange_v2(&base, &size, memory + 5));
    assert_int_equal(base, memory);
    assert_int_equal(size, SIZE);
    OK(cuMemHostGetFlags(&flags, bytes_at(memory)));
    assert_int_equal(flags, CU_MEMHOSTALLOC_DEVICEMAP);
    FAILS(cuMemHostGetDevicePointer_v2(&device, bytes_at(memory), 0), CUDA_ERROR_INVALID_VALUE);
}

// -------------------------------------------------------------------------------------------- ends

static void it_ends_with_its_context(void **state) {
    (void)state;
    CUcontext context;
    CUdeviceptr base;
    size_t size;
    OK(cuCtxCreate_v2(&context, 0, 0));
    CUdeviceptr memory = manage(SIZE);
    OK(cuCtxDestroy_v2(context));
    OK(cuCtxSetCurrent(NULL));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    FAILS(cuMemGetAddressRange_v2(&base, &size, memory), CUDA_ERROR_NOT_FOUND);
    assert_int_equal(simcudaLeakCheck(), 0);
}

static void it_is_freed_once(void **state) {
    (void)state;
    CUdeviceptr memory = manage(SIZE);
    OK(cuMemFree_v2(memory));
    FAILS(cuMemFree_v2(memory), CUDA_ERROR_INVALID_VALUE);
    expect_report("bad-free");
}

static void a_free_waits_for_the_work_of_its_device(void **state) {
    (void)state;
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr memory = manage(SIZE);
    fill(stream, memory, SIZE, 1);
    OK(cuMemFree_v2(memory));
    assert_int_equal(simcudaPendingAll(), 0);
}

static void peers_that_lose_access_keep_it(void **state) {
    (void)state;
    CUcontext second;
    become("devices=2");
    CUcontext first = current_context();
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    CUdeviceptr memory = manage(SIZE);
    OK(cuCtxSetCurrent(second));
    OK(cuCtxEnablePeerAccess(first, 0));
    OK(cuCtxDisablePeerAccess(first));
    touch(NULL, "writer", memory, 8, simcudaAccessWrite);
    OK(cuCtxSynchronize());
}

static void what_is_left_is_told_by_its_call(void **state) {
    (void)state;
    simcudaLive live;
    CUdeviceptr memory = manage(SIZE);
    simcudaGetLive(&live);
    assert_int_equal(live.managed, 1);
    assert_int_equal(live.allocations, 0);
    assert_int_equal(live.mappings, 0);
    assert_int_equal(simcudaLeakCheck(), 1);
    assert_non_null(strstr(simcudaReportText(0), "from cuMemAllocManaged was never freed"));
    expect_report("leak");
    OK(cuMemFree_v2(memory));
    assert_int_equal(simcudaLeakCheck(), 0);
}

static void a_block_of_it_is_watched(void **state) {
    (void)state;
    become("reports=check");
    CUdeviceptr memory = manage(1000);
    assert_int_equal(simcudaLeakCheck(), 1);
    assert_non_null(strstr(simcudaReportText(0), "bytes from cuMemAllocManaged #1, allocated"));
    expect_report("leak");
    OK(cuMemFree_v2(memory));
    touch(NULL, "late", memory, 8, simcudaAccessWrite);
    assert_non_null(strstr(simcudaReportText(0), "bytes from cuMemAllocManaged #1, which was"));
    expect_report("use-after-free");
    become("");
}

// --------------------------------------------------------------------------- prefetches and advice

static void a_prefetch_checks_its_range_and_location(void **state) {
    (void)state;
    CUdeviceptr memory = manage(SIZE), device;
    static char other[2 * 4096];
    OK(cuMemAlloc_v2(&device, SIZE));
    CUstream stream = make_stream();
    const CUmemLocation node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
                        current = {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 7},
                        none = {(CUmemLocationType)0, 0}, ninth = {CU_MEM_LOCATION_TYPE_DEVICE, 9};
    OK(cuMemPrefetchAsync_v2(memory, SIZE, on_device, 0, stream));
    OK(cuMemPrefetchAsync_v2(memory, SIZE, on_host, 0, stream));
    OK(cuMemPrefetchAsync_v2(memory, SIZE, node, 0, stream));
    OK(cuMemPrefetchAsync_v2(memory, SIZE, current, 0, stream));
    OK(cuMemPrefetchAsync_v2(memory + 100, 1000, on_device, 0, stream));
    FAILS(cuMemPrefetchAsync_v2(memory, SIZE, ninth, 0, stream), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuMemPrefetchAsync_v2(memory, SIZE, none, 0, stream), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemPrefetchAsync_v2(memory, SIZE, on_device, 1, stream), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemPrefetchAsync_v2(memory, 0, on_device, 0, stream), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemPrefetchAsync_v2(memory + 1, SIZE, on_device, 0, stream), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemPrefetchAsync_v2(device, SIZE, on_device, 0, stream), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemPrefetchAsync_v2((uintptr_t)other, PAGE, on_device, 0, stream),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemPrefetchAsync(memory, SIZE, 0, stream));
    OK(cuMemPrefetchAsync(memory, SIZE, CU_DEVICE_CPU, stream));
    FAILS(cuMemPrefetchAsync(memory, SIZE, 9, stream), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuMemPrefetchAsync(memory, SIZE, CU_DEVICE_INVALID, stream), CUDA_ERROR_INVALID_DEVICE);
    OK(cuStreamSynchronize(stream));
}

static void a_prefetch_takes_its_turn_and_moves_nothing(void **state) {
    (void)state;
    CUdeviceptr memory = manage(SIZE);
    CUstream stream = make_non_blocking_stream();
    bytes_at(memory)[0] = 3;
    spin(stream, MS);
    OK(cuMemPrefetchAsync_v2(memory, SIZE, on_device, 0, stream));
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    assert_int_equal(simcudaPending(stream), 2);
    simcudaHostAccess(bytes_at(memory), SIZE, simcudaAccessWrite);
    OK(cuStreamSynchronize(stream));
    assert_int_equal(bytes_at(memory)[0], 3);
}

static void a_capture_holds_no_prefetch(void **state) {
    (void)state;
    CUdeviceptr memory = manage(SIZE);
    CUstream stream = make_stream();
    CUgraph graph;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(cuMemPrefetchAsync_v2(memory, SIZE, on_device, 0, stream),
          CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    FAILS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    expect_report("capture-unsafe-call");
}

static int number(CUmem_range_attribute attribute, CUdeviceptr address, size_t size) {
    int value = -77;
    OK(cuMemRangeGetAttribute(&value, sizeof value, attribute, address, size));
    return value;
}

static void what_was_said_of_all_pages_is_told(void **state) {
    (void)state;
    CUdeviceptr memory = manage(SIZE);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE), 0);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, SIZE),
                     CU_DEVICE_INVALID);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE, memory, SIZE), 0);
    OK(cuMemAdvise_v2(memory, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, on_device));
    OK(cuMemAdvise_v2(memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_device));
    OK(cuMemPrefetchAsync_v2(memory, SIZE, on_host, 0, NULL));
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE), 1);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, SIZE), 0);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE, memory, SIZE),
                     CU_MEM_LOCATION_TYPE_DEVICE);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID, memory, SIZE), 0);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, SIZE),
                     CU_DEVICE_CPU);
    // One page differs, of which a byte was named.
    OK(cuMemAdvise(memory + 5 * PAGE + 9, 1, CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
    OK(cuMemAdvise(memory + 5 * PAGE + 9, 1, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU));
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE), 0);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, SIZE),
                     CU_DEVICE_INVALID);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory + 5 * PAGE, PAGE),
                     CU_DEVICE_CPU);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, 5 * PAGE), 1);
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory + 6 * PAGE, 1), 1);
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 9));
    assert_int_equal(number(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory + 5 * PAGE, PAGE),
                     CU_DEVICE_INVALID);
}

static void those_that_access_all_pages_are_told(void **state) {
    (void)state;
    int numbers[4];
    become("devices=3");
    CUdeviceptr memory = manage(SIZE);
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, 2));
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
    OK(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU));
    OK(cuMemAdvise(memory, PAGE, CU_MEM_ADVISE_UNSET_ACCESSED_BY, 0));
    OK(cuMemRangeGetAttribute(numbers, sizeof numbers, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory,
                              SIZE));
    const int all[] = {2, CU_DEVICE_CPU, CU_DEVICE_INVALID, CU_DEVICE_INVALID};
    assert_memory_equal(numbers, all, sizeof numbers);
    OK(cuMemRangeGetAttribute(numbers, 4, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory + PAGE, 1));
    assert_int_equal(numbers[0], 0);
}

static void wrong_advice_is_refused(void **state) {
    (void)state;
    CUdeviceptr memory = manage(SIZE);
    int values[2];
    const CUmemLocation node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    FAILS(cuMemAdvise(memory, SIZE, (CUmem_advise)0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAdvise(memory, SIZE, (CUmem_advise)7, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAdvise(memory, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAdvise(memory, SIZE + 1, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAdvise(memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, 1), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuMemAdvise_v2(memory, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, node),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAdvise_v2(memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, node));
    FAILS(cuMemRangeGetAttribute(values, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemRangeGetAttribute(values, 0, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, SIZE),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemRangeGetAttribute(NULL, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemRangeGetAttribute(values, 4, (CUmem_range_attribute)9, memory, SIZE),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFree_v2(memory));
    FAILS(cuMemRangeGetAttribute(values, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, SIZE),
          CUDA_ERROR_INVALID_VALUE);
}

static void several_answers_about_a_range_come_at_once(void **state) {
    (void)state;
    CUdeviceptr memory = manage(SIZE);
    int read_mostly = 9, preferred = 9;
    void *values[] = {&read_mostly, &preferred};
    size_t sizes[] = {4, 4};
    CUmem_range_attribute attributes[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                          CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
    OK(cuMemAdvise_v2(memory, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, on_device));
    OK(cuMemRangeGetAttributes(values, sizes, attributes, 2, memory, SIZE));
    assert_int_equal(read_mostly, 0);
    assert_int_equal(preferred, 0);
    FAILS(cuMemRangeGetAttributes(values, sizes, attributes, 0, memory, SIZE),
          CUDA_ERROR_INVALID_VALUE);
    sizes[1] = 8;
    FAILS(cuMemRangeGetAttributes(values, sizes, attributes, 2, memory, SIZE),
          CUDA_ERROR_INVALID_VALUE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_without_reports)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_arguments_of_an_allocation_are_checked),
        TEST(the_device_says_that_it_has_such_memory),
        TEST(the_host_and_every_device_touch_it_at_one_address),
        TEST(work_past_its_end_faults),
        TEST(copies_take_it_as_memory_of_either_kind),
        TEST(a_synchronous_copy_from_it_waits_for_its_turn),
        TEST(it_counts_as_no_memory_of_the_device),
        TEST(a_pointer_to_it_tells_so),
        TEST(it_ends_with_its_context),
        TEST(it_is_freed_once),
        TEST(a_free_waits_for_the_work_of_its_device),
        TEST(peers_that_lose_access_keep_it),
        TEST(what_is_left_is_told_by_its_call),
        TEST(a_block_of_it_is_watched),
        TEST(a_prefetch_checks_its_range_and_location),
        TEST(a_prefetch_takes_its_turn_and_moves_nothing),
        TEST(a_capture_holds_no_prefetch),
        TEST(what_was_said_of_all_pages_is_told),
        TEST(those_that_access_all_pages_are_told),
        TEST(wrong_advice_is_refused),
        TEST(several_answers_about_a_range_come_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
