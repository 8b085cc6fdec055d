// Rows of the host's memory that the driver knows, and of what it tells of a pointer.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "conformance/rows.h"
#include "conformance/wider.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

static void *pages(size_t size) {
    void *address = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(address != MAP_FAILED);
    return address;
}

static CUresult ask(void *value, CUpointer_attribute attribute, const void *pointer) {
    return test_driver()->cuPointerGetAttribute(value, attribute, (uintptr_t)pointer);
}

void row_pinned_memory_has_the_same_address_on_the_device(void) {
    void *memory = NULL;
    CUdeviceptr address = 0;
    DRIVER(test_driver()->cuMemHostAlloc(&memory, KIB(64), CU_MEMHOSTALLOC_DEVICEMAP));
    DRIVER(wider()->cuMemHostGetDevicePointer_v2(&address, memory, 0));
    REQUIRE_EQUAL(address, (uintptr_t)memory);
}

void row_work_writes_to_pinned_memory_by_its_address(void) {
    void *memory = NULL;
    CUstream stream = test_stream();
    DRIVER(test_driver()->cuMemHostAlloc(&memory, KIB(64), CU_MEMHOSTALLOC_DEVICEMAP));
    memset(memory, 0, KIB(64));
    test_fill(memory, 7, KIB(64), stream);
    test_finish(stream);
    REQUIRE(((unsigned char *)memory)[0] == 7 && ((unsigned char *)memory)[KIB(64) - 1] == 7);
    test_load_kernels();
    test_fill_block(memory, 9, KIB(8), stream);
    test_check_block(memory, 9, KIB(8), stream);
    test_finish(stream);
    REQUIRE_EQUAL(test_wrong_words(), 0);
}

void row_memory_is_registered_once(void) {
    void *memory = pages(KIB(64));
    DRIVER(test_driver()->cuMemHostRegister(memory, KIB(64), 0));
    ANSWERS(test_driver()->cuMemHostRegister(memory, KIB(64), 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    DRIVER(test_driver()->cuMemHostUnregister(memory));
    ANSWERS(test_driver()->cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ANSWERS(test_driver()->cuMemHostRegister(memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemHostRegister(NULL, KIB(64), 0), CUDA_ERROR_INVALID_VALUE);
}

void row_registered_memory_is_read_when_a_copy_runs(void) {
    unsigned char *source = pages(KIB(64));
    struct test_hold hold;
    CUstream stream = test_stream();
    CUdeviceptr to;
    DRIVER(test_driver()->cuMemAlloc(&to, KIB(64)));
    DRIVER(test_driver()->cuMemHostRegister(source, KIB(64), 0));
    memset(source, 1, KIB(64));
    test_hold(&hold, stream);
    DRIVER(test_driver()->cuMemcpyHtoDAsync(to, source, KIB(64), stream));
    memset(source, 2, KIB(64));
    test_let_go(&hold);
    test_finish(stream);
    REQUIRE(test_is_filled((void *)(uintptr_t)to, 2, KIB(64)));
}

void row_flags_of_pinned_memory_are_told(void) {
    void *memory = NULL;
    unsigned int flags = 0;
    DRIVER(test_driver()->cuMemHostAlloc(&memory, KIB(4), CU_MEMHOSTALLOC_WRITECOMBINED));
    DRIVER(wider()->cuMemHostGetFlags(&flags, memory));
    REQUIRE((flags & CU_MEMHOSTALLOC_WRITECOMBINED) != 0);
    ANSWERS(wider()->cuMemHostGetFlags(&flags, &flags), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemHostAlloc(&memory, 0, 0), CUDA_SUCCESS);
    REQUIRE(!memory);
    ANSWERS(test_driver()->cuMemHostAlloc(&memory, KIB(4), 0x100), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemFreeHost(&flags), CUDA_ERROR_INVALID_VALUE);
    test_forgive_complaints();
}

void row_a_pointer_tells_what_memory_it_is_of(void) {
    CUdeviceptr memory = 0;
    void *host = NULL;
    unsigned int type = 0;
    int pageable = 0, ordinal = -1;
    DRIVER(test_driver()->cuMemAlloc(&memory, KIB(64)));
    DRIVER(test_driver()->cuMemHostAlloc(&host, KIB(4), 0));
    DRIVER(ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (void *)(uintptr_t)(memory + 100)));
    REQUIRE_EQUAL(type, CU_MEMORYTYPE_DEVICE);
    DRIVER(ask(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (void *)(uintptr_t)memory));
    REQUIRE(ordinal == 0);
    DRIVER(ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, host));
    REQUIRE_EQUAL(type, CU_MEMORYTYPE_HOST);
    ANSWERS(ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, &pageable), CUDA_ERROR_INVALID_VALUE);
}

void row_several_answers_about_a_pointer_come_at_once(void) {
    CUdeviceptr memory = 0, base = 0;
    size_t size = 0;
    unsigned int type = 99;
    int pageable = 0;
    CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                        CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                                        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *values[] = {&type, &base, &size};
    DRIVER(test_driver()->cuMemAlloc(&memory, KIB(64)));
    DRIVER(test_driver()->cuPointerGetAttributes(3, attributes, values, memory + 512));
    REQUIRE_EQUAL(type, CU_MEMORYTYPE_DEVICE);
    REQUIRE_EQUAL(base, memory);
    REQUIRE_EQUAL(size, KIB(64));
    type = 99;
    DRIVER(test_driver()->cuPointerGetAttributes(1, attributes, values, (uintptr_t)&pageable));
    REQUIRE_EQUAL(type, 0); // what is unknown is told as zeros
}

void row_an_address_in_an_allocation_tells_its_range(void) {
    CUdeviceptr memory = 0, base = 0;
    size_t size = 0;
    DRIVER(test_driver()->cuMemAlloc(&memory, KIB(300)));
    DRIVER(wider()->cuMemGetAddressRange_v2(&base, &size, memory + KIB(100)));
    REQUIRE(base == memory && size == KIB(300));
    DRIVER(wider()->cuMemGetAddressRange_v2(NULL, &size, memory));
    ANSWERS(wider()->cuMemGetAddressRange_v2(&base, &size, (CUdeviceptr)1 << 60),
            CUDA_ERROR_NOT_FOUND);
}

void row_an_allocation_is_as_large_as_was_asked_for(void) {
    CUdeviceptr memory = 0, base = 0;
    size_t size = 0;
    unsigned int type = 0;
    char bytes[1024] = {0};
    DRIVER(test_driver()->cuMemAlloc(&memory, 1000));
    DRIVER(wider()->cuMemGetAddressRange_v2(&base, &size, memory + 999));
    REQUIRE(base == memory && size == 1000);
    ANSWERS(ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (void *)(uintptr_t)(memory + 1000)),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemcpyHtoD(memory, bytes, 1001), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemcpyDtoH(bytes, memory + 999, 2), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemsetD8Async(memory, 0, 1001, NULL), CUDA_ERROR_INVALID_VALUE);
    DRIVER(test_driver()->cuMemcpyHtoD(memory, bytes, 1000));
    test_forgive_complaints();
}

void row_memory_for_rows_has_a_pitch_of_512_bytes(void) {
    CUdeviceptr memory = 0;
    size_t pitch = 0;
    DRIVER(wider()->cuMemAllocPitch_v2(&memory, &pitch, 1000, 10, 4));
    REQUIRE(pitch >= 1000 && pitch % 512 == 0);
    DRIVER(test_driver()->cuMemFree(memory));
    ANSWERS(wider()->cuMemAllocPitch_v2(&memory, &pitch, 0, 10, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemAllocPitch_v2(&memory, &pitch, 1000, 10, 5), CUDA_ERROR_INVALID_VALUE);
}

// ----------------------------------------------------------------------------------- registration

void row_memory_that_overlaps_registered_memory_is_refused(void) {
    char *memory = pages(KIB(256));
    DRIVER(test_driver()->cuMemHostRegister(memory + KIB(64), KIB(64), 0));
    ANSWERS(test_driver()->cuMemHostRegister(memory, KIB(128), 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    ANSWERS(test_driver()->cuMemHostRegister(memory + KIB(80), KIB(16), 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    ANSWERS(test_driver()->cuMemHostRegister(memory + KIB(96), KIB(64), 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    DRIVER(test_driver()->cuMemHostRegister(memory + KIB(128), KIB(64), 0));
    DRIVER(test_driver()->cuMemHostRegister(memory, KIB(64), 0));
}

void row_memory_of_the_driver_is_not_registered(void) {
    void *memory = NULL;
    DRIVER(test_driver()->cuMemHostAlloc(&memory, KIB(64), 0));
    ANSWERS(test_driver()->cuMemHostRegister(memory, KIB(64), 0), CUDA_ERROR_INVALID_VALUE);
}

void row_memory_that_is_none_of_the_hosts_is_not_registered(void) {
    CUdeviceptr memory = 0;
    char *nobodys = pages(KIB(64));
    DRIVER(test_driver()->cuMemAlloc(&memory, KIB(64)));
    ANSWERS(test_driver()->cuMemHostRegister((void *)(uintptr_t)memory, KIB(64), 0),
            CUDA_ERROR_INVALID_VALUE);
    REQUIRE(munmap(nobodys, KIB(64)) == 0);
    ANSWERS(test_driver()->cuMemHostRegister(nobodys, KIB(64), 0), CUDA_ERROR_INVALID_VALUE);
}

void row_memory_that_the_host_only_reads_needs_a_flag_to_be_registered(void) {
    char *memory = pages(KIB(64));
    REQUIRE(mprotect(memory, KIB(64), PROT_READ) == 0);
    ANSWERS(test_driver()->cuMemHostRegister(memory, KIB(64), 0), CUDA_ERROR_INVALID_VALUE);
    DRIVER(test_driver()->cuMemHostRegister(memory, KIB(64), CU_MEMHOSTREGISTER_READ_ONLY));
    DRIVER(test_driver()->cuMemHostUnregister(memory));
}

void row_memory_is_unregistered_by_its_first_address(void) {
    char *memory = pages(KIB(64));
    void *pinned = NULL;
    DRIVER(test_driver()->cuMemHostRegister(memory, KIB(64), 0));
    ANSWERS(test_driver()->cuMemHostUnregister(memory + KIB(4)), CUDA_ERROR_INVALID_VALUE);
    DRIVER(test_driver()->cuMemHostAlloc(&pinned, KIB(64), 0));
    ANSWERS(test_driver()->cuMemHostUnregister(pinned), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuMemHostUnregister(NULL), CUDA_ERROR_INVALID_VALUE);
}

void row_registered_memory_is_not_freed(void) {
    void *memory = pages(KIB(64));
    DRIVER(test_driver()->cuMemHostRegister(memory, KIB(64), 0));
    ANSWERS(test_driver()->cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
    test_forgive_complaints();
}

void row_flags_of_a_registration_that_are_none_are_invalid(void) {
    void *memory = pages(KIB(64));
    ANSWERS(test_driver()->cuMemHostRegister(memory, KIB(64), 0x10), CUDA_ERROR_INVALID_VALUE);
}

void row_registered_memory_tells_flags(void) {
    void *memory = pages(KIB(64));
    unsigned int flags = 0;
    DRIVER(test_driver()->cuMemHostRegister(memory, KIB(64), CU_MEMHOSTREGISTER_PORTABLE));
    DRIVER(wider()->cuMemHostGetFlags(&flags, memory));
}

void row_registered_memory_may_begin_within_a_page(void) {
    char *memory = pages(KIB(64));
    CUdeviceptr address = 0;
    DRIVER(test_driver()->cuMemHostRegister(memory + 100, 1000, 0));
    DRIVER(wider()->cuMemHostGetDevicePointer_v2(&address, memory + 100, 0));
    REQUIRE_EQUAL(address, (uintptr_t)memory + 100);
    DRIVER(test_driver()->cuMemHostUnregister(memory + 100));
}

// ------------------------------------------------------------------------------------- addresses

void row_pageable_memory_has_no_address_on_the_device(void) {
    void *memory = pages(KIB(64));
    CUdeviceptr address = 0;
    ANSWERS(wider()->cuMemHostGetDevicePointer_v2(&address, memory, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemHostGetDevicePointer_v2(&address, NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

void row_an_address_on_the_device_takes_no_flags(void) {
    void *memory = NULL;
    CUdeviceptr address = 0;
    DRIVER(wider()->cuMemAllocHost_v2(&memory, KIB(64)));
    ANSWERS(wider()->cuMemHostGetDevicePointer_v2(&address, memory, 1), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemHostGetDevicePointer_v2(NULL, memory, 0), CUDA_ERROR_INVALID_VALUE);
    DRIVER(wider()->cuMemHostGetDevicePointer_v2(&address, (char *)memory + 100, 0));
    REQUIRE_EQUAL(address, (uintptr_t)memory + 100);
}

void row_pinned_memory_of_no_bytes_is_null(void) {
    int place = 0;
    void *memory = &place;
    ANSWERS(wider()->cuMemAllocHost_v2(&memory, 0), CUDA_SUCCESS);
    REQUIRE(!memory);
    memory = &place;
    ANSWERS(test_driver()->cuMemHostAlloc(&memory, 0, 0), CUDA_SUCCESS);
    REQUIRE(!memory);
    ANSWERS(wider()->cuMemAllocHost_v2(NULL, KIB(4)), CUDA_ERROR_INVALID_VALUE);
}

void row_pinned_memory_that_is_null_may_be_freed(void) {
    ANSWERS(test_driver()->cuMemFreeHost(NULL), CUDA_SUCCESS);
}

void row_pinned_memory_is_freed_by_its_first_address(void) {
    void *memory = NULL;
    DRIVER(test_driver()->cuMemHostAlloc(&memory, KIB(64), 0));
    ANSWERS(test_driver()->cuMemFreeHost((char *)memory + KIB(4)), CUDA_ERROR_INVALID_VALUE);
    DRIVER(test_driver()->cuMemFreeHost(memory));
    ANSWERS(test_driver()->cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
    test_forgive_complaints();
}

// ------------------------------------------------------------------------------ what is told of it

void row_device_memory_tells_where_it_is(void) {
    CUdeviceptr memory = 0, told = 0;
    CUcontext current = NULL, context = NULL;
    void *host = NULL;
    DRIVER(test_driver()->cuMemAlloc(&memory, KIB(64)));
    const void *inside = (void *)(uintptr_t)(memory + 100);
    DRIVER(test_driver()->cuCtxGetCurrent(&current));
    DRIVER(ask(&context, CU_POINTER_ATTRIBUTE_CONTEXT, inside));
    REQUIRE(context == current);
    DRIVER(ask(&told, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside));
    REQUIRE_EQUAL(told, memory + 100);
    ANSWERS(ask(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, inside), CUDA_ERROR_INVALID_VALUE);
}

void row_device_memory_tells_what_it_is(void) {
    CUdeviceptr memory = 0;
    bool is_managed = true, is_mapped = false, is_synchronous = true;
    unsigned int access = 0;
    uint64_t types = 9;
    CUmemoryPool pool = NULL;
    DRIVER(test_driver()->cuMemAlloc(&memory, KIB(64)));
    const void *address = (void *)(uintptr_t)memory;
    DRIVER(ask(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, address));
    DRIVER(ask(&is_mapped, CU_POINTER_ATTRIBUTE_MAPPED, address));
    DRIVER(ask(&is_synchronous, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    REQUIRE(!is_managed && is_mapped && !is_synchronous);
    DRIVER(ask(&access, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address));
    REQUIRE_EQUAL(access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    DRIVER(ask(&types, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, address));
    REQUIRE_EQUAL(types, 0);
    DRIVER(ask(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    REQUIRE(!pool);
}

void row_device_memory_tells_its_range_and_mapping(void) {
    CUdeviceptr memory = 0, base = 0;
    size_t size = 0;
    DRIVER(test_driver()->cuMemAlloc(&memory, MIB(4)));
    const void *inside = (void *)(uintptr_t)(memory + 100);
    DRIVER(ask(&base, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside));
    DRIVER(ask(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside));
    REQUIRE(base == memory && size == MIB(4));
    DRIVER(ask(&base, CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, inside));
    DRIVER(ask(&size, CU_POINTER_ATTRIBUTE_MAPPING_SIZE, inside));
    REQUIRE(base == memory && size == MIB(4));
}

void row_each_allocation_has_an_id_of_its_own(void) {
    CUdeviceptr first = 0, second = 0;
    unsigned long long id = 0, same = 0, other = 0;
    DRIVER(test_driver()->cuMemAlloc(&first, KIB(64)));
    DRIVER(test_driver()->cuMemAlloc(&second, KIB(64)));
    DRIVER(ask(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (void *)(uintptr_t)first));
    DRIVER(ask(&same, CU_POINTER_ATTRIBUTE_BUFFER_ID, (void *)(uintptr_t)(first + 100)));
    DRIVER(ask(&other, CU_POINTER_ATTRIBUTE_BUFFER_ID, (void *)(uintptr_t)second));
    REQUIRE(id == same && id != other);
}

void row_pinned_memory_tells_both_its_addresses(void) {
    char *memory = NULL;
    void *host = NULL;
    CUdeviceptr on_device = 0;
    int ordinal = -1;
    bool is_mapped = false;
    DRIVER(test_driver()->cuMemHostAlloc((void **)(void *)&memory, KIB(64), 0));
    DRIVER(ask(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory + 100));
    DRIVER(ask(&on_device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory + 100));
    REQUIRE(host == memory + 100 && on_device == (uintptr_t)memory + 100);
    DRIVER(ask(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, memory));
    IS_TOLD(ordinal, 0);
    DRIVER(ask(&is_mapped, CU_POINTER_ATTRIBUTE_MAPPED, memory));
    REQUIRE(is_mapped);
}

void row_registered_memory_is_told_as_memory_of_the_host(void) {
    char *memory = pages(KIB(64));
    unsigned int type = 0;
    void *host = NULL;
    DRIVER(test_driver()->cuMemHostRegister(memory, KIB(64), 0));
    DRIVER(ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 100));
    REQUIRE_EQUAL(type, CU_MEMORYTYPE_HOST);
    DRIVER(ask(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, memory + 100));
    REQUIRE(host == memory + 100);
    DRIVER(test_driver()->cuMemHostUnregister(memory));
    ANSWERS(ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory), CUDA_ERROR_INVALID_VALUE);
}

void row_what_a_pointer_does_not_tell_is_refused(void) {
    CUdeviceptr memory = 0;
    uint64_t value[8] = {0};
    CUpointer_attribute unknown = (CUpointer_attribute)99;
    void *values[] = {value};
    DRIVER(test_driver()->cuMemAlloc(&memory, KIB(64)));
    const void *address = (void *)(uintptr_t)memory;
    ANSWERS(ask(value, unknown, address), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(ask(NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(ask(value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuPointerGetAttributes(1, &unknown, values, memory),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuPointerGetAttributes(0, &unknown, values, memory),
            CUDA_ERROR_INVALID_VALUE);
}
