// Translation, aliases, what the device has left, and each misuse of the virtual memory calls by
// its name.
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/simcuda/fixture.h"

// ------------------------------------------------------------------------------------------- bytes

static void bytes_written_through_one_address_are_read_through_its_alias(void **state) {
    struct memory memory = map_memory(2 * GRANULE);
    CUdeviceptr alias = reserve(2 * GRANULE);
    (void)state;
    OK(cuMemMap(alias, 2 * GRANULE, 0, memory.handle, 0));
    allow(alias, 2 * GRANULE);
    fill(NULL, memory.address, 2 * GRANULE, 100);
    OK(cuCtxSynchronize());
    assert_int_equal(word_at(alias), 100);
    assert_int_equal(word_at(alias + GRANULE), 100 + GRANULE / 4);
    assert_int_equal(word_at(alias + 2 * GRANULE - 4), 100 + 2 * GRANULE / 4 - 1);
    OK(cuMemUnmap(alias, 2 * GRANULE));
    OK(cuMemAddressFree(alias, 2 * GRANULE));
    assert_int_equal(word_at(memory.address), 100);
    unmap_memory(memory);
}

static void a_view_of_many_extents_is_contiguous(void **state) {
    enum { EXTENTS = 4 };
    CUdeviceptr address = reserve(EXTENTS * GRANULE);
    CUdeviceptr errors;
    CUmemGenericAllocationHandle handles[EXTENTS];
    (void)state;
    OK(cuMemAlloc_v2(&errors, 8));
    for (int i = EXTENTS - 1; i >= 0; i--) {
        handles[i] = create_extent(GRANULE);
        OK(cuMemMap(address + (unsigned)i * GRANULE, GRANULE, 0, handles[i], 0));
    }
    allow(address, EXTENTS * GRANULE);
    fill(NULL, address + 8, EXTENTS * GRANULE - 16, 1);
    check(NULL, address + 8, EXTENTS * GRANULE - 16, 1, errors);
    OK(cuCtxSynchronize());
    assert_int_equal(word_at(errors), 0);
    OK(cuMemUnmap(address, EXTENTS * GRANULE));
    for (int i = 0; i < EXTENTS; i++)
        OK(cuMemRelease(handles[i]));
    OK(cuMemAddressFree(address, EXTENTS * GRANULE));
    OK(cuMemFree_v2(errors));
}

static void set_address_space(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_AS, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &limit), 0);
}

// Under a limit bytes are written in the file, without it through a window on it.
static void bytes_stay_that_were_written_under_a_limit_of_address_space(void **state) {
    struct memory first = map_memory(GRANULE), second = map_memory(GRANULE);
    const uint32_t word = 7;
    (void)state;
    set_address_space((rlim_t)1 << 62);
    OK(simcudaPoke(second.address, &word, sizeof(word)));
    set_address_space(RLIM_INFINITY);
    OK(simcudaPoke(first.address, &word, sizeof(word)));
    assert_int_equal(word_at(second.address), 7);
    unmap_memory(first);
    unmap_memory(second);
}

static void set_size_of_files(rlim_t bytes) {
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

// The device's bytes lie in a file, and the kernel would end the process by SIGXFSZ.
static void bytes_beyond_a_limit_of_files_are_not_written(void **state) {
    struct memory memory = map_memory(GRANULE);
    const uint32_t word = 7;
    (void)state;
    set_size_of_files(2048);
    assert_int_equal(simcudaPoke(memory.address + 4096, &word, sizeof(word)),
                     CUDA_ERROR_INVALID_VALUE);
    set_address_space((rlim_t)1 << 62); // without a window on the file
    assert_int_equal(simcudaPoke(memory.address + 4096, &word, sizeof(word)),
                     CUDA_ERROR_INVALID_VALUE);
    set_address_space(RLIM_INFINITY);
    set_size_of_files(RLIM_INFINITY);
    assert_int_equal(word_at(memory.address + 4096), 0);
    OK(simcudaPoke(memory.address + 4096, &word, sizeof(word)));
    assert_int_equal(word_at(memory.address + 4096), 7);
    unmap_memory(memory);
}

static void memory_goes_with_the_last_mapping_not_with_the_handle(void **state) {
    struct memory memory = map_memory(GRANULE);
    (void)state;
    fill(NULL, memory.address, 64, 5);
    OK(cuCtxSynchronize());
    OK(cuMemRelease(memory.handle));
    assert_int_equal(simcudaMemoryInUse(0), GRANULE);
    assert_int_equal(word_at(memory.address), 5);
    OK(cuMemUnmap(memory.address, GRANULE));
    assert_int_equal(simcudaMemoryInUse(0), 0);
    OK(cuMemAddressFree(memory.address, GRANULE));
}

static void new_memory_does_not_show_what_was_in_released_memory(void **state) {
    struct memory memory = map_memory(GRANULE);
    (void)state;
    fill(NULL, memory.address, GRANULE, 5);
    OK(cuCtxSynchronize());
    unmap_memory(memory);
    memory = map_memory(GRANULE);
    assert_int_equal(word_at(memory.address), 0);
    unmap_memory(memory);
}

static void the_check_kernel_counts_wrong_words(void **state) {
    struct memory memory = map_memory(GRANULE);
    CUdeviceptr errors;
    const uint32_t wrong = 0;
    (void)state;
    OK(cuMemAlloc_v2(&errors, 8));
    fill(NULL, memory.address, 4096, 9);
    check(NULL, memory.address + 400, 1000, 9 + 100, errors);
    OK(cuCtxSynchronize());
    assert_int_equal(word_at(errors), 0);
    expect_no_report();
    OK(simcudaPoke(memory.address + 8, &wrong, 4));
    OK(simcudaPoke(memory.address + 12, &wrong, 4));
    check(NULL, memory.address, 4096, 9, errors);
    OK(cuCtxSynchronize());
    assert_int_equal(word_at(errors), 2);
    expect_report("check-failed");
}

static void copies_and_memsets_move_bytes(void **state) {
    const char text[] = "one line of bytes";
    char copy[sizeof(text)];
    CUdeviceptr address;
    (void)state;
    OK(cuMemAlloc_v2(&address, 3 * GRANULE));
    OK(cuMemcpyHtoD_v2(address + GRANULE - 5, text, sizeof(text)));
    OK(cuMemcpyDtoH_v2(copy, address + GRANULE - 5, sizeof(text)));
    assert_string_equal(copy, text);
    OK(cuMemsetD8Async(address + GRANULE, 'x', 4, NULL));
    OK(cuMemcpyDtoH_v2(copy, address + GRANULE - 5, sizeof(text)));
    assert_memory_equal(copy, "one lxxxxof bytes", sizeof(text));
    OK(cuMemFree_v2(address));
}

static void the_host_faults_when_it_touches_a_device_address(void **state) {
    struct memory memory = map_memory(GRANULE);
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *(volatile char *)(uintptr_t)memory.address = 1;
        _exit(0);
    }
    assert_true(waitpid(child, &status, 0) == child);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0);
    unmap_memory(memory);
}

// ------------------------------------------------------------------------------------ what is left

static void a_device_has_no_more_than_its_memory(void **state) {
    size_t free_bytes, total;
    CUmemGenericAllocationHandle handle;
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    (void)state;
    become("memory=141G");
    CUmemGenericAllocationHandle most = create_extent((uint64_t)140 << 30);
    CUmemGenericAllocationHandle rest = create_extent((uint64_t)1 << 30);
    FAILS(cuMemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemGetInfo_v2(&free_bytes, &total));
    assert_int_equal(free_bytes, 0);
    assert_true(total == (size_t)141 << 30);
    OK(cuMemRelease(most));
    assert_true(simcudaMemoryInUse(0) == (uint64_t)1 << 30);
    assert_true(simcudaMemoryPeak(0) == (uint64_t)141 << 30);
    simcudaMemoryPeakReset();
    assert_true(simcudaMemoryPeak(0) == (uint64_t)1 << 30);
    OK(cuMemRelease(rest));
    FAILS(cuMemCreate(&handle, (uint64_t)1 << 50, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

static void address_space_ends_where_it_is_configured(void **state) {
    CUdeviceptr first, second;
    (void)state;
    become("address_space=8M");
    OK(cuMemAddressReserve(&first, 3 * GRANULE, 0, 0, 0));
    FAILS(cuMemAddressReserve(&second, 2 * GRANULE, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemAddressReserve(&second, GRANULE, 0, 0, 0));
    OK(cuMemAddressFree(first, 3 * GRANULE));
    OK(cuMemAddressReserve(&first, 2 * GRANULE, 0, 0, 0));
    FAILS(cuMemAddressReserve(&second, (uint64_t)1 << 62, 0, 0, 0), CUDA_ERROR_OUT_OF_MEMORY);
}

static void the_number_of_mappings_is_limited(void **state) {
    CUdeviceptr address = 0;
    (void)state;
    become("mappings=2");
    CUmemGenericAllocationHandle handle = create_extent(GRANULE);
    address = reserve(3 * GRANULE);
    OK(cuMemMap(address, GRANULE, 0, handle, 0));
    OK(cuMemMap(address + GRANULE, GRANULE, 0, handle, 0));
    FAILS(cuMemMap(address + 2 * GRANULE, GRANULE, 0, handle, 0), CUDA_ERROR_OUT_OF_MEMORY);
    OK(cuMemUnmap(address, GRANULE));
    OK(cuMemMap(address + 2 * GRANULE, GRANULE, 0, handle, 0));
}

static void addresses_are_aligned_as_asked_and_granules_as_configured(void **state) {
    CUdeviceptr address;
    size_t granule;
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    (void)state;
    become("granule=64K");
    OK(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    assert_int_equal(granule, 65536);
    OK(cuMemAddressReserve(&address, 65536, (uint64_t)1 << 30, 0, 0));
    assert_true(address % ((uint64_t)1 << 30) == 0);
    CUmemGenericAllocationHandle handle = create_extent(65536);
    OK(cuMemMap(address, 65536, 0, handle, 0));
}

// ------------------------------------------------------------------------------------------ misuse

static void misuse_of_cuMemCreate_has_a_name(void **state) {
    CUmemGenericAllocationHandle handle;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    (void)state;
    FAILS(cuMemCreate(&handle, GRANULE + 4096, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    expect_report("wrong-granule");
    FAILS(cuMemCreate(&handle, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    expect_report("wrong-granule");
    prop.location.id = 1;
    FAILS(cuMemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuMemCreate(&handle, GRANULE, NULL, 0), CUDA_ERROR_INVALID_VALUE);
}

static void a_handle_is_released_once(void **state) {
    CUmemGenericAllocationHandle handle = create_extent(GRANULE);
    (void)state;
    OK(cuMemRelease(handle));
    FAILS(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    expect_report("bad-memory-handle");
    CUmemGenericAllocationHandle next = create_extent(GRANULE);
    FAILS(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
    expect_report("bad-memory-handle");
    OK(cuMemRelease(next));
}

static void a_handle_is_mapped_whole_or_not_at_all(void **state) {
    CUmemGenericAllocationHandle handle = create_extent(2 * GRANULE);
    CUdeviceptr address = reserve(4 * GRANULE);
    (void)state;
    FAILS(cuMemMap(address, GRANULE, 0, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    expect_report("part-of-handle");
    FAILS(cuMemMap(address, GRANULE, GRANULE, handle, 0), CUDA_ERROR_NOT_SUPPORTED);
    expect_report("part-of-handle");
    FAILS(cuMemMap(address, 4 * GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    expect_report("part-of-handle");
    FAILS(cuMemMap(address + 4096, 2 * GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    expect_report("wrong-granule");
}

static void nothing_is_mapped_over_a_mapping_or_outside_a_range(void **state) {
    struct memory memory = map_memory(GRANULE);
    CUmemGenericAllocationHandle handle = create_extent(GRANULE);
    (void)state;
    FAILS(cuMemMap(memory.address, GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    expect_report("map-over-mapping");
    FAILS(cuMemMap(memory.address + GRANULE, GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    expect_report("not-reserved");
}

static void access_and_unmap_take_whole_mappings_side_by_side(void **state) {
    CUmemGenericAllocationHandle handle = create_extent(2 * GRANULE);
    CUdeviceptr address = reserve(5 * GRANULE);
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    (void)state;
    OK(cuMemMap(address, 2 * GRANULE, 0, handle, 0));
    OK(cuMemMap(address + 2 * GRANULE, 2 * GRANULE, 0, handle, 0));
    FAILS(cuMemSetAccess(address, GRANULE, &access, 1), CUDA_ERROR_INVALID_VALUE);
    expect_report("part-of-mapping");
    FAILS(cuMemSetAccess(address + GRANULE, 2 * GRANULE, &access, 1), CUDA_ERROR_INVALID_VALUE);
    expect_report("part-of-mapping");
    FAILS(cuMemUnmap(address, 3 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    expect_report("part-of-mapping");
    FAILS(cuMemUnmap(address, 5 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    expect_report("part-of-mapping");
    FAILS(cuMemUnmap(address, 4096), CUDA_ERROR_INVALID_VALUE);
    expect_report("wrong-granule");
    OK(cuMemSetAccess(address, 4 * GRANULE, &access, 1));
    OK(cuMemUnmap(address, 4 * GRANULE));
}

static void a_range_is_freed_as_it_was_reserved_and_empty(void **state) {
    struct memory memory = map_memory(2 * GRANULE);
    (void)state;
    FAILS(cuMemAddressFree(memory.address, 2 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    expect_report("free-mapped-range");
    OK(cuMemUnmap(memory.address, 2 * GRANULE));
    FAILS(cuMemAddressFree(memory.address, GRANULE), CUDA_ERROR_INVALID_VALUE);
    expect_report("not-reserved");
    OK(cuMemAddressFree(memory.address, 2 * GRANULE));
    FAILS(cuMemAddressFree(memory.address, 2 * GRANULE), CUDA_ERROR_INVALID_VALUE);
    expect_report("not-reserved");
}

static void memory_without_access_is_not_touched_by_a_kernel(void **state) {
    CUdeviceptr address = reserve(GRANULE);
    CUmemGenericAllocationHandle handle = create_extent(GRANULE);
    (void)state;
    OK(cuMemMap(address, GRANULE, 0, handle, 0));
    fill(NULL, address, 64, 1);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("no-access");
}

static void read_only_memory_can_be_read_and_not_written(void **state) {
    struct memory memory = map_memory(GRANULE);
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                    CU_MEM_ACCESS_FLAGS_PROT_READ};
    const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    unsigned long long flags;
    (void)state;
    OK(cuMemSetAccess(memory.address, GRANULE, &access, 1));
    OK(cuMemGetAccess(&flags, &location, memory.address));
    assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READ);
    touch(NULL, "reader", memory.address, 64, simcudaAccessRead);
    OK(cuCtxSynchronize());
    touch(NULL, "writer", memory.address, 64, simcudaAccessWrite);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("no-access");
}

static CUcontext context_of(int device) {
    CUcontext context;
    OK(cuDevicePrimaryCtxRetain(&context, device));
    return context;
}

// Read, or write, by work of another device, which fails for good where that is refused.
static void touch_from(int device, CUdeviceptr address, simcudaAccessKind kind, CUresult expected) {
    CUcontext own = current_context();
    OK(cuCtxSetCurrent(context_of(device)));
    touch(NULL, "peer", address, 64, kind);
    FAILS(cuCtxSynchronize(), expected);
    OK(cuCtxSetCurrent(own));
    if (expected != CUDA_SUCCESS)
        expect_report("no-access");
}

static void allow_device(int device, CUdeviceptr address, CUmemAccess_flags flags) {
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, flags};
    OK(cuMemSetAccess(address, GRANULE, &access, 1));
}

static void work_of_another_device_needs_access_of_its_own(void **state) {
    (void)state;
    become("devices=4");
    struct memory memory = map_memory(GRANULE);
    touch_from(1, memory.address, simcudaAccessRead, CUDA_ERROR_ILLEGAL_ADDRESS);
    allow_device(2, memory.address, CU_MEM_ACCESS_FLAGS_PROT_READ);
    touch_from(2, memory.address, simcudaAccessRead, CUDA_SUCCESS);
    touch_from(2, memory.address, simcudaAccessWrite, CUDA_ERROR_ILLEGAL_ADDRESS);
    allow_device(3, memory.address, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    touch_from(3, memory.address, simcudaAccessWrite, CUDA_SUCCESS);
    allow_device(3, memory.address, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    touch_from(3, memory.address, simcudaAccessRead, CUDA_ERROR_ILLEGAL_ADDRESS);
    unmap_memory(memory);
}

static void devices_are_peers_or_not_as_they_are_set_up(void **state) {
    int can = 7;
    (void)state;
    become("devices=2");
    OK(cuDeviceCanAccessPeer(&can, 1, 0));
    assert_int_equal(can, 1);
    OK(cuDeviceCanAccessPeer(&can, 1, 1));
    assert_int_equal(can, 0);
    FAILS(cuDeviceCanAccessPeer(&can, 1, 2), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceCanAccessPeer(&can, -1, 0), CUDA_ERROR_INVALID_DEVICE);
    FAILS(cuDeviceCanAccessPeer(NULL, 1, 0), CUDA_ERROR_INVALID_VALUE);
    become("devices=2,peers=0");
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 1}, CU_MEM_ACCESS_FLAGS_PROT_READ};
    OK(cuDeviceCanAccessPeer(&can, 1, 0));
    assert_int_equal(can, 0);
    struct memory memory = map_memory(GRANULE);
    FAILS(cuMemSetAccess(memory.address, GRANULE, &access, 1), CUDA_ERROR_INVALID_DEVICE);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    OK(cuMemSetAccess(memory.address, GRANULE, &access, 1));
    unmap_memory(memory);
}

static void a_kernel_on_unmapped_memory_faults_and_the_error_sticks(void **state) {
    CUdeviceptr address = reserve(GRANULE);
    CUstream stream = make_stream();
    CUevent event = make_event();
    (void)state;
    fill(stream, address, 64, 1);
    FAILS(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("fault");
    FAILS(cuStreamQuery(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuEventQuery(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuEventRecord(event, stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuEventDestroy_v2(event), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuStreamDestroy_v2(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuMemAddressFree(address, GRANULE));
    OK(cuDevicePrimaryCtxReset(0));
}

static void unmapping_what_pending_work_names_is_reported_once_and_the_work_faults(void **state) {
    struct memory memory = map_memory(GRANULE);
    CUstream stream = make_stream();
    (void)state;
    spin(stream, 50 * MS);
    fill(stream, memory.address, 64, 1);
    OK(cuMemUnmap(memory.address, GRANULE));
    expect_report("unmap-in-use");
    FAILS(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void unmapping_what_is_complete_but_not_known_to_be_is_reported(void **state) {
    struct memory memory = map_memory(GRANULE);
    CUstream stream = make_stream();
    (void)state;
    fill(stream, memory.address, 64, 1);
    simcudaAdvance(1000 * MS);
    assert_int_equal(simcudaPending(stream), 0);
    OK(cuMemUnmap(memory.address, GRANULE));
    expect_report("unmap-in-use");
}

static void unmapping_an_idle_alias_is_no_misuse(void **state) {
    struct memory memory = map_memory(GRANULE);
    CUdeviceptr alias = reserve(GRANULE);
    CUstream stream = make_stream();
    (void)state;
    OK(cuMemMap(alias, GRANULE, 0, memory.handle, 0));
    allow(alias, GRANULE);
    spin(stream, MS);
    fill(stream, memory.address, 64, 1);
    OK(cuMemUnmap(alias, GRANULE));
    OK(cuStreamSynchronize(stream));
    OK(cuMemUnmap(memory.address, GRANULE));
    expect_no_report();
}

// -------------------------------------------------------------------------------------- cuMemAlloc

static void an_allocation_ends_at_its_last_byte_rounded_to_512(void **state) {
    CUdeviceptr address;
    (void)state;
    OK(cuMemAlloc_v2(&address, 1000));
    touch(NULL, "inside", address, 1024, simcudaAccessWrite);
    OK(cuCtxSynchronize());
    touch(NULL, "outside", address + 1024, 1, simcudaAccessRead);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    expect_report("fault");
}

// The addresses of some allocations, of which each second one was given back meanwhile.
static void allocate_some(CUdeviceptr addresses[8]) {
    for (int i = 0; i < 8; i++) {
        OK(cuMemAlloc_v2(&addresses[i], (size_t)(i % 3 + 1) * GRANULE));
        if (i % 2)
            OK(cuMemFree_v2(addresses[i]));
    }
}

static void allocations_lie_where_the_seed_says(void **state) {
    static const char *const settings[] = {"scatter=1", "scatter=1", "scatter=2"};
    CUdeviceptr address[3][8];
    bool rises = true;
    (void)state;
    for (int i = 0; i < 3; i++) {
        become(settings[i]);
        allocate_some(address[i]);
        for (int k = 2; k < 8; k++)
            rises = rises && address[i][k] > address[i][k - 1];
        for (int k = 0; k < 8; k++) {
            assert_int_equal(address[i][k] % GRANULE, 0);
            address[i][k] -= k == 0 ? 0 : address[i][0];
            if (k % 2 == 0)
                touch(NULL, "own", address[i][0] + (k ? address[i][k] : 0), GRANULE,
                      simcudaAccessWrite);
        }
        OK(cuCtxSynchronize());
    }
    assert_false(rises);
    assert_memory_equal(&address[0][1], &address[1][1], 7 * sizeof(CUdeviceptr));
    assert_memory_not_equal(&address[0][1], &address[2][1], 7 * sizeof(CUdeviceptr));
    expect_no_report();
}

static void freeing_waits_for_the_device(void **state) {
    CUstream stream = make_non_blocking_stream();
    CUdeviceptr address;
    (void)state;
    OK(cuMemAlloc_v2(&address, 4096));
    spin(stream, 5 * MS);
    uint64_t before = simcudaNow();
    OK(cuMemFree_v2(address));
    assert_int_equal(simcudaPending(stream), 0);
    assert_true(simcudaNow() - before > 4 * MS);
}

static void a_bad_free_has_a_name(void **state) {
    CUdeviceptr address;
    (void)state;
    OK(cuMemAlloc_v2(&address, 4096));
    FAILS(cuMemFree_v2(address + 512), CUDA_ERROR_INVALID_VALUE);
    expect_report("bad-free");
    OK(cuMemFree_v2(address));
    FAILS(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    expect_report("bad-free");
    OK(cuMemFree_v2(0));
    FAILS(cuMemFreeAsync(address, NULL), CUDA_ERROR_INVALID_VALUE);
    expect_report("bad-free");
}

static void a_free_of_what_no_driver_gave_is_an_error_alone(void **state) {
    int local;
    (void)state;
    FAILS(cuMemFree_v2((uintptr_t)&local), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemFreeAsync((uintptr_t)&local, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemFreeAsync(0, NULL));
    assert_int_equal(simcudaReportCount(NULL), 0);
}

#define FREED ((size_t)1 << 20)

static size_t free_bytes(void) {
    size_t free, total;
    OK(cuMemGetInfo_v2(&free, &total));
    return free;
}

static void a_free_in_a_streams_order_happens_when_the_stream_comes_there(void **state) {
    CUdeviceptr address;
    CUstream stream;
    (void)state;
    const size_t before = free_bytes();
    const simcudaWork work = {.name = "work", .duration = (uint64_t)1 << 62};
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&address, FREED));
    OK(simcudaEnqueue(stream, &work));
    OK(cuMemFreeAsync(address, stream));
    assert_int_equal(free_bytes(), before - FREED);
    FAILS(cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
    expect_report("bad-free");
    FAILS(cuMemFree_v2(address), CUDA_ERROR_INVALID_VALUE);
    expect_report("bad-free");
    OK(cuStreamSynchronize(stream));
    assert_int_equal(free_bytes(), before);
    OK(cuStreamDestroy_v2(stream));
}

static void a_use_with_no_order_to_a_free_in_a_streams_order_is_a_race(void **state) {
    CUdeviceptr address;
    CUstream streams[2];
    (void)state;
    for (int i = 0; i < 2; i++)
        OK(cuStreamCreate(&streams[i], CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&address, FREED));
    OK(cuMemsetD8Async(address, 1, 64, streams[0]));
    OK(simcudaComplete(streams[0], 1));
    OK(cuMemFreeAsync(address, streams[1]));
    simcudaCompleteAll();
    expect_report("race");
    OK(cuStreamSynchronize(streams[1]));
}

static void a_capture_can_not_hold_the_free_of_memory_that_is_not_its_own(void **state) {
    CUdeviceptr address;
    CUstream stream;
    CUgraph graph;
    (void)state;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    OK(cuMemAlloc_v2(&address, FREED));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    FAILS(cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuMemFreeAsync(address, stream));
    OK(cuStreamSynchronize(stream));
}

static CUresult buffer_at(void *memory, unsigned long long *id) {
    return cuPointerGetAttribute(id, CU_POINTER_ATTRIBUTE_BUFFER_ID, (uintptr_t)memory);
}

static void pinned_memory_has_a_number_that_never_comes_back(void **state) {
    (void)state;
    void *memory, *again;
    unsigned long long first, second;
    OK(cuMemHostAlloc(&memory, 64, 0));
    memset(memory, 1, 64);
    OK(buffer_at(memory, &first));
    OK(buffer_at((char *)memory + 63, &second));
    assert_int_equal(first, second);
    OK(cuMemFreeHost(memory));
    FAILS(buffer_at(memory, &second), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostAlloc(&again, 64, 0));
    assert_ptr_equal(again, memory);
    OK(buffer_at(again, &second));
    assert_int_not_equal(first, second);
    OK(cuMemFreeHost(again));
}

static void pinned_memory_goes_with_its_context(void **state) {
    (void)state;
    CUcontext context;
    void *here, *there;
    unsigned long long id;
    simcudaLive live;
    OK(cuMemHostAlloc(&here, 64, 0));
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemHostAlloc(&there, 64, 0));
    simcudaGetLive(&live);
    assert_int_equal(live.pinned, 2);
    OK(simcudaContextFail(context, CUDA_ERROR_ILLEGAL_ADDRESS));
    FAILS(buffer_at(there, &id), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuCtxDestroy_v2(context));
    FAILS(buffer_at(there, &id), CUDA_ERROR_INVALID_VALUE);
    FAILS(buffer_at(here, &id), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_int_equal(simcudaLeakCheck(), 1);
    assert_int_equal(simcudaReportCount("leak"), 1);
    simcudaReportClear();
    OK(cuMemFreeHost(here));
}

static void misuse_of_pinned_memory_has_a_name(void **state) {
    (void)state;
    void *memory;
    FAILS(cuMemHostAlloc(NULL, 64, 0), CUDA_ERROR_INVALID_VALUE);
    OK(cuMemHostAlloc(&memory, 0, 0));
    assert_null(memory);
    OK(cuMemHostAlloc(&memory, 64, 0));
    FAILS(buffer_at(memory, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuMemFreeHost((char *)memory + 1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(simcudaReportCount("bad-free"), 1);
    simcudaReportClear();
    OK(cuMemFreeHost(memory));
}

static void many_small_allocations_take_little_of_the_device(void **state) {
    static CUdeviceptr addresses[2000];
    size_t before, after, total;
    (void)state;
    OK(cuMemGetInfo_v2(&before, &total));
    for (size_t i = 0; i < 2000; i++)
        OK(cuMemAlloc_v2(&addresses[i], 1));
    OK(cuMemGetInfo_v2(&after, &total));
    assert_int_equal(before - after, 2000 * 512);
    for (size_t i = 0; i < 2000; i += 2)
        OK(cuMemFree_v2(addresses[i]));
    for (size_t i = 1; i < 2000; i += 2)
        OK(cuMemFree_v2(addresses[i]));
    OK(cuMemGetInfo_v2(&after, &total));
    assert_int_equal(before, after);
}

static void the_drivers_own_pools_are_not_there(void **state) {
    CUdeviceptr address;
    CUmemoryPool pool;
    int value = 7;
    (void)state;
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
    assert_int_equal(value, 0);
    FAILS(cuMemAllocAsync(&address, 64, NULL), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(cuDeviceGetDefaultMemPool(&pool, 0), CUDA_ERROR_NOT_SUPPORTED);
}

static void a_device_can_lack_or_refuse_virtual_memory(void **state) {
    CUmemGenericAllocationHandle handle;
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUdeviceptr address;
    size_t granule;
    int value;
    (void)state;
    become("vmm=missing");
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    assert_int_equal(value, 0);
    FAILS(cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          CUDA_ERROR_NOT_SUPPORTED);
    become("vmm=refused");
    OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
    assert_int_equal(value, 1);
    FAILS(cuMemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_NOT_SUPPORTED);
    FAILS(cuMemAddressReserve(&address, GRANULE, 0, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
}

int main(void) {
#define MEMORY_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end_without_reports)
    const struct CMUnitTest tests[] = {
        MEMORY_TEST(bytes_written_through_one_address_are_read_through_its_alias),
        MEMORY_TEST(a_view_of_many_extents_is_contiguous),
        MEMORY_TEST(bytes_stay_that_were_written_under_a_limit_of_address_space),
        MEMORY_TEST(bytes_beyond_a_limit_of_files_are_not_written),
        MEMORY_TEST(memory_goes_with_the_last_mapping_not_with_the_handle),
        MEMORY_TEST(new_memory_does_not_show_what_was_in_released_memory),
        MEMORY_TEST(the_check_kernel_counts_wrong_words),
        MEMORY_TEST(copies_and_memsets_move_bytes),
        MEMORY_TEST(the_host_faults_when_it_touches_a_device_address),
        MEMORY_TEST(a_device_has_no_more_than_its_memory),
        MEMORY_TEST(address_space_ends_where_it_is_configured),
        MEMORY_TEST(the_number_of_mappings_is_limited),
        MEMORY_TEST(addresses_are_aligned_as_asked_and_granules_as_configured),
        MEMORY_TEST(misuse_of_cuMemCreate_has_a_name),
        MEMORY_TEST(a_handle_is_released_once),
        MEMORY_TEST(a_handle_is_mapped_whole_or_not_at_all),
        MEMORY_TEST(nothing_is_mapped_over_a_mapping_or_outside_a_range),
        MEMORY_TEST(access_and_unmap_take_whole_mappings_side_by_side),
        MEMORY_TEST(a_range_is_freed_as_it_was_reserved_and_empty),
        MEMORY_TEST(memory_without_access_is_not_touched_by_a_kernel),
        MEMORY_TEST(read_only_memory_can_be_read_and_not_written),
        MEMORY_TEST(a_kernel_on_unmapped_memory_faults_and_the_error_sticks),
        MEMORY_TEST(unmapping_what_pending_work_names_is_reported_once_and_the_work_faults),
        MEMORY_TEST(unmapping_what_is_complete_but_not_known_to_be_is_reported),
        MEMORY_TEST(unmapping_an_idle_alias_is_no_misuse),
        MEMORY_TEST(an_allocation_ends_at_its_last_byte_rounded_to_512),
        MEMORY_TEST(allocations_lie_where_the_seed_says),
        MEMORY_TEST(freeing_waits_for_the_device),
        MEMORY_TEST(a_bad_free_has_a_name),
        MEMORY_TEST(a_free_of_what_no_driver_gave_is_an_error_alone),
        MEMORY_TEST(a_free_in_a_streams_order_happens_when_the_stream_comes_there),
        MEMORY_TEST(a_use_with_no_order_to_a_free_in_a_streams_order_is_a_race),
        MEMORY_TEST(a_capture_can_not_hold_the_free_of_memory_that_is_not_its_own),
        MEMORY_TEST(pinned_memory_has_a_number_that_never_comes_back),
        MEMORY_TEST(pinned_memory_goes_with_its_context),
        MEMORY_TEST(misuse_of_pinned_memory_has_a_name),
        MEMORY_TEST(work_of_another_device_needs_access_of_its_own),
        MEMORY_TEST(devices_are_peers_or_not_as_they_are_set_up),
        MEMORY_TEST(many_small_allocations_take_little_of_the_device),
        MEMORY_TEST(the_drivers_own_pools_are_not_there),
        MEMORY_TEST(a_device_can_lack_or_refuse_virtual_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
