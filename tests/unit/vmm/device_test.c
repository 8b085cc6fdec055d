#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/page_map.h"
#include "unit/outcomes.h"
#include "unit/vmm/scripted_driver.h"
#include "vmm/device.h"

static struct sp_vmm_device device;

static int install(void **state) {
    (void)state;
    scripted_install();
    device = (struct sp_vmm_device){.ordinal = -7};
    return 0;
}

static struct sp_outcome open_device(int ordinal, struct sp_vmm_device *opened) {
    const struct sp_place place = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal}};
    return sp_vmm_device_open(&place, opened);
}

static void a_device_says_what_it_can(void **state) {
    (void)state;
    scripted.exports_fd = 1;
    assert_done(open_device(0, &device));
    assert_int_equal(device.ordinal, 0);
    assert_int_equal(device.granule, scripted.granule);
    assert_int_equal(device.total_memory, scripted.total_memory);
    assert_true(device.exports_fd);
    scripted.exports_fd = 0;
    assert_done(open_device(0, &device));
    assert_false(device.exports_fd);
    assert_int_equal(scripted.misuse, 0);
}

static void a_driver_that_does_not_know_of_rdma_has_none(void **state) {
    (void)state;
    for (int rdma = -1; rdma <= 1; rdma++) {
        scripted.rdma = rdma;
        assert_done(open_device(0, &device));
        assert_int_equal(device.rdma, rdma == 1);
    }
}

static void a_device_without_virtual_memory_management_is_plain(void **state) {
    (void)state;
    scripted.has_vmm = 0;
    scripted.exports_fd = scripted.rdma = 1;
    assert_done(open_device(0, &device));
    assert_ptr_equal(sp_vmm_provider(&device), &sp_vmm_plain);
    assert_int_equal(device.granule, SP_PLAIN_GRANULE);
    assert_int_equal(device.total_memory, scripted.total_memory);
    assert_false(device.exports_fd);
    assert_false(device.rdma);
}

static void a_device_becomes_plain_unless_memory_was_mapped(void **state) {
    (void)state;
    assert_done(open_device(0, &device));
    assert_ptr_equal(sp_vmm_provider(&device), &sp_vmm_virtual);
    assert_true(sp_vmm_device_change_from(&device, &sp_vmm_virtual));
    assert_ptr_equal(sp_vmm_provider(&device), &sp_vmm_plain);
    sp_vmm_device_note_mapped(&device);
    assert_ptr_equal(sp_vmm_provider(&device), &sp_vmm_plain);
    assert_done(open_device(0, &device));
    sp_vmm_device_note_mapped(&device);
    assert_false(sp_vmm_device_change_from(&device, &sp_vmm_virtual));
    assert_ptr_equal(sp_vmm_provider(&device), &sp_vmm_virtual);
}

static void a_device_that_there_is_not_is_invalid(void **state) {
    (void)state;
    assert_of_driver(open_device(1, &device), CUDA_ERROR_INVALID_DEVICE);
    assert_of_driver(open_device(-1, &device), CUDA_ERROR_INVALID_DEVICE);
    assert_int_equal(device.ordinal, -7);
}

static void a_granule_below_a_page_of_the_page_map_becomes_a_page(void **state) {
    (void)state;
    scripted.granule = 4096;
    assert_done(open_device(0, &device));
    assert_int_equal(device.granule, SP_PAGE_SIZE);
}

static void a_granule_that_is_no_power_of_two_is_not_supported(void **state) {
    (void)state;
    scripted.granule = 3 << 20;
    assert_cause(open_device(0, &device), SP_NOT_SUPPORTED);
    scripted.granule = 0;
    assert_cause(open_device(0, &device), SP_NOT_SUPPORTED);
}

static void a_call_that_fails_is_named_and_leaves_the_device_as_it_was(void **state) {
    (void)state;
    static const struct {
        enum scripted_entry entry;
        const char *name;
        uint64_t nth;
    } calls[] = {
        {SCRIPTED_cuDeviceGet, "cuDeviceGet", 1},
        {SCRIPTED_cuDeviceGetAttribute, "cuDeviceGetAttribute", 1},
        {SCRIPTED_cuDeviceGetAttribute, "cuDeviceGetAttribute", 2},
        {SCRIPTED_cuDeviceTotalMem, "cuDeviceTotalMem", 1},
        {SCRIPTED_cuMemGetAllocationGranularity, "cuMemGetAllocationGranularity", 1},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        scripted_fail(calls[i].entry, calls[i].nth, CUDA_ERROR_SYSTEM_NOT_READY);
        assert_failed_in(open_device(0, &device), CUDA_ERROR_SYSTEM_NOT_READY, calls[i].name);
        assert_int_equal(device.ordinal, -7);
    }
}

static void extents_are_created_pinned_on_the_device(void **state) {
    (void)state;
    device.location = (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 3};
    CUmemAllocationProp prop =
        sp_vmm_device_prop(&device, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    assert_int_equal(prop.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    assert_int_equal(prop.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    assert_int_equal(prop.location.id, 3);
    assert_int_equal(prop.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    assert_null(prop.win32HandleMetaData);
    assert_int_equal(prop.allocFlags.compressionType, 0);
    assert_int_equal(prop.allocFlags.usage, 0);
}

#define device_test(function) cmocka_unit_test_setup(function, install)

int main(void) {
    const struct CMUnitTest tests[] = {
        device_test(a_device_says_what_it_can),
        device_test(a_driver_that_does_not_know_of_rdma_has_none),
        device_test(a_device_without_virtual_memory_management_is_plain),
        device_test(a_device_becomes_plain_unless_memory_was_mapped),
        device_test(a_device_that_there_is_not_is_invalid),
        device_test(a_granule_below_a_page_of_the_page_map_becomes_a_page),
        device_test(a_granule_that_is_no_power_of_two_is_not_supported),
        device_test(a_call_that_fails_is_named_and_leaves_the_device_as_it_was),
        device_test(extents_are_created_pinned_on_the_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
