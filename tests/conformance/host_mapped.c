// Rows of memory of the host that the virtual memory calls map.
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "conformance/rows.h"
#include "conformance/wider.h"
#include "simcuda/entry/attributes.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

static const CUmemLocation on_device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
static const CUmemLocation on_host = {CU_MEM_LOCATION_TYPE_HOST, 0};
static const CUmemLocation on_node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
static const CUmemLocation on_current_node = {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0};
static const CUmemLocation nowhere = {(CUmemLocationType)0, 0};

static void need_support(void) {
    int supported = 0;
    WIDER_NEEDS(cuMemGetAllocationPropertiesFromHandle);
    CUdevice_attribute attribute =
        (CUdevice_attribute)SIM_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    if (test_driver()->cuDeviceGetAttribute(&supported, attribute, 0) != CUDA_SUCCESS || !supported)
        test_skip("memory of the host can't be mapped");
}

static CUmemAllocationProp prop_of(CUmemLocation location) {
    return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = location};
}

static size_t granule(void) {
    const CUmemAllocationProp prop = prop_of(on_host);
    size_t size = 0;
    DRIVER(test_driver()->cuMemGetAllocationGranularity(&size, &prop,
                                                        CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    return size;
}

static CUresult create(const CUmemAllocationProp *prop, CUmemGenericAllocationHandle *handle) {
    return test_driver()->cuMemCreate(handle, granule(), prop, 0);
}

static CUresult create_at(CUmemLocation location) {
    const CUmemAllocationProp prop = prop_of(location);
    CUmemGenericAllocationHandle handle;
    CUresult result = create(&prop, &handle);
    if (result == CUDA_SUCCESS)
        DRIVER(test_driver()->cuMemRelease(handle));
    return result;
}

static CUresult let(CUdeviceptr address, CUmemLocation location, CUmemAccess_flags flags) {
    const CUmemAccessDesc access = {location, flags};
    return test_driver()->cuMemSetAccess(address, granule(), &access, 1);
}

struct mapped {
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    unsigned char *bytes;
};

static CUdeviceptr map_at_new_address(CUmemGenericAllocationHandle handle) {
    CUdeviceptr address = 0;
    DRIVER(test_driver()->cuMemAddressReserve(&address, granule(), 0, 0, 0));
    DRIVER(test_driver()->cuMemMap(address, granule(), 0, handle, 0));
    return address;
}

// Makes memory of the host with access for the device, or the host, or both.
static struct mapped map(bool device, bool host) {
    const CUmemAllocationProp prop = prop_of(on_host);
    struct mapped mapped = {0};
    need_support();
    DRIVER(create(&prop, &mapped.handle));
    mapped.address = map_at_new_address(mapped.handle);
    mapped.bytes = (unsigned char *)(uintptr_t)mapped.address;
    if (device)
        DRIVER(let(mapped.address, on_device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    if (host)
        DRIVER(let(mapped.address, on_host, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    return mapped;
}

static sigjmp_buf behind_fault;

static void leave_fault(int signal_number) {
    siglongjmp(behind_fault, signal_number);
}

// Returns whether the host can read a byte, and write it if `writes`.
static bool host_can(volatile unsigned char *byte, bool writes) {
    struct sigaction old, action = {.sa_handler = leave_fault};
    sigaction(SIGSEGV, &action, &old);
    bool faulted = sigsetjmp(behind_fault, 1) != 0;
    if (!faulted) {
        unsigned char value = *byte;
        if (writes)
            *byte = value;
    }
    sigaction(SIGSEGV, &old, NULL);
    return !faulted;
}

// ------------------------------------------------------------------------------------ what is made

void row_memory_is_made_on_the_host_and_its_nodes(void) {
    const CUmemLocation fifth = {CU_MEM_LOCATION_TYPE_HOST, 5};
    const CUmemLocation before_first = {CU_MEM_LOCATION_TYPE_HOST, -1};
    need_support();
    ANSWERS(create_at(on_host), CUDA_SUCCESS);
    ANSWERS(create_at(fifth), CUDA_SUCCESS);
    ANSWERS(create_at(before_first), CUDA_SUCCESS);
    ANSWERS(create_at(on_node), CUDA_SUCCESS);
}

void row_memory_is_made_at_no_other_place(void) {
    need_support();
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp managed = prop_of(nowhere);
    const CUmemLocation far_node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 99};
    managed.type = CU_MEM_ALLOCATION_TYPE_MANAGED;
    ANSWERS(create_at(on_current_node), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(create_at(nowhere), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(create_at(far_node), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(create(&managed, &handle), CUDA_ERROR_INVALID_VALUE);
    managed.location = on_device;
    ANSWERS(create(&managed, &handle), CUDA_ERROR_INVALID_VALUE);
}

void row_memory_of_the_host_tells_its_node(void) {
    need_support();
    const CUmemAllocationProp prop = prop_of(on_host);
    CUmemAllocationProp told = {0};
    CUmemGenericAllocationHandle handle;
    DRIVER(create(&prop, &handle));
    DRIVER(wider()->cuMemGetAllocationPropertiesFromHandle(&told, handle));
    IS_TOLD(told.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    IS_TOLD(told.location.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
    IS_TOLD(told.location.id, 0);
}

void row_memory_of_a_node_may_be_shared(void) {
    need_support();
    CUmemAllocationProp prop = prop_of(on_host), told = {0};
    CUmemGenericAllocationHandle handle;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    ANSWERS(create(&prop, &handle), CUDA_ERROR_INVALID_VALUE);
    prop.location = on_node;
    DRIVER(create(&prop, &handle));
    DRIVER(wider()->cuMemGetAllocationPropertiesFromHandle(&told, handle));
    IS_TOLD(told.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static void require_granule(CUmemAllocationType type, CUmemLocation place) {
    CUmemAllocationProp prop = prop_of(place);
    size_t size = 0;
    prop.type = type;
    DRIVER(test_driver()->cuMemGetAllocationGranularity(&size, &prop,
                                                        CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    REQUIRE(size >= KIB(4));
}

void row_the_granule_of_every_place_is_told(void) {
    need_support();
    const CUmemLocation places[] = {on_device, on_host, on_node, on_current_node, nowhere};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        require_granule(CU_MEM_ALLOCATION_TYPE_PINNED, places[i]);
    require_granule(CU_MEM_ALLOCATION_TYPE_MANAGED, on_device);
    require_granule(CU_MEM_ALLOCATION_TYPE_MANAGED, nowhere);
}

// ---------------------------------------------------------------------------------- who touches it

void row_the_host_touches_mapped_memory_by_its_access(void) {
    struct mapped memory = map(false, false);
    REQUIRE(!host_can(memory.bytes, false));
    DRIVER(let(memory.address, on_device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    REQUIRE(!host_can(memory.bytes, false));
    DRIVER(let(memory.address, on_host, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    REQUIRE(host_can(memory.bytes, true) && host_can(memory.bytes + granule() - 1, true));
    DRIVER(let(memory.address, on_node, CU_MEM_ACCESS_FLAGS_PROT_NONE));
    REQUIRE(!host_can(memory.bytes, false));
    DRIVER(let(memory.address, on_node, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    REQUIRE(host_can(memory.bytes, true));
    DRIVER(test_driver()->cuMemUnmap(memory.address, granule()));
    REQUIRE(!host_can(memory.bytes, false));
}

void row_the_host_may_be_let_read_alone(void) {
    struct mapped memory = map(false, false);
    DRIVER(let(memory.address, on_node, CU_MEM_ACCESS_FLAGS_PROT_READ));
    REQUIRE(host_can(memory.bytes, false) && !host_can(memory.bytes, true));
}

void row_access_of_the_host_is_told_of_each_node(void) {
    struct mapped memory = map(false, false);
    const CUmemAccessDesc both[] = {{on_node, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
                                    {on_device, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    const CUmemLocation other_node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 1};
    const CUmemLocation *const told[] = {&on_host, &on_node, &on_device};
    DRIVER(let(memory.address, other_node, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    DRIVER(test_driver()->cuMemSetAccess(memory.address, granule(), both, 2));
    for (size_t i = 0; i < sizeof told / sizeof told[0]; i++) {
        unsigned long long flags = 9;
        DRIVER(test_driver()->cuMemGetAccess(&flags, told[i], memory.address));
        IS_TOLD(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    }
    ANSWERS(let(memory.address, on_current_node, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
            CUDA_ERROR_INVALID_VALUE);
}

void row_memory_of_a_device_is_not_the_hosts(void) {
    need_support();
    const CUmemAllocationProp prop = prop_of(on_device);
    CUmemGenericAllocationHandle handle;
    DRIVER(create(&prop, &handle));
    CUdeviceptr address = map_at_new_address(handle);
    ANSWERS(let(address, on_host, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_ERROR_NOT_SUPPORTED);
    ANSWERS(let(address, on_node, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), CUDA_ERROR_NOT_SUPPORTED);
}

void row_work_and_the_host_see_the_same_bytes(void) {
    struct mapped memory = map(true, true);
    CUstream stream = test_stream();
    size_t half = granule() / 2;
    test_load_kernels();
    memset(memory.bytes, 7, granule());
    test_fill_block(memory.bytes, 9, half, stream);
    test_finish(stream);
    memcpy(memory.bytes + half, memory.bytes, half); // what the kernel wrote, by the host
    test_check_block(memory.bytes + half, 9, half, stream);
    test_finish(stream);
    REQUIRE_EQUAL(test_wrong_words(), 0);
}

void row_memory_that_is_mapped_twice_has_the_same_bytes(void) {
    struct mapped memory = map(true, true);
    CUdeviceptr alias = map_at_new_address(memory.handle);
    unsigned char *bytes = (unsigned char *)(uintptr_t)alias;
    CUstream stream = test_stream();
    REQUIRE(!host_can(bytes, false));
    DRIVER(let(alias, on_host, CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
    memory.bytes[5] = 50;
    REQUIRE(bytes[5] == 50);
    bytes[6] = 60;
    REQUIRE(memory.bytes[6] == 60);
    test_fill(memory.bytes, 70, KIB(4), stream);
    test_finish(stream);
    REQUIRE(bytes[0] == 70 && bytes[KIB(4) - 1] == 70);
    DRIVER(test_driver()->cuMemUnmap(alias, granule()));
    REQUIRE(memory.bytes[0] == 70);
}

// Returns what a copy reads of bytes that are 1 at the call and 2 before it runs.
static unsigned char copied(unsigned char *from) {
    struct test_hold hold;
    CUstream stream = test_stream();
    CUdeviceptr to = 0;
    unsigned char result = 0;
    DRIVER(test_driver()->cuMemAlloc(&to, KIB(64)));
    memset(from, 1, KIB(64));
    test_hold(&hold, stream);
    DRIVER(test_driver()->cuMemcpyHtoDAsync(to, from, KIB(64), stream));
    memset(from, 2, KIB(64));
    test_let_go(&hold);
    test_finish(stream);
    DRIVER(test_driver()->cuMemcpyDtoH(&result, to, 1));
    return result;
}

void row_memory_that_the_device_has_access_to_is_read_when_a_copy_runs(void) {
    struct mapped memory = map(true, true);
    IS_TOLD(copied(memory.bytes), 2);
}

void row_memory_of_the_host_alone_is_copied_as_pageable_memory(void) {
    struct mapped memory = map(false, true);
    IS_TOLD(copied(memory.bytes), 1);
}

void row_copies_reach_memory_that_the_device_alone_has_access_to(void) {
    struct mapped memory = map(true, false);
    CUstream stream = test_stream();
    CUdeviceptr device = 0;
    DRIVER(test_driver()->cuMemAlloc(&device, 4 * KIB(4)));
    test_fill(memory.bytes, 6, KIB(4), stream);
    DRIVER(test_driver()->cuMemcpyHtoDAsync(device, memory.bytes, KIB(4), stream));
    DRIVER(wider()->cuMemcpyDtoDAsync_v2(device + KIB(4), memory.address, KIB(4), stream));
    DRIVER(test_driver()->cuMemcpyAsync(device + 2 * KIB(4), memory.address, KIB(4), stream));
    test_finish(stream);
    REQUIRE(test_is_filled((void *)(uintptr_t)device, 6, 3 * KIB(4)));
}

void row_memory_of_the_host_alone_is_copied_and_not_set(void) {
    struct mapped memory = map(false, true);
    CUstream stream = test_stream();
    CUdeviceptr device = 0;
    DRIVER(test_driver()->cuMemAlloc(&device, KIB(4)));
    memset(memory.bytes, 3, KIB(4));
    ANSWERS(test_driver()->cuMemsetD8Async(memory.address, 1, KIB(4), stream),
            CUDA_ERROR_INVALID_VALUE);
    DRIVER(wider()->cuMemcpyDtoDAsync_v2(device, memory.address, KIB(4), stream));
    test_finish(stream);
    REQUIRE(test_is_filled((void *)(uintptr_t)device, 3, KIB(4)));
    test_forgive_complaints();
}

// ----------------------------------------------------------------------------------- what is told

static CUresult ask(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
    return test_driver()->cuPointerGetAttribute(value, attribute, address);
}

static void require_memory_of_the_host(const struct mapped *memory) {
    unsigned int type = 0;
    bool is_managed = true;
    CUcontext context = (CUcontext)(void *)&type;
    CUdeviceptr start = 0;
    DRIVER(ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory->address));
    IS_TOLD(type, CU_MEMORYTYPE_HOST);
    DRIVER(ask(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, memory->address));
    REQUIRE(!is_managed);
    DRIVER(ask(&context, CU_POINTER_ATTRIBUTE_CONTEXT, memory->address));
    REQUIRE(!context);
    DRIVER(ask(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, memory->address));
    REQUIRE_EQUAL(start, memory->address);
}

// What is told of the device's side of memory that the device has access to.
static void require_reached(const struct mapped *memory) {
    CUdeviceptr address = 0, base = 0;
    unsigned int access = 9, flags = 9;
    size_t size = 0;
    DRIVER(ask(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory->address));
    REQUIRE_EQUAL(address, memory->address);
    DRIVER(ask(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, memory->address));
    IS_TOLD(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    DRIVER(wider()->cuMemGetAddressRange_v2(&base, &size, memory->address));
    IS_TOLD(size, granule());
    REQUIRE(base != memory->address); // the driver's own
    DRIVER(wider()->cuMemHostGetFlags(&flags, memory->bytes));
    IS_TOLD(flags, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
    DRIVER(wider()->cuMemHostGetDevicePointer_v2(&address, memory->bytes, 0));
    REQUIRE_EQUAL(address, memory->address);
}

void row_memory_that_the_device_alone_reaches_has_no_address_on_the_host(void) {
    struct mapped memory = map(true, false);
    void *host = NULL;
    require_memory_of_the_host(&memory);
    require_reached(&memory);
    ANSWERS(ask(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory.address),
            CUDA_ERROR_INVALID_VALUE);
}

void row_memory_that_both_reach_tells_both_addresses(void) {
    struct mapped memory = map(true, true);
    void *host = NULL;
    require_memory_of_the_host(&memory);
    require_reached(&memory);
    DRIVER(ask(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory.address));
    REQUIRE(host == memory.bytes);
}

void row_memory_that_the_host_alone_reaches_has_no_address_on_the_device(void) {
    struct mapped memory = map(false, true);
    CUdeviceptr address = 0;
    unsigned int access = 9, flags = 9;
    size_t size = 0;
    void *host = NULL;
    require_memory_of_the_host(&memory);
    DRIVER(ask(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory.address));
    REQUIRE(host == memory.bytes);
    ANSWERS(ask(&address, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory.address),
            CUDA_ERROR_INVALID_VALUE);
    DRIVER(ask(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, memory.address));
    IS_TOLD(access, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    ANSWERS(wider()->cuMemGetAddressRange_v2(&address, &size, memory.address),
            CUDA_ERROR_NOT_FOUND);
    ANSWERS(wider()->cuMemHostGetFlags(&flags, memory.bytes), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemHostGetDevicePointer_v2(&address, memory.bytes, 0),
            CUDA_ERROR_INVALID_VALUE);
}

void row_mapped_memory_is_not_registered(void) {
    struct mapped memory = map(false, true);
    ANSWERS(test_driver()->cuMemHostRegister(memory.bytes, granule(), 0), CUDA_ERROR_INVALID_VALUE);
}
