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
    DRIVER(wider()->cuMemHostRegister_v2(memory, KIB(64), 0));
    ANSWERS(wider()->cuMemHostRegister_v2(memory, KIB(64), 0),
            CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    DRIVER(wider()->cuMemHostUnregister(memory));
    ANSWERS(wider()->cuMemHostUnregister(memory), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    ANSWERS(wider()->cuMemHostRegister_v2(memory, 0, 0), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemHostRegister_v2(NULL, KIB(64), 0), CUDA_ERROR_INVALID_VALUE);
}

void row_registered_memory_is_read_when_a_copy_runs(void) {
    unsigned char *source = pages(KIB(64));
    struct test_hold hold;
    CUstream stream = test_stream();
    CUdeviceptr to;
    DRIVER(test_driver()->cuMemAlloc(&to, KIB(64)));
    DRIVER(wider()->cuMemHostRegister_v2(source, KIB(64), 0));
    memset(source, 1, KIB(64));
    test_hold(&hold, stream);
    DRIVER(wider()->cuMemcpyHtoDAsync_v2(to, source, KIB(64), stream));
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
    DRIVER(wider()->cuPointerGetAttributes(3, attributes, values, memory + 512));
    REQUIRE_EQUAL(type, CU_MEMORYTYPE_DEVICE);
    REQUIRE_EQUAL(base, memory);
    REQUIRE_EQUAL(size, KIB(64));
    type = 99;
    DRIVER(wider()->cuPointerGetAttributes(1, attributes, values, (uintptr_t)&pageable));
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

void row_memory_for_rows_has_a_pitch_of_512_bytes(void) {
    CUdeviceptr memory = 0;
    size_t pitch = 0;
    DRIVER(wider()->cuMemAllocPitch_v2(&memory, &pitch, 1000, 10, 4));
    REQUIRE(pitch >= 1000 && pitch % 512 == 0);
    DRIVER(test_driver()->cuMemFree(memory));
    ANSWERS(wider()->cuMemAllocPitch_v2(&memory, &pitch, 0, 10, 4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuMemAllocPitch_v2(&memory, &pitch, 1000, 10, 5), CUDA_ERROR_INVALID_VALUE);
}
