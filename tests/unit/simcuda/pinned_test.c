// Host memory that devices reach, and what the driver tells of an address.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "simcuda/entry/attributes.h"
#include "unit/simcuda/fixture.h"

#define SIZE ((size_t)4096)

static CUdeviceptr at(const void *memory) {
    return (uintptr_t)memory;
}

static CUdeviceptr device_address(void *memory) {
    CUdeviceptr address;
    OK(cuMemHostGetDevicePointer_v2(&address, memory, 0));
    return address;
}

// ------------------------------------------------------------------------------------- allocations

static void kernels_read_and_write_pinned_memory(void **state) {
    (void)state;
    void *memory;
    CUdeviceptr errors;
    OK(cuMemHostAlloc(&memory, SIZE, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemAlloc_v2(&errors, 8));
    fill(NULL, device_address(memory), SIZE, 17);
    OK(cuCtxSynchronize());
    assert_int_equal(((const uint32_t *)memory)[5], 22);
    ((uint32_t *)memory)[5] = 22;
    OK(cuMemsetD32_v2(errors, 0, 2));
    check(NULL, device_address((char *)memory + 64), SIZE - 64, 17 + 16, errors);
    OK(cuCtxSynchronize());
    assert_int_equal(word_at(errors), 0);
}

static void pinned_memory_begins_at_a_page(void **state) {
    (void)state;
    void *memory[2];
    OK(cuMemAllocHost_v2(&memory[0], 1));
    OK(cuMemHostAlloc(&memory[1], 1, CU_MEMHOSTALLOC_WRITECOMBINED));
    assert_int_equal(at(memory[0]) % 4096, 0);
    assert_int_equal(at(memory[1]) % 4096, 0);
    FAILS(cuMemAllocHost_v2(NULL, 1), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemAllocHost_v2(&memory[0], 0));
    assert_null(memory[0]);
    FAILS(cuMemAllocHost_v2(&memory[0], SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
}

// Under a limit of address space, as the host would else have to be short of memory.
static void a_host_that_has_no_more_memory_refuses_an_allocation(void **state) {
    (void)state;
#ifdef WITH_SANITIZER
    skip(); // it ends a process for which it has no memory
#endif
    struct rlimit limit;
    void *memory = NULL;
    OK(cuMemHostAlloc(&memory, SIZE, 0));
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    const struct rlimit low = {(rlim_t)1 << 40, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &low), 0);
    CUresult result = cuMemHostAlloc(&memory, (size_t)1 << 41, 0);
    CUresult other = cuMemAllocHost_v2(&memory, (size_t)1 << 41);
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
    assert_int_equal(result, CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(other, CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemFreeHost(memory));
}

// In pages of the host.
static long resident(void) {
    long all = 0, pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld %ld", &all, &pages), 2);
    fclose(file);
    return pages;
}

static void memory_that_is_freed_goes_back_to_the_host(void **state) {
    enum { PIECES = 100, PIECE = 1 << 20 };
    (void)state;
#ifdef WITH_SANITIZER
    skip(); // it has pages of its own for each byte
#endif
    void *memory;
    long before = resident();
    for (size_t i = 0; i < PIECES; i++) {
        OK(cuMemHostAlloc(&memory, PIECE + i, 0));
        memset(memory, 1, PIECE);
        OK(cuMemFreeHost(memory));
    }
    assert_true(resident() - before < PIECES * PIECE / sysconf(_SC_PAGESIZE) / 4);
}

static void the_flags_of_an_allocation_are_told(void **state) {
    (void)state;
    void *memory;
    unsigned flags = 99;
    char local;
    for (unsigned given = 0; given < 8; given++) {
        OK(cuMemHostAlloc(&memory, SIZE, given));
        OK(cuMemHostGetFlags(&flags, (char *)memory + 100));
        assert_int_equal(flags, given);
    }
    FAILS(cuMemHostAlloc(&memory, SIZE, 8), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostGetFlags(NULL, memory), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostGetFlags(&flags, &local), CUDA_ERROR_INVALID_VALUE);
}

static void many_allocations_are_each_found(void **state) {
    (void)state;
    void *memory[200];
    unsigned flags;
    for (unsigned i = 0; i < 200; i++)
        OK(cuMemHostAlloc(&memory[i], 1 + i, i % 8));
    for (unsigned i = 0; i < 200; i += 2)
        OK(cuMemFreeHost(memory[i]));
    for (unsigned i = 0; i < 200; i++) {
        CUresult expected = i % 2 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
        FAILS(cuMemHostGetFlags(&flags, (char *)memory[i] + i), expected);
        if (i % 2)
            assert_int_equal(flags, i % 8);
    }
    FAILS(cuMemHostGetFlags(&flags, (char *)memory[1] + 2), CUDA_ERROR_INVALID_VALUE);
}

static void the_address_for_the_device_is_the_hosts(void **state) {
    (void)state;
    void *memory;
    char local;
    CUdeviceptr address;
    OK(cuMemHostAlloc(&memory, SIZE, 0));
    assert_int_equal(device_address((char *)memory + 7), at(memory) + 7);
    FAILS(cuMemHostGetDevicePointer_v2(&address, &local, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostGetDevicePointer_v2(&address, memory, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostGetDevicePointer_v2(NULL, memory, 0), CUDA_ERROR_INVALID_VALUE);
}

// ------------------------------------------------------------------------------------ registration

static void memory_is_registered_once(void **state) {
    (void)state;
    static char memory[3 * SIZE];
    OK(cuMemHostRegister_v2(memory + SIZE, SIZE, CU_MEMHOSTREGISTER_PORTABLE));
    FAILS(cuMemHostRegister_v2(memory + SIZE, SIZE, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    FAILS(cuMemHostRegister_v2(memory, SIZE + 1, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    FAILS(cuMemHostRegister(memory + 2 * SIZE - 1, SIZE, 0),
          CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    OK(cuMemHostRegister_v2(memory, SIZE, CU_MEMHOSTREGISTER_DEVICEMAP));
    OK(cuMemHostRegister(memory + 2 * SIZE, SIZE, 0));
    for (size_t i = 0; i < 3; i++)
        OK(cuMemHostUnregister(memory + i * SIZE));
    OK(cuMemHostRegister_v2(memory, 3 * SIZE, 0));
    OK(cuMemHostUnregister(memory));
}

static void the_flags_of_a_registration_are_told(void **state) {
    (void)state;
    static char memory[SIZE];
    unsigned flags = 0;
    OK(cuMemHostRegister_v2(memory, SIZE, CU_MEMHOSTREGISTER_PORTABLE));
    OK(cuMemHostGetFlags(&flags, memory + 1));
    assert_int_equal(flags, CU_MEMHOSTREGISTER_PORTABLE);
    OK(cuMemHostUnregister(memory));
    FAILS(cuMemHostGetFlags(&flags, memory), CUDA_ERROR_INVALID_VALUE);
}

static void freeing_nothing_is_no_mistake(void **state) {
    (void)state;
    OK(cuMemFreeHost(NULL));
    OK(cuCtxSetCurrent(NULL));
    FAILS(cuMemFreeHost(NULL), CUDA_ERROR_INVALID_CONTEXT);
}

static void misuse_of_registration_is_refused(void **state) {
    (void)state;
    static char memory[SIZE];
    void *allocated;
    OK(cuMemHostAlloc(&allocated, SIZE, 0));
    FAILS(cuMemHostRegister_v2(NULL, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostRegister_v2(memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostRegister_v2(memory, SIZE_MAX, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostRegister_v2(memory, SIZE, 16), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostRegister_v2(memory, SIZE, CU_MEMHOSTREGISTER_IOMEMORY),
          CUDA_ERROR_NOT_SUPPORTED);
    FAILS(cuMemHostRegister_v2(allocated, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    FAILS(cuMemHostUnregister(allocated), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostUnregister(NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostRegister_v2(memory, SIZE, 0));
    FAILS(cuMemHostUnregister(memory + 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
    expect_report("bad-free");
    OK(cuMemHostUnregister(memory));
}

static void what_is_no_memory_of_the_host_is_not_registered(void **state) {
    (void)state;
    char *memory = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CUdeviceptr device;
    assert_true(memory != MAP_FAILED);
    OK(cuMemAlloc_v2(&device, SIZE));
    FAILS(cuMemHostRegister_v2((void *)(uintptr_t)device, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostRegister_v2((void *)16, SIZE, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostRegister_v2(memory + SIZE - 1, 2, 0));
    OK(cuMemHostUnregister(memory + SIZE - 1));
    munmap(memory + SIZE, SIZE);
    FAILS(cuMemHostRegister_v2(memory, SIZE + 1, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemHostRegister(memory + SIZE - 1, 2, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostRegister_v2(memory + 8, SIZE - 8, 0));
    OK(cuMemHostUnregister(memory + 8));
    munmap(memory, SIZE);
    OK(cuMemFree_v2(device));
}

static void a_device_says_that_it_registers_memory_to_be_read(void **state) {
    (void)state;
    static char memory[SIZE];
    int can = 0;
    OK(cuDeviceGetAttribute(
        &can, (CUdevice_attribute)SIM_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 0));
    assert_int_equal(can, 1);
    OK(cuMemHostRegister_v2(memory, SIZE, CU_MEMHOSTREGISTER_READ_ONLY));
    OK(cuMemHostUnregister(memory));
}

static void a_device_may_not_write_what_was_registered_to_be_read(void **state) {
    (void)state;
    static uint32_t memory[SIZE / 4];
    OK(cuMemHostRegister_v2(memory, SIZE, CU_MEMHOSTREGISTER_READ_ONLY));
    touch(NULL, "reader", device_address(memory), SIZE, simcudaAccessRead);
    OK(cuCtxSynchronize());
    touch(NULL, "writer", device_address(memory), SIZE, simcudaAccessWrite);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("no-access");
}

static void a_kernel_faults_on_host_memory_that_is_not_pinned(void **state) {
    (void)state;
    static char memory[SIZE];
    OK(cuMemHostRegister_v2(memory, SIZE, 0));
    touch(NULL, "inside", at(memory), SIZE, simcudaAccessWrite);
    OK(cuCtxSynchronize());
    OK(cuMemHostUnregister(memory));
    touch(NULL, "outside", at(memory), SIZE, simcudaAccessWrite);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("fault");
}

static void registered_memory_counts_and_leaks(void **state) {
    (void)state;
    static char memory[SIZE];
    simcudaLive live;
    OK(cuMemHostRegister_v2(memory, SIZE, 0));
    simcudaGetLive(&live);
    assert_int_equal(live.registered, 1);
    assert_int_equal(live.pinned, 0);
    assert_int_equal(simcudaLeakCheck(), 1);
    expect_report("leak");
    OK(cuMemHostUnregister(memory));
    assert_int_equal(simcudaLeakCheck(), 0);
}

static void registration_ends_with_its_context(void **state) {
    (void)state;
    static char memory[SIZE];
    CUcontext context;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemHostRegister_v2(memory, SIZE, 0));
    OK(cuCtxDestroy_v2(context));
    FAILS(cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

// ------------------------------------------------------------------------------ what an address is

static uint64_t attribute_of(CUpointer_attribute attribute, CUdeviceptr address) {
    uint64_t value = 0;
    OK(cuPointerGetAttribute(&value, attribute, address));
    return value;
}

static CUresult refusal_of(CUpointer_attribute attribute, CUdeviceptr address) {
    uint64_t value;
    return cuPointerGetAttribute(&value, attribute, address);
}

static void an_allocations_address_tells_what_it_is(void **state) {
    (void)state;
    CUdeviceptr address, inside;
    OK(cuMemAlloc_v2(&address, SIZE));
    inside = address + 100;
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_CONTEXT, inside), at(current_context()));
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside), CU_MEMORYTYPE_DEVICE);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside), inside);
    FAILS(refusal_of(CU_POINTER_ATTRIBUTE_HOST_POINTER, inside), CUDA_ERROR_INVALID_VALUE);
    FAILS(refusal_of(CU_POINTER_ATTRIBUTE_P2P_TOKENS, inside), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(refusal_of(77, inside), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside), 0);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_IS_MANAGED, inside), 0);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_MAPPED, inside), 1);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, inside), 1);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside), address);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside), SIZE);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, inside), 3);
    FAILS(refusal_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + SIZE), CUDA_ERROR_INVALID_VALUE);
}

static void mapped_memory_tells_its_range_and_its_mapping(void **state) {
    (void)state;
    CUdeviceptr range = reserve(4 * GRANULE), address = range + GRANULE;
    CUmemGenericAllocationHandle handle = create_extent(GRANULE);
    OK(cuMemMap(address, GRANULE, 0, handle, 0));
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address), 0);
    allow(address, GRANULE);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address), 3);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 1), range);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_RANGE_SIZE, address + 1), 4 * GRANULE);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, address + 1), address);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, address + 1), GRANULE);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_CONTEXT, address), 0);
    assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address), 0);
    FAILS(refusal_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, range), CUDA_ERROR_INVALID_VALUE);
}

static void pinned_and_registered_memory_is_the_hosts(void **state) {
    (void)state;
    static char registered[SIZE];
    void *allocated;
    OK(cuMemHostAlloc(&allocated, SIZE, 0));
    OK(cuMemHostRegister_v2(registered, SIZE, 0));
    const CUdeviceptr addresses[] = {at(allocated), at(registered)};
    for (size_t i = 0; i < 2; i++) {
        CUdeviceptr address = addresses[i] + 8;
        assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address),
                         CU_MEMORYTYPE_HOST);
        assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_HOST_POINTER, address), address);
        assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address), address);
        assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address),
                         addresses[i]);
        assert_int_equal(attribute_of(CU_POINTER_ATTRIBUTE_CONTEXT, address),
                         at(current_context()));
    }
    OK(cuMemHostUnregister(registered));
    FAILS(refusal_of(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at(registered)), CUDA_ERROR_INVALID_VALUE);
}

static void every_memory_has_a_number_of_its_own(void **state) {
    (void)state;
    void *pinned;
    CUdeviceptr first, second;
    uint64_t numbers[4];
    OK(cuMemHostAlloc(&pinned, 64, 0));
    OK(cuMemAlloc_v2(&first, 64));
    OK(cuMemAlloc_v2(&second, 64));
    numbers[0] = attribute_of(CU_POINTER_ATTRIBUTE_BUFFER_ID, at(pinned));
    numbers[1] = attribute_of(CU_POINTER_ATTRIBUTE_BUFFER_ID, first);
    numbers[2] = attribute_of(CU_POINTER_ATTRIBUTE_BUFFER_ID, second);
    OK(cuMemFree_v2(second));
    OK(cuMemAlloc_v2(&first, 64));
    assert_int_equal(first, second);
    numbers[3] = attribute_of(CU_POINTER_ATTRIBUTE_BUFFER_ID, first);
    for (size_t i = 0; i < 4; i++) {
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(numbers[i], numbers[j]);
    }
}

static void several_attributes_at_once_need_no_memory_there(void **state) {
    (void)state;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_CONTEXT};
    unsigned type = 9;
    int ordinal = 9;
    void *host = &type;
    CUcontext context = (CUcontext)1;
    void *values[] = {&type, &ordinal, &host, &context};
    CUdeviceptr address;
    OK(cuPointerGetAttributes(4, attributes, values, at(&type)));
    assert_int_equal(type, 0);
    assert_int_equal(ordinal, CU_DEVICE_INVALID);
    assert_null(host);
    assert_null(context);
    OK(cuMemAlloc_v2(&address, SIZE));
    host = &type;
    OK(cuPointerGetAttributes(4, attributes, values, address));
    assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
    assert_int_equal(ordinal, 0);
    assert_null(host);
    assert_ptr_equal(context, current_context());
    FAILS(cuPointerGetAttributes(0, attributes, values, address), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuPointerGetAttributes(4, NULL, values, address), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuPointerGetAttributes(4, attributes, NULL, address), CUDA_ERROR_INVALID_VALUE);
    values[3] = NULL;
    FAILS(cuPointerGetAttributes(4, attributes, values, address), CUDA_ERROR_INVALID_VALUE);
    attributes[0] = 77;
    FAILS(cuPointerGetAttributes(1, attributes, values, address), CUDA_ERROR_INVALID_VALUE);
}

static void no_more_bytes_are_written_than_a_value_has(void **state) {
    (void)state;
    CUdeviceptr address;
    OK(cuMemAlloc_v2(&address, SIZE));
    unsigned char bytes[8];
    memset(bytes, 0xEE, sizeof bytes);
    OK(cuPointerGetAttribute(bytes, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    assert_int_equal(bytes[4], 0xEE);
    memset(bytes, 0xEE, sizeof bytes);
    OK(cuPointerGetAttribute(bytes, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    assert_int_equal(bytes[1], 0xEE);
}

static void the_range_of_an_address_is_that_of_its_memory(void **state) {
    (void)state;
    CUdeviceptr address, base = 0;
    size_t size = 0;
    void *pinned;
    char local;
    OK(cuMemAlloc_v2(&address, SIZE));
    OK(cuMemGetAddressRange_v2(&base, &size, address + SIZE - 1));
    assert_int_equal(base, address);
    assert_int_equal(size, SIZE);
    OK(cuMemHostAlloc(&pinned, 100, 0));
    OK(cuMemGetAddressRange_v2(&base, NULL, at(pinned) + 99));
    assert_int_equal(base, at(pinned));
    OK(cuMemGetAddressRange_v2(NULL, &size, at(pinned)));
    assert_int_equal(size, 100);
    FAILS(cuMemGetAddressRange_v2(&base, &size, at(&local)), CUDA_ERROR_NOT_FOUND);
}

static void memory_for_rows_has_a_pitch(void **state) {
    (void)state;
    CUdeviceptr address;
    size_t pitch, size;
    OK(cuMemAllocPitch_v2(&address, &pitch, 513, 3, 4));
    assert_int_equal(pitch, 1024);
    OK(cuMemGetAddressRange_v2(NULL, &size, address));
    assert_int_equal(size, 3 * 1024);
    OK(cuMemFree_v2(address));
    FAILS(cuMemAllocPitch_v2(&address, &pitch, 0, 3, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocPitch_v2(&address, &pitch, 1, 0, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocPitch_v2(&address, &pitch, 1, 1, 5), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocPitch_v2(NULL, &pitch, 1, 1, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocPitch_v2(&address, NULL, 1, 1, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemAllocPitch_v2(&address, &pitch, SIZE_MAX, 1, 4), CUDA_ERROR_OUT_OF_MEMORY);
    FAILS(cuMemAllocPitch_v2(&address, &pitch, 512, SIZE_MAX / 2, 4), CUDA_ERROR_OUT_OF_MEMORY);
}

#define PINNED_TEST(function) cmocka_unit_test_setup_teardown(function, begin, end_without_reports)

int main(void) {
    const struct CMUnitTest tests[] = {
        PINNED_TEST(kernels_read_and_write_pinned_memory),
        PINNED_TEST(pinned_memory_begins_at_a_page),
        PINNED_TEST(a_host_that_has_no_more_memory_refuses_an_allocation),
        PINNED_TEST(memory_that_is_freed_goes_back_to_the_host),
        PINNED_TEST(the_flags_of_an_allocation_are_told),
        PINNED_TEST(many_allocations_are_each_found),
        PINNED_TEST(the_address_for_the_device_is_the_hosts),
        PINNED_TEST(memory_is_registered_once),
        PINNED_TEST(misuse_of_registration_is_refused),
        PINNED_TEST(what_is_no_memory_of_the_host_is_not_registered),
        PINNED_TEST(a_device_says_that_it_registers_memory_to_be_read),
        PINNED_TEST(the_flags_of_a_registration_are_told),
        PINNED_TEST(freeing_nothing_is_no_mistake),
        PINNED_TEST(a_device_may_not_write_what_was_registered_to_be_read),
        PINNED_TEST(a_kernel_faults_on_host_memory_that_is_not_pinned),
        PINNED_TEST(registered_memory_counts_and_leaks),
        PINNED_TEST(registration_ends_with_its_context),
        PINNED_TEST(an_allocations_address_tells_what_it_is),
        PINNED_TEST(mapped_memory_tells_its_range_and_its_mapping),
        PINNED_TEST(pinned_and_registered_memory_is_the_hosts),
        PINNED_TEST(every_memory_has_a_number_of_its_own),
        PINNED_TEST(several_attributes_at_once_need_no_memory_there),
        PINNED_TEST(no_more_bytes_are_written_than_a_value_has),
        PINNED_TEST(the_range_of_an_address_is_that_of_its_memory),
        PINNED_TEST(memory_for_rows_has_a_pitch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
