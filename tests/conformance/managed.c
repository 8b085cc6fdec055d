// Rows of managed memory.
#include <stdint.h>
#include <string.h>

#include "conformance/rows.h"
#include "conformance/wider.h"
#include "simcuda/entry/attributes.h"
#include "support/check.h"
#include "support/device.h"

static const CUmemLocation on_device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
static const CUmemLocation on_host = {CU_MEM_LOCATION_TYPE_HOST, 0};

static bool has(int attribute) {
    int value = 0;
    CUresult result = test_driver()->cuDeviceGetAttribute(&value, (CUdevice_attribute)attribute, 0);
    return result == CUDA_SUCCESS && value != 0;
}

static CUdeviceptr manage(size_t size) {
    CUdeviceptr memory = 0;
    if (!has(SIM_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS))
        test_skip("the host can't touch managed memory beside work");
    DRIVER(test_driver()->cuMemAllocManaged(&memory, size, CU_MEM_ATTACH_GLOBAL));
    return memory;
}

static unsigned char *bytes_of(CUdeviceptr memory) {
    return (unsigned char *)(uintptr_t)memory;
}

static CUresult prefetch(CUdeviceptr address, size_t size, CUmemLocation location) {
    WIDER_NEEDS(cuMemPrefetchAsync_v2);
    return wider()->cuMemPrefetchAsync_v2(address, size, location, 0, NULL);
}

void row_managed_memory_is_made_for_the_device_or_the_host(void) {
    CUdeviceptr memory = manage(MIB(1));
    DRIVER(test_driver()->cuMemFree(memory));
    ANSWERS(test_driver()->cuMemAllocManaged(&memory, KIB(4), CU_MEM_ATTACH_HOST), CUDA_SUCCESS);
    ANSWERS(test_driver()->cuMemAllocManaged(&memory, 0, CU_MEM_ATTACH_GLOBAL),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemAllocManaged(&memory, KIB(4), 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemAllocManaged(&memory, KIB(4), 3), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemAllocManaged(&memory, KIB(4), 4), CUDA_ERROR_INVALID_VALUE);
}

void row_work_and_the_host_touch_managed_memory_at_one_address(void) {
    CUdeviceptr memory = manage(MIB(4));
    unsigned char *bytes = bytes_of(memory);
    CUstream stream = test_stream();
    test_load_kernels();
    memset(bytes, 3, MIB(4));
    test_fill_block(bytes, 5, MIB(2), stream);
    test_finish(stream);
    memcpy(bytes + MIB(2), bytes, MIB(2)); // what the kernel wrote, by the host
    test_check_block(bytes + MIB(2), 5, MIB(2), stream);
    test_finish(stream);
    REQUIRE_EQUAL(test_wrong_words(), 0);
}

void row_copies_take_managed_memory_on_either_side(void) {
    CUdeviceptr memory = manage(MIB(1)), device = 0;
    unsigned char *bytes = bytes_of(memory);
    CUstream stream = test_stream();
    DRIVER(test_driver()->cuMemAlloc(&device, KIB(4)));
    memset(bytes, 8, KIB(4));
    DRIVER(test_driver()->cuMemcpyHtoDAsync(device, bytes, KIB(4), stream));
    DRIVER(wider()->cuMemcpyDtoDAsync_v2(memory + KIB(4), device, KIB(4), stream));
    DRIVER(test_driver()->cuMemcpyAsync(memory + KIB(8), memory + KIB(4), KIB(4), stream));
    test_finish(stream);
    REQUIRE(bytes[KIB(4)] == 8 && bytes[KIB(12) - 1] == 8);
}

void row_managed_memory_tells_what_it_is(void) {
    CUdeviceptr memory = manage(MIB(4)), address = 0, start = 0;
    const struct sp_driver *driver = test_driver();
    void *host = NULL;
    unsigned int type = 0, access = 0;
    bool is_managed = false;
    CUcontext context = NULL, current = NULL;
    DRIVER(driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory));
    IS_TOLD(type, CU_MEMORYTYPE_DEVICE);
    DRIVER(driver->cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory));
    REQUIRE(is_managed);
    DRIVER(driver->cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory + 100));
    REQUIRE(host == bytes_of(memory) + 100);
    DRIVER(
        driver->cuPointerGetAttribute(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory + 100));
    REQUIRE_EQUAL(address, memory + 100);
    DRIVER(driver->cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory));
    REQUIRE_EQUAL(start, memory);
    DRIVER(driver->cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, memory));
    IS_TOLD(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    DRIVER(driver->cuCtxGetCurrent(&current));
    DRIVER(driver->cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, memory));
    REQUIRE(context == current);
}

void row_managed_memory_is_a_range_and_no_pinned_memory(void) {
    CUdeviceptr memory = manage(MIB(4)), base = 0, address = 0;
    size_t size = 0;
    unsigned int flags = 9;
    DRIVER(wider()->cuMemGetAddressRange_v2(&base, &size, memory + 100));
    REQUIRE(base == memory && size == MIB(4));
    DRIVER(wider()->cuMemHostGetFlags(&flags, bytes_of(memory)));
    IS_TOLD(flags, CU_MEMHOSTALLOC_DEVICEMAP);
    ANSWERS(wider()->cuMemHostGetDevicePointer_v2(&address, bytes_of(memory), 0),
            CUDA_ERROR_INVALID_VALUE);
}

void row_a_prefetch_names_a_place_and_managed_memory(void) {
    CUdeviceptr memory = manage(MIB(1)), device = 0;
    const CUmemLocation node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    const CUmemLocation current_node = {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0};
    const CUmemLocation ninety_ninth = {CU_MEM_LOCATION_TYPE_DEVICE, 99};
    DRIVER(test_driver()->cuMemAlloc(&device, MIB(1)));
    ANSWERS(prefetch(memory, MIB(1), on_device), CUDA_SUCCESS);
    ANSWERS(prefetch(memory, MIB(1), on_host), CUDA_SUCCESS);
    ANSWERS(prefetch(memory, MIB(1), node), CUDA_SUCCESS);
    ANSWERS(prefetch(memory, MIB(1), current_node), CUDA_SUCCESS);
    ANSWERS(prefetch(memory + 100, 1000, on_device), CUDA_SUCCESS);
    ANSWERS(prefetch(memory, MIB(1), ninety_ninth), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(prefetch(memory, 0, on_device), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(prefetch(memory, MIB(8), on_device), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(prefetch(device, MIB(1), on_device), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemPrefetchAsync(memory, MIB(1), 0, NULL), CUDA_SUCCESS);
    ANSWERS(wider()->cuMemPrefetchAsync(memory, MIB(1), CU_DEVICE_CPU, NULL), CUDA_SUCCESS);
    DRIVER(test_driver()->cuCtxSynchronize());
}

void row_a_prefetch_takes_its_turn_and_changes_no_byte(void) {
    CUdeviceptr memory = manage(MIB(1));
    struct test_hold hold;
    CUstream stream = test_stream();
    WIDER_NEEDS(cuMemPrefetchAsync_v2);
    memset(bytes_of(memory), 4, MIB(1));
    test_hold(&hold, stream);
    DRIVER(wider()->cuMemPrefetchAsync_v2(memory, MIB(1), on_device, 0, stream));
    ANSWERS(test_driver()->cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    test_let_go(&hold);
    test_finish(stream);
    REQUIRE(bytes_of(memory)[0] == 4 && bytes_of(memory)[MIB(1) - 1] == 4);
}

static int told(CUmem_range_attribute attribute, CUdeviceptr address, size_t size) {
    int value = -77;
    DRIVER(wider()->cuMemRangeGetAttribute(&value, sizeof value, attribute, address, size));
    return value;
}

void row_advice_is_told_where_all_pages_have_it(void) {
    CUdeviceptr memory = manage(MIB(4));
    WIDER_NEEDS(cuMemAdvise);
    REQUIRE(told(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, MIB(4)) == 0);
    REQUIRE(told(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, MIB(4)) == CU_DEVICE_INVALID);
    DRIVER(wider()->cuMemAdvise(memory, MIB(4), CU_MEM_ADVISE_SET_READ_MOSTLY, 0));
    DRIVER(wider()->cuMemAdvise(memory, MIB(2), CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 0));
    REQUIRE(told(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, MIB(4)) == 1);
    REQUIRE(told(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, MIB(2)) == 0);
    REQUIRE(told(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, MIB(4)) == CU_DEVICE_INVALID);
    DRIVER(wider()->cuMemAdvise(memory, MIB(4), CU_MEM_ADVISE_UNSET_READ_MOSTLY, 0));
    DRIVER(wider()->cuMemAdvise(memory, MIB(4), CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, 0));
    REQUIRE(told(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, MIB(4)) == 0);
    REQUIRE(told(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, MIB(2)) == CU_DEVICE_INVALID);
}

void row_those_that_access_managed_memory_are_told(void) {
    CUdeviceptr memory = manage(MIB(1));
    int accessors[3] = {0};
    WIDER_NEEDS(cuMemAdvise);
    DRIVER(wider()->cuMemAdvise(memory, MIB(1), CU_MEM_ADVISE_SET_ACCESSED_BY, 0));
    DRIVER(wider()->cuMemRangeGetAttribute(accessors, sizeof accessors,
                                           CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory, MIB(1)));
    REQUIRE(accessors[0] == 0 && accessors[1] == CU_DEVICE_INVALID &&
            accessors[2] == CU_DEVICE_INVALID);
}

void row_the_place_of_the_last_prefetch_is_told(void) {
    CUdeviceptr memory = manage(MIB(1));
    ANSWERS(prefetch(memory, MIB(1), on_device), CUDA_SUCCESS);
    REQUIRE(told(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, MIB(1)) == 0);
    ANSWERS(prefetch(memory, MIB(1), on_host), CUDA_SUCCESS);
    REQUIRE(told(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, MIB(1)) == CU_DEVICE_CPU);
    DRIVER(test_driver()->cuCtxSynchronize());
}

void row_advice_about_other_memory_is_refused(void) {
    CUdeviceptr memory = manage(MIB(1)), device = 0;
    int value = 0;
    WIDER_NEEDS(cuMemAdvise);
    DRIVER(test_driver()->cuMemAlloc(&device, MIB(1)));
    ANSWERS(wider()->cuMemAdvise(device, MIB(1), CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemAdvise(memory, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, 0),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemAdvise(memory, MIB(1), (CUmem_advise)99, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemRangeGetAttribute(&value, 8, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory,
                                            MIB(1)),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, device,
                                            MIB(1)),
            CUDA_ERROR_INVALID_VALUE);
}
