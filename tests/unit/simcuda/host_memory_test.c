// Memory of the host that the virtual memory calls map, and who may touch it.
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simcuda/entry/attributes.h"
#include "unit/simcuda/fixture.h"

#define NONE       CU_MEM_ACCESS_FLAGS_PROT_NONE
#define READ       CU_MEM_ACCESS_FLAGS_PROT_READ
#define READ_WRITE CU_MEM_ACCESS_FLAGS_PROT_READWRITE

static const CUmemLocation on_device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
static const CUmemLocation on_host = {CU_MEM_LOCATION_TYPE_HOST, 0};
static const CUmemLocation on_node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
static const CUmemLocation on_current_node = {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0};
static const CUmemLocation nowhere = {(CUmemLocationType)0, 0};

static CUmemAllocationProp prop_of(CUmemLocation location, CUmemAllocationHandleType type) {
    return (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = type, .location = location};
}

static CUresult create_at(CUmemLocation location, CUmemAllocationHandleType type, uint64_t size,
                          CUmemGenericAllocationHandle *handle) {
    const CUmemAllocationProp prop = prop_of(location, type);
    return cuMemCreate(handle, size, &prop, 0);
}

static CUresult try_create(CUmemLocation location) {
    CUmemGenericAllocationHandle handle;
    CUresult result = create_at(location, CU_MEM_HANDLE_TYPE_NONE, GRANULE, &handle);
    if (result == CUDA_SUCCESS)
        OK(cuMemRelease(handle));
    return result;
}

static CUmemLocation node(int number) {
    return (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, number};
}

static CUresult let(CUdeviceptr address, CUmemLocation location, CUmemAccess_flags flags) {
    const CUmemAccessDesc access = {location, flags};
    return cuMemSetAccess(address, GRANULE, &access, 1);
}

// One granule of memory of the host, without any access.
static struct memory map_host(void) {
    struct memory memory = {.address = reserve(GRANULE), .size = GRANULE};
    OK(create_at(on_node, CU_MEM_HANDLE_TYPE_NONE, GRANULE, &memory.handle));
    OK(cuMemMap(memory.address, GRANULE, 0, memory.handle, 0));
    return memory;
}

static struct memory map_for(bool device, bool host) {
    struct memory memory = map_host();
    if (device)
        OK(let(memory.address, on_device, READ_WRITE));
    if (host)
        OK(let(memory.address, on_host, READ_WRITE));
    return memory;
}

static unsigned char *bytes_at(CUdeviceptr address) {
    unsigned char *bytes;
    memcpy(&bytes, &address, sizeof bytes);
    return bytes;
}

// Another process dies of the signal.
static bool host_can(CUdeviceptr address, bool writes) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        volatile unsigned char *byte = bytes_at(address);
        signal(SIGSEGV, SIG_DFL);
        unsigned char value = *byte;
        if (writes)
            *byte = value;
        _exit(0);
    }
    assert_true(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// ------------------------------------------------------------------------------------ what is made

static void memory_is_made_on_the_host_and_on_each_of_its_nodes(void **state) {
    (void)state;
    become("nodes=2");
    OK(try_create(on_host));
    OK(try_create((CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 7}));
    OK(try_create((CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, -1}));
    OK(try_create(node(0)));
    OK(try_create(node(1)));
    FAILS(try_create(node(2)), CUDA_ERROR_INVALID_VALUE);
    FAILS(try_create(node(-1)), CUDA_ERROR_INVALID_VALUE);
    FAILS(try_create(on_current_node), CUDA_ERROR_INVALID_VALUE);
    FAILS(try_create(nowhere), CUDA_ERROR_INVALID_VALUE);
    FAILS(try_create((CUmemLocation){(CUmemLocationType)5, 0}), CUDA_ERROR_INVALID_VALUE);
}

static void managed_memory_is_not_made_by_a_handle(void **state) {
    (void)state;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = prop_of(on_node, CU_MEM_HANDLE_TYPE_NONE);
    prop.type = CU_MEM_ALLOCATION_TYPE_MANAGED;
    FAILS(cuMemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_INVALID_VALUE);
}

static void memory_of_a_node_alone_can_be_shared(void **state) {
    (void)state;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    FAILS(create_at(on_host, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, GRANULE, &handle),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(create_at(on_node, (CUmemAllocationHandleType)8, GRANULE, &handle),
          CUDA_ERROR_INVALID_VALUE);
    OK(create_at(on_node, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, GRANULE, &handle));
    OK(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
    assert_int_equal(prop.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    OK(cuMemRelease(handle));
}

static void a_handle_tells_its_node(void **state) {
    (void)state;
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop;
    become("nodes=3");
    OK(create_at((CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 2}, CU_MEM_HANDLE_TYPE_NONE, GRANULE,
                 &handle));
    OK(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
    assert_int_equal(prop.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    assert_int_equal(prop.location.type, CU_MEM_LOCATION_TYPE_HOST_NUMA);
    assert_int_equal(prop.location.id, 0);
    OK(cuMemRelease(handle));
    OK(create_at(node(2), CU_MEM_HANDLE_TYPE_NONE, GRANULE, &handle));
    OK(cuMemGetAllocationPropertiesFromHandle(&prop, handle));
    assert_int_equal(prop.location.id, 2);
    FAILS(cuMemGetAllocationPropertiesFromHandle(NULL, handle), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemRelease(handle));
    FAILS(cuMemGetAllocationPropertiesFromHandle(&prop, handle), CUDA_ERROR_INVALID_VALUE);
    expect_report("bad-memory-handle");
}

static void a_handle_of_a_device_tells_it(void **state) {
    (void)state;
    CUmemAllocationProp prop;
    OK(cuMemGetAllocationPropertiesFromHandle(&prop, create_extent(GRANULE)));
    assert_int_equal(prop.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    assert_int_equal(prop.location.id, 0);
}

static void the_granule_is_told_of_places_where_nothing_is_made(void **state) {
    (void)state;
    const CUmemLocation locations[] = {on_device, on_host, on_node,
                                       node(99),  nowhere, on_current_node};
    for (int type = 1; type <= 2; type++) {
        for (size_t i = 0; i < sizeof locations / sizeof locations[0]; i++) {
            size_t granularity = 0;
            CUmemAllocationProp prop = prop_of(locations[i], CU_MEM_HANDLE_TYPE_NONE);
            prop.type = (CUmemAllocationType)type;
            OK(cuMemGetAllocationGranularity(&granularity, &prop,
                                             CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
            assert_int_equal(granularity, GRANULE);
        }
    }
}

static void the_host_has_no_more_than_its_memory(void **state) {
    (void)state;
    void *pinned;
    CUdeviceptr managed, none;
    CUmemGenericAllocationHandle handle;
    static char pages[8192];
    become("host_memory=4M");
    OK(create_at(on_host, CU_MEM_HANDLE_TYPE_NONE, GRANULE, &handle));
    FAILS(try_create((CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, 1}), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostAlloc(&pinned, GRANULE / 2, 0));
    FAILS(try_create(on_node), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAllocManaged(&managed, GRANULE / 2 - 4096, CU_MEM_ATTACH_GLOBAL));
    FAILS(cuMemHostAlloc(&pinned, 4097, 0), CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(cuMemAllocManaged(&none, 4097, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(cuMemHostRegister_v2(pages, 4097, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemHostRegister_v2(pages, 4096, 0));
    FAILS(cuMemAllocManaged(&none, 1, CU_MEM_ATTACH_GLOBAL), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemHostUnregister(pages));
    OK(cuMemFree_v2(managed));
    OK(cuMemFreeHost(pinned));
    OK(cuMemRelease(handle));
    OK(create_at(on_node, CU_MEM_HANDLE_TYPE_NONE, 2 * GRANULE, &handle));
}

static void no_host_has_an_absurd_size(void **state) {
    (void)state;
    CUmemGenericAllocationHandle handle;
    CUdeviceptr managed;
    FAILS(create_at(on_host, CU_MEM_HANDLE_TYPE_NONE, (uint64_t)1 << 50, &handle),
          CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(cuMemAllocManaged(&managed, (size_t)1 << 50, CU_MEM_ATTACH_GLOBAL),
          CUDA_ERROR_OUT_OF_MEMORY);
}

static int attribute(int number) {
    int value = -9;
    OK(cuDeviceGetAttribute(&value, (CUdevice_attribute)number, 0));
    return value;
}

static void a_host_without_support_says_so(void **state) {
    (void)state;
    assert_int_equal(attribute(SIM_ATTRIBUTE_HOST_NUMA_ID), 0);
    assert_int_equal(attribute(SIM_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1);
    assert_int_equal(attribute(SIM_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 1);
    become("host_vmm=missing");
    assert_int_equal(attribute(SIM_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 0);
    assert_int_equal(attribute(SIM_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 0);
    FAILS(try_create(on_host), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(try_create(on_node), CUDA_ERROR_NOT_SUPPORTED);
    OK(try_create(on_device));
    become("vmm=missing");
    assert_int_equal(attribute(SIM_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED), 0);
    FAILS(try_create(on_host), CUDA_ERROR_NOT_SUPPORTED);
}

static void older_drivers_know_no_place_but_devices(void **state) {
    (void)state;
    size_t granularity;
    const CUmemAllocationProp prop = prop_of(on_host, CU_MEM_HANDLE_TYPE_NONE);
    become("api=12010");
    FAILS(try_create(on_host), CUDA_ERROR_INVALID_VALUE);
    FAILS(try_create(on_node), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          CUDA_ERROR_INVALID_VALUE);
    struct memory memory = map_memory(GRANULE);
    FAILS(let(memory.address, on_host, READ_WRITE), CUDA_ERROR_INVALID_VALUE);
    become("api=12020");
    OK(try_create(on_host));
    OK(try_create(on_node));
}

// -------------------------------------------------------------------------------------- who may it

static void the_host_touches_what_it_was_given_access_to(void **state) {
    (void)state;
    struct memory memory = map_host();
    assert_false(host_can(memory.address, false));
    OK(let(memory.address, on_device, READ_WRITE));
    assert_false(host_can(memory.address, false));
    OK(let(memory.address, on_host, READ_WRITE));
    assert_true(host_can(memory.address + GRANULE - 1, true));
    OK(let(memory.address, node(0), READ));
    assert_true(host_can(memory.address, false));
    assert_false(host_can(memory.address, true));
    OK(let(memory.address, node(1), NONE));
    assert_false(host_can(memory.address, false));
    unmap_memory(memory);
}

static void what_was_unmapped_is_nobodys(void **state) {
    (void)state;
    struct memory memory = map_for(false, true);
    bytes_at(memory.address)[0] = 1;
    OK(cuMemUnmap(memory.address, GRANULE));
    assert_false(host_can(memory.address, false));
    OK(cuMemMap(memory.address, GRANULE, 0, memory.handle, 0));
    assert_false(host_can(memory.address, false));
    OK(let(memory.address, on_host, READ_WRITE));
    assert_int_equal(bytes_at(memory.address)[0], 1);
    unmap_memory(memory);
}

static void expect_access(CUdeviceptr address, CUmemLocation location, CUmemAccess_flags flags) {
    unsigned long long told = 99;
    OK(cuMemGetAccess(&told, &location, address));
    assert_int_equal(told, flags);
}

static void access_is_told_of_the_device_and_of_the_host(void **state) {
    (void)state;
    struct memory memory = map_host();
    unsigned long long flags;
    const CUmemAccessDesc both[] = {{on_node, READ_WRITE}, {on_device, READ}};
    expect_access(memory.address, on_host, NONE);
    OK(cuMemSetAccess(memory.address, GRANULE, both, 2));
    expect_access(memory.address, on_host, READ_WRITE);
    expect_access(memory.address, node(0), READ_WRITE);
    expect_access(memory.address, on_device, READ);
    FAILS(let(memory.address, on_current_node, READ_WRITE), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemGetAccess(&flags, &on_current_node, memory.address), CUDA_ERROR_INVALID_VALUE);
    FAILS(let(memory.address, nowhere, READ_WRITE), CUDA_ERROR_INVALID_VALUE);
    unmap_memory(memory);
}

static void the_host_has_no_access_to_memory_of_a_device(void **state) {
    (void)state;
    struct memory memory = map_memory(GRANULE);
    unsigned long long flags;
    const CUmemAccessDesc both[] = {{on_device, READ}, {on_host, READ_WRITE}};
    FAILS(let(memory.address, on_host, READ_WRITE), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(let(memory.address, node(0), READ_WRITE), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(cuMemSetAccess(memory.address, GRANULE, both, 2), CUDA_ERROR_NOT_SUPPORTED);
    expect_access(memory.address, on_device, READ_WRITE);
    FAILS(cuMemGetAccess(&flags, &on_host, memory.address), CUDA_ERROR_INVALID_VALUE);
    assert_false(host_can(memory.address, false));
    unmap_memory(memory);
}

// ------------------------------------------------------------------------------------- its bytes

static void kernels_and_the_host_see_the_same_bytes(void **state) {
    (void)state;
    struct memory memory = map_for(true, true);
    CUdeviceptr errors;
    OK(cuMemAlloc_v2(&errors, 8));
    OK(cuMemsetD32_v2(errors, 0, 2));
    fill(NULL, memory.address, GRANULE, 3);
    OK(cuCtxSynchronize());
    uint32_t *words = (uint32_t *)bytes_at(memory.address);
    assert_int_equal(words[0], 3);
    assert_int_equal(words[100], 103);
    memset(words, 0, GRANULE);
    for (uint32_t i = 0; i < GRANULE / 4; i++)
        words[i] = 7 + i;
    check(NULL, memory.address, GRANULE, 7, errors);
    OK(cuCtxSynchronize());
    assert_int_equal(word_at(errors), 0);
    unmap_memory(memory);
}

static void an_alias_has_the_same_bytes(void **state) {
    (void)state;
    struct memory memory = map_for(true, true);
    CUdeviceptr alias = reserve(GRANULE);
    bytes_at(memory.address)[5] = 50;
    OK(cuMemMap(alias, GRANULE, 0, memory.handle, 0));
    assert_false(host_can(alias, false));
    OK(let(alias, on_host, READ_WRITE));
    assert_int_equal(bytes_at(alias)[5], 50);
    bytes_at(alias)[GRANULE - 1] = 60;
    assert_int_equal(bytes_at(memory.address)[GRANULE - 1], 60);
    OK(cuMemsetD8_v2(memory.address, 70, 10));
    OK(cuCtxSynchronize());
    assert_int_equal(bytes_at(alias)[9], 70);
    OK(cuMemUnmap(alias, GRANULE));
    OK(cuMemAddressFree(alias, GRANULE));
    assert_int_equal(bytes_at(memory.address)[9], 70);
    unmap_memory(memory);
}

// A limit of address space keeps the driver from looking at bytes by mappings of its own.
static void the_bytes_are_the_same_where_address_space_is_limited(void **state) {
    (void)state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    const struct rlimit high = {(rlim_t)1 << 62, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &high), 0);
    struct memory memory = map_for(true, true);
    CUdeviceptr errors;
    OK(cuMemAlloc_v2(&errors, 8));
    OK(cuMemsetD32_v2(errors, 0, 2));
    uint32_t *words = (uint32_t *)bytes_at(memory.address);
    for (uint32_t i = 0; i < 100; i++)
        words[i] = 7 + i;
    check(NULL, memory.address, 400, 7, errors);
    fill(NULL, memory.address + 400, 400, 9);
    OK(cuCtxSynchronize());
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_int_equal(word_at(errors), 0);
    assert_int_equal(words[101], 10);
    unmap_memory(memory);
}

// The bytes lie in a file, and the kernel would end the process by SIGXFSZ.
static void a_limit_of_files_leaves_no_memory(void **state) {
    (void)state;
    struct rlimit limit;
    CUmemGenericAllocationHandle handle;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit low = {2048, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    CUresult refused = create_at(on_node, CU_MEM_HANDLE_TYPE_NONE, GRANULE, &handle);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(refused, CUDA_ERROR_OUT_OF_MEMORY);
    unmap_memory(map_host());
}

static void work_needs_the_devices_access(void **state) {
    (void)state;
    struct memory memory = map_for(false, true);
    CUdeviceptr device;
    OK(cuMemAlloc_v2(&device, 64));
    FAILS(cuMemsetD8Async(memory.address, 1, 64, NULL), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    OK(cuMemcpyDtoDAsync_v2(device, memory.address, 64, NULL)); // as one of the host's memory
    fill(NULL, memory.address, 64, 1);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("no-access");
}

static void a_set_of_memory_that_nobody_has_access_to_faults(void **state) {
    (void)state;
    struct memory memory = map_for(false, false);
    OK(cuMemsetD8Async(memory.address, 1, 64, NULL));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("no-access");
}

// Returns what a copy reads of bytes that are 1 at the call and 2 before it runs.
static unsigned char copied(CUdeviceptr from) {
    CUdeviceptr device;
    unsigned char result;
    CUstream stream = make_non_blocking_stream();
    OK(cuMemAlloc_v2(&device, 64));
    memset(bytes_at(from), 1, 64);
    spin(stream, 1 * MS);
    OK(cuMemcpyHtoDAsync_v2(device, bytes_at(from), 64, stream));
    memset(bytes_at(from), 2, 64);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(&result, device, 1));
    return result;
}

static void a_copy_reads_it_when_it_runs_where_the_device_has_access(void **state) {
    (void)state;
    struct memory both = map_for(true, true), hosts = map_for(false, true);
    assert_int_equal(copied(both.address), 2);
    assert_int_equal(copied(hosts.address), 1);
    unmap_memory(both);
    unmap_memory(hosts);
}

static void a_copy_reaches_it_with_the_devices_access_alone(void **state) {
    (void)state;
    struct memory memory = map_for(true, false);
    unsigned char text[8] = "1234567", back[8] = "";
    CUdeviceptr device;
    OK(cuMemAlloc_v2(&device, 64));
    OK(cuMemcpyHtoD_v2(device, text, 8));
    OK(cuMemcpyDtoHAsync_v2(bytes_at(memory.address), device, 8, NULL));
    OK(cuMemcpyAsync(device + 8, memory.address, 8, NULL));
    OK(cuMemcpyDtoDAsync_v2(device + 16, memory.address, 8, NULL));
    OK(cuMemcpyHtoDAsync_v2(device + 24, bytes_at(memory.address), 8, NULL));
    for (CUdeviceptr at = device + 8; at < device + 32; at += 8) {
        OK(cuMemcpyDtoH_v2(back, at, 8));
        assert_memory_equal(back, text, 8);
    }
    unmap_memory(memory);
}

static void a_copy_to_the_hosts_own_is_complete_when_the_call_returns(void **state) {
    (void)state;
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr device;
    OK(cuMemAlloc_v2(&device, 64));
    struct memory memory = map_for(false, true); // with nothing behind it
    OK(cuMemsetD8Async(device, 9, 64, stream));
    spin(stream, 1 * MS);
    OK(cuMemcpyDtoHAsync_v2(bytes_at(memory.address), device, 64, stream));
    assert_int_equal(bytes_at(memory.address)[63], 9);
    FAILS(cuMemcpyHtoD_v2(device, bytes_at(memory.address) + GRANULE - 4, 8),
          CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    unmap_memory(memory);
}

static void a_device_without_access_copies_it_as_pageable_memory(void **state) {
    (void)state;
    CUcontext second;
    CUdeviceptr device;
    become("devices=2");
    struct memory memory = map_for(true, true);
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(second));
    OK(cuMemAlloc_v2(&device, 64));
    assert_int_equal(copied(memory.address), 1);
    FAILS(cuMemsetD8Async(memory.address, 1, 64, NULL), CUDA_ERROR_INVALID_VALUE);
    expect_report("fault");
    OK(let(memory.address, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 1}, READ_WRITE));
    assert_int_equal(copied(memory.address), 2);
}

static void a_word_of_it_ends_a_wait(void **state) {
    (void)state;
    struct memory memory = map_for(true, true);
    CUstream stream = make_non_blocking_stream();
    OK(cuStreamWaitValue32_v2(stream, memory.address, 1, CU_STREAM_WAIT_VALUE_EQ));
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    *(volatile uint32_t *)(void *)bytes_at(memory.address) = 1;
    OK(cuStreamSynchronize(stream));
    unmap_memory(memory);
}

// ----------------------------------------------------------------------------------- what is told

struct told {
    CUresult host, device;
    unsigned access;
    CUresult range, flags, pointer;
};

static void expect_told(CUdeviceptr address, struct told expected) {
    void *host;
    CUdeviceptr device, base;
    size_t size;
    unsigned type = 9, access = 9, flags = 9;
    bool is_managed = true;
    OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    assert_int_equal(type, CU_MEMORYTYPE_HOST);
    OK(cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    assert_false(is_managed);
    FAILS(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, address), expected.host);
    assert_true(expected.host != CUDA_SUCCESS || host == bytes_at(address));
    FAILS(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address),
          expected.device);
    assert_true(expected.device != CUDA_SUCCESS || device == address);
    OK(cuPointerGetAttribute(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address));
    assert_int_equal(access, expected.access);
    FAILS(cuMemGetAddressRange_v2(&base, &size, address), expected.range);
    assert_true(expected.range != CUDA_SUCCESS || (base != address && size == GRANULE));
    FAILS(cuMemHostGetFlags(&flags, bytes_at(address)), expected.flags);
    assert_true(expected.flags != CUDA_SUCCESS || flags == 3);
    FAILS(cuMemHostGetDevicePointer_v2(&device, bytes_at(address), 0), expected.pointer);
}

static void a_pointer_to_it_tells_who_has_access(void **state) {
    (void)state;
    const CUresult no = CUDA_ERROR_INVALID_VALUE, yes = CUDA_SUCCESS;
    struct memory memory = map_for(true, false);
    expect_told(memory.address, (struct told){no, yes, 3, yes, yes, yes});
    OK(let(memory.address, on_host, READ_WRITE));
    expect_told(memory.address, (struct told){yes, yes, 3, yes, yes, yes});
    OK(let(memory.address, on_device, NONE));
    expect_told(memory.address, (struct told){yes, no, 0, CUDA_ERROR_NOT_FOUND, no, no});
    FAILS(cuMemHostRegister_v2(bytes_at(memory.address), GRANULE, 0), CUDA_ERROR_INVALID_VALUE);
    unmap_memory(memory);
}

// ------------------------------------------------------------------------------------------- races

static void the_host_races_with_work_that_it_does_not_know_to_be_complete(void **state) {
    (void)state;
    struct memory memory = map_for(true, true);
    CUstream stream = make_non_blocking_stream();
    const void *bytes = bytes_at(memory.address);
    fill(stream, memory.address, 64, 1);
    simcudaHostAccess(bytes, 4, simcudaAccessRead);
    expect_report("race");
    simcudaAdvance(1 * MS);
    simcudaHostAccess(bytes, 4, simcudaAccessRead);
    expect_report("race");
    OK(cuStreamSynchronize(stream));
    simcudaHostAccess(bytes, 4, simcudaAccessWrite);
    expect_no_report();
    unmap_memory(memory);
}

static void a_race_is_found_by_an_alias(void **state) {
    (void)state;
    struct memory memory = map_for(true, true);
    CUdeviceptr alias = reserve(GRANULE);
    CUstream stream = make_non_blocking_stream();
    OK(cuMemMap(alias, GRANULE, 0, memory.handle, 0));
    OK(let(alias, on_host, READ_WRITE));
    spin(stream, 1 * MS); // which keeps the reader pending
    touch(stream, "reader", memory.address + 64, 64, simcudaAccessRead);
    simcudaHostAccess(bytes_at(alias), 64, simcudaAccessWrite);
    simcudaHostAccess(bytes_at(alias + 64), 64, simcudaAccessRead);
    expect_no_report();
    simcudaHostAccess(bytes_at(alias + 127), 64, simcudaAccessWrite);
    expect_report("race");
    OK(cuStreamSynchronize(stream));
    simcudaHostAccess(bytes_at(alias), GRANULE, simcudaAccessWrite);
    expect_no_report();
    OK(cuMemUnmap(alias, GRANULE));
    unmap_memory(memory);
}

static void a_copy_by_way_of_the_host_races_with_work_of_a_device_that_has_access(void **state) {
    (void)state;
    CUcontext second;
    CUdeviceptr device;
    become("devices=2");
    struct memory memory = map_for(true, true);
    touch(make_non_blocking_stream(), "writer", memory.address, 64, simcudaAccessWrite);
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(second));
    OK(cuMemAlloc_v2(&device, 64));
    OK(cuMemcpyDtoH_v2(bytes_at(memory.address + 64), device, 64));
    expect_no_report();
    OK(cuMemcpyDtoH_v2(bytes_at(memory.address), device, 64));
    expect_report("race");
}

static void a_source_that_changes_before_the_copy_reads_it_is_told(void **state) {
    (void)state;
    become("reports=print");
    struct memory memory = map_for(true, true);
    assert_int_equal(copied(memory.address), 2);
    expect_report("source-changed");
    unmap_memory(memory);
}

static void an_unmap_under_work_is_told(void **state) {
    (void)state;
    struct memory memory = map_for(true, true);
    CUstream stream = make_non_blocking_stream();
    touch(stream, "reader", memory.address, 64, simcudaAccessRead);
    OK(cuMemUnmap(memory.address, GRANULE));
    expect_report("unmap-in-use");
}

// -------------------------------------------------------------------------------------------- ends

static void what_is_left_is_told_as_memory_of_the_host(void **state) {
    (void)state;
    become("nodes=2");
    CUmemGenericAllocationHandle handle;
    simcudaLive live;
    OK(create_at(node(1), CU_MEM_HANDLE_TYPE_NONE, GRANULE, &handle));
    simcudaGetLive(&live);
    assert_int_equal(live.handles, 1);
    assert_int_equal(simcudaLeakCheck(), 1);
    assert_non_null(strstr(simcudaReportText(0), "of the host, node 1"));
    expect_report("leak");
    OK(cuMemRelease(handle));
}

static void a_reset_takes_it_from_the_host(void **state) {
    (void)state;
    simcudaLive live;
    map_for(true, true);
    become("host_memory=2M");
    simcudaGetLive(&live);
    assert_int_equal(live.extents, 0);
    OK(try_create(on_host));
}

static void it_counts_as_no_memory_of_the_device(void **state) {
    (void)state;
    size_t before, after, total;
    OK(cuMemGetInfo_v2(&before, &total));
    struct memory memory = map_for(true, true);
    OK(cuMemGetInfo_v2(&after, &total));
    assert_int_equal(before, after);
    assert_int_equal(simcudaMemoryInUse(0), 0);
    assert_int_equal(simcudaMemoryInUse(-1), GRANULE);
    unmap_memory(memory);
    assert_int_equal(simcudaMemoryInUse(-1), 0);
    assert_int_equal(simcudaMemoryPeak(-1), GRANULE);
    simcudaMemoryPeakReset();
    assert_int_equal(simcudaMemoryPeak(-1), 0);
    assert_int_equal(simcudaMemoryInUse(-2), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_without_reports)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(memory_is_made_on_the_host_and_on_each_of_its_nodes),
        TEST(managed_memory_is_not_made_by_a_handle),
        TEST(memory_of_a_node_alone_can_be_shared),
        TEST(a_handle_tells_its_node),
        TEST(a_handle_of_a_device_tells_it),
        TEST(the_granule_is_told_of_places_where_nothing_is_made),
        TEST(the_host_has_no_more_than_its_memory),
        TEST(no_host_has_an_absurd_size),
        TEST(a_host_without_support_says_so),
        TEST(older_drivers_know_no_place_but_devices),
        TEST(the_host_touches_what_it_was_given_access_to),
        TEST(what_was_unmapped_is_nobodys),
        TEST(access_is_told_of_the_device_and_of_the_host),
        TEST(the_host_has_no_access_to_memory_of_a_device),
        TEST(kernels_and_the_host_see_the_same_bytes),
        TEST(an_alias_has_the_same_bytes),
        TEST(the_bytes_are_the_same_where_address_space_is_limited),
        TEST(a_limit_of_files_leaves_no_memory),
        TEST(work_needs_the_devices_access),
        TEST(a_set_of_memory_that_nobody_has_access_to_faults),
        TEST(a_copy_reads_it_when_it_runs_where_the_device_has_access),
        TEST(a_copy_reaches_it_with_the_devices_access_alone),
        TEST(a_copy_to_the_hosts_own_is_complete_when_the_call_returns),
        TEST(a_device_without_access_copies_it_as_pageable_memory),
        TEST(a_word_of_it_ends_a_wait),
        TEST(a_pointer_to_it_tells_who_has_access),
        TEST(the_host_races_with_work_that_it_does_not_know_to_be_complete),
        TEST(a_race_is_found_by_an_alias),
        TEST(a_copy_by_way_of_the_host_races_with_work_of_a_device_that_has_access),
        TEST(a_source_that_changes_before_the_copy_reads_it_is_told),
        TEST(an_unmap_under_work_is_told),
        TEST(what_is_left_is_told_as_memory_of_the_host),
        TEST(a_reset_takes_it_from_the_host),
        TEST(it_counts_as_no_memory_of_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
