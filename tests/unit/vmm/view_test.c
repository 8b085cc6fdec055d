#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/page_map.h"
#include "fault/host_memory.h"
#include "inside/page_map.h"
#include "inside/space.h"
#include "unit/outcomes.h"
#include "unit/vmm/scripted_driver.h"
#include "vmm/view.h"

#define GRANULE ((size_t)2 << 20)

static struct sp_vmm_device device;
static struct sp_space space;
static struct sp_view view;

static int open_view(void **state) {
    (void)state;
    scripted_install();
    device = (struct sp_vmm_device){.location = {CU_MEM_LOCATION_TYPE_DEVICE, 2},
                                    .ordinal = 2,
                                    .plain = &sp_vmm_plain,
                                    .granule = GRANULE,
                                    .total_memory = scripted.total_memory};
    sp_space_init(&space, &device, 64 * GRANULE);
    return sp_is_done(sp_view_open(&view, &space, SP_SPAN_LOW, GRANULE, 32 * GRANULE,
                                   CU_MEM_HANDLE_TYPE_NONE, SP_VIEW_PLAIN))
               ? 0
               : -1;
}

static void unmap_all(void) {
    struct sp_extent *extent = sp_view_extent_from(&view, 0);
    while (extent) {
        struct sp_extent *next = sp_view_extent_next(extent);
        assert_done(sp_view_unmap(&view, extent));
        extent = next;
    }
}

static int close_view(void **state) {
    (void)state;
    scripted.fail_nth = 0;
    unmap_all();
    sp_view_close(&view);
    inside_space_close(&space);
    inside_page_map_clear();
    return scripted.misuse == 0 && scripted_physical_bytes() == 0 && scripted.range_count == 0 ? 0
                                                                                               : -1;
}

static size_t extents_sum(void) {
    size_t sum = 0;
    for (struct sp_extent *e = sp_view_extent_from(&view, 0); e; e = sp_view_extent_next(e))
        sum += e->size;
    return sum;
}

static void a_new_view_is_empty(void **state) {
    (void)state;
    assert_int_equal(view.size, 32 * GRANULE);
    assert_int_equal(view.mapped, 0);
    assert_null(sp_view_extent_from(&view, 0));
    assert_int_equal(scripted_physical_bytes(), 0);
}

static void a_view_takes_less_than_it_wants_where_there_is_no_more(void **state) {
    (void)state;
    struct sp_view other;
    assert_done(sp_view_open(&other, &space, SP_SPAN_LOW, GRANULE, 64 * GRANULE,
                             CU_MEM_HANDLE_TYPE_NONE, SP_VIEW_PLAIN));
    assert_int_equal(other.size, 32 * GRANULE);
    sp_view_close(&other);
}

static void a_view_without_address_space_is_not_opened(void **state) {
    (void)state;
    struct sp_view other;
    scripted.most_reserved = GRANULE;
    assert_of_driver(sp_view_open(&other, &space, SP_SPAN_LOW, 40 * GRANULE, 64 * GRANULE,
                                  CU_MEM_HANDLE_TYPE_NONE, SP_VIEW_PLAIN),
                     CUDA_ERROR_OUT_OF_MEMORY);
}

static void mapping_makes_memory_that_the_device_may_write(void **state) {
    (void)state;
    assert_done(sp_view_map(&view, view.address + GRANULE, 3 * GRANULE));
    const struct scripted_extent *mapped = scripted_mapping_at(view.address + GRANULE);
    assert_non_null(mapped);
    assert_int_equal(mapped->size, 3 * GRANULE);
    assert_true(mapped->accessible);
    assert_int_equal(mapped->prop.location.id, 2);
    assert_int_equal(view.mapped, 3 * GRANULE);
}

static void the_handle_types_of_a_view_are_those_of_its_extents(void **state) {
    (void)state;
    view.handle_types = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    assert_done(sp_view_map(&view, view.address, GRANULE));
    assert_int_equal(scripted_mapping_at(view.address)->prop.requestedHandleTypes,
                     CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static void extents_are_for_rdma_where_that_is_asked_for_and_the_device_can(void **state) {
    (void)state;
    for (int can = 0; can <= 1; can++) {
        for (int asked = 0; asked <= 1; asked++) {
            device.rdma = can != 0;
            view.use = asked ? SP_VIEW_RDMA : SP_VIEW_PLAIN;
            assert_done(sp_view_map(&view, view.address, GRANULE));
            assert_int_equal(
                scripted_mapping_at(view.address)->prop.allocFlags.gpuDirectRDMACapable,
                can && asked);
            unmap_all();
        }
    }
}

static void extents_are_walked_by_address_in_whatever_order_they_were_mapped(void **state) {
    (void)state;
    const size_t places[] = {8, 0, 20, 4};
    const size_t in_order[] = {0, 4, 8, 20};
    for (int i = 0; i < 4; i++)
        assert_done(sp_view_map(&view, view.address + places[i] * GRANULE, GRANULE));
    struct sp_extent *extent = sp_view_extent_from(&view, 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(extent->address, view.address + in_order[i] * GRANULE);
        extent = sp_view_extent_next(extent);
    }
    assert_null(extent);
    extent = sp_view_extent_from(&view, view.address + 4 * GRANULE);
    assert_int_equal(extent->address, view.address + 4 * GRANULE);
    extent = sp_view_extent_from(&view, view.address + 4 * GRANULE + 1);
    assert_int_equal(extent->address, view.address + 8 * GRANULE);
    assert_null(sp_view_extent_from(&view, view.address + 20 * GRANULE + 1));
    assert_int_equal(view.mapped, extents_sum());
}

static void unmapping_gives_the_memory_back(void **state) {
    (void)state;
    assert_done(sp_view_map(&view, view.address, 2 * GRANULE));
    assert_done(sp_view_map(&view, view.address + 2 * GRANULE, GRANULE));
    assert_done(sp_view_unmap(&view, sp_view_extent_from(&view, view.address)));
    assert_int_equal(view.mapped, GRANULE);
    assert_int_equal(scripted_physical_bytes(), GRANULE);
    assert_int_equal(sp_view_extent_from(&view, 0)->address, view.address + 2 * GRANULE);
    assert_done(sp_view_map(&view, view.address, 2 * GRANULE)); // the hole can be used again
}

static void a_step_of_a_mapping_that_fails_undoes_those_before_it(void **state) {
    (void)state;
    static const struct {
        enum scripted_entry entry;
        const char *name;
    } steps[] = {{SCRIPTED_cuMemCreate, "cuMemCreate"},
                 {SCRIPTED_cuMemMap, "cuMemMap"},
                 {SCRIPTED_cuMemSetAccess, "cuMemSetAccess"}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        scripted_fail(steps[i].entry, 1, CUDA_ERROR_OUT_OF_MEMORY);
        assert_failed_in(sp_view_map(&view, view.address, GRANULE), CUDA_ERROR_OUT_OF_MEMORY,
                         steps[i].name);
        assert_int_equal(scripted_physical_bytes(), 0);
        assert_int_equal(scripted_mappings(), 0);
        assert_int_equal(view.mapped, 0);
        assert_null(sp_view_extent_from(&view, 0));
    }
    assert_int_equal(scripted.misuse, 0);
    assert_done(sp_view_map(&view, view.address, GRANULE));
}

static void without_host_memory_nothing_is_mapped_and_no_driver_called(void **state) {
    (void)state;
    uint64_t failed = 0;
    host_memory_enter(1, false);
    struct sp_outcome outcome = sp_view_map(&view, view.address, GRANULE);
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    assert_cause(outcome, SP_NO_HOST_MEMORY);
    assert_int_equal(scripted.calls[SCRIPTED_cuMemCreate], 0);
    assert_int_equal(view.mapped, 0);
}

static void an_unmap_whose_first_step_fails_changes_nothing(void **state) {
    (void)state;
    assert_done(sp_view_map(&view, view.address, GRANULE));
    struct sp_extent *extent = sp_view_extent_from(&view, 0);
    scripted_fail(SCRIPTED_cuMemRelease, 1, CUDA_ERROR_INVALID_HANDLE);
    assert_failed_in(sp_view_unmap(&view, extent), CUDA_ERROR_INVALID_HANDLE, "cuMemRelease");
    assert_false(extent->handle_released);
    assert_int_equal(view.mapped, GRANULE);
    assert_int_equal(scripted.calls[SCRIPTED_cuMemUnmap], 0);
    assert_done(sp_view_unmap(&view, extent));
    assert_int_equal(scripted_physical_bytes(), 0);
}

static void
an_unmap_whose_second_step_fails_leaves_usable_memory_and_goes_on_from_there(void **state) {
    (void)state;
    assert_done(sp_view_map(&view, view.address, GRANULE));
    struct sp_extent *extent = sp_view_extent_from(&view, 0);
    scripted_fail(SCRIPTED_cuMemUnmap, 1, CUDA_ERROR_UNKNOWN);
    assert_failed_in(sp_view_unmap(&view, extent), CUDA_ERROR_UNKNOWN, "cuMemUnmap");
    assert_int_equal(view.mapped, GRANULE);
    assert_ptr_equal(sp_view_extent_from(&view, 0), extent);
    assert_true(scripted_mapping_at(view.address)->accessible);
    assert_done(sp_view_unmap(&view, extent));
    assert_int_equal(scripted.calls[SCRIPTED_cuMemRelease], 1);
    assert_int_equal(scripted_physical_bytes(), 0);
    assert_int_equal(scripted.misuse, 0);
}

static void the_span_of_a_closed_view_can_be_taken_again(void **state) {
    (void)state;
    CUdeviceptr address = view.address;
    sp_view_close(&view);
    assert_done(sp_view_open(&view, &space, SP_SPAN_LOW, 64 * GRANULE, 64 * GRANULE,
                             CU_MEM_HANDLE_TYPE_NONE, SP_VIEW_PLAIN));
    assert_int_equal(view.address, address);
    assert_int_equal(scripted.range_count, 1);
}

static void the_pieces_that_are_mapped_are_counted(void **state) {
    (void)state;
    size_t mapped = 0;
    assert_done(sp_view_map_pieces(&view, view.address, 7 * GRANULE, 2 * GRANULE, 0, &mapped));
    assert_int_equal(sp_page_map_count_pieces(view.address, 7 * GRANULE), 4);
    sp_view_unmap_back(&view, view.address, &mapped);
    assert_done(sp_view_map(&view, view.address, 7 * GRANULE));
    assert_int_equal(sp_page_map_count_pieces(view.address, 7 * GRANULE), 1);
}

#define view_test(function) cmocka_unit_test_setup_teardown(function, open_view, close_view)

// ------------------------------------------------------------------------------------ plain memory

static struct {
    CUdeviceptr address;
    bool refuses; // to take memory back
    int taken;
} plain_driver;

static CUresult plain_alloc(CUdeviceptr *address, size_t size) {
    (void)size;
    *address = plain_driver.address;
    return CUDA_SUCCESS;
}

static bool is_shown(CUdeviceptr address) {
    return sp_space_is_one_extent(&space, address, GRANULE);
}

// Another thread may get the memory as soon as the driver has it.
static CUresult plain_free(CUdeviceptr address) {
    assert_false(is_shown(address));
    plain_driver.taken++;
    return plain_driver.refuses ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

static CUresult plain_push(CUcontext context) {
    (void)context;
    return CUDA_SUCCESS;
}

static CUresult plain_pop(CUcontext *context) {
    *context = NULL;
    return CUDA_SUCCESS;
}

static CUresult plain_mode(CUstreamCaptureMode *mode) {
    (void)mode;
    return CUDA_SUCCESS;
}

static const struct sp_driver driver_of_plain = {.cuMemAlloc = plain_alloc,
                                                 .cuMemFree = plain_free,
                                                 .cuCtxPushCurrent = plain_push,
                                                 .cuCtxPopCurrent = plain_pop,
                                                 .cuThreadExchangeStreamCaptureMode = plain_mode};

static void plain_memory_is_hidden_before_the_driver_has_it(void **state) {
    (void)state;
    struct sp_view plain;
    plain_driver.address = (CUdeviceptr)1 << 40;
    plain_driver.taken = 0;
    const struct sp_driver *before = sp_driver;
    sp_driver = &driver_of_plain;
    sp_store_relaxed(&device.means, SP_VMM_PLAIN);
    assert_done(sp_view_open_plain(&plain, &space, NULL, 0, GRANULE));
    assert_done(sp_view_map(&plain, plain.address, GRANULE));
    struct sp_extent *extent = sp_view_extent_from(&plain, 0);
    plain_driver.refuses = true;
    assert_false(sp_is_done(sp_view_unmap(&plain, extent)));
    assert_true(is_shown(plain.address)); // nothing has changed
    plain_driver.refuses = false;
    assert_done(sp_view_give_plain(&plain));
    assert_done(sp_view_unmap(&plain, extent));
    assert_int_equal(plain_driver.taken, 2);
    assert_false(is_shown(plain.address));
    sp_view_close(&plain);
    sp_driver = before;
}

static void lost_plain_memory_is_hidden(void **state) {
    (void)state;
    struct sp_view plain;
    plain_driver.address = (CUdeviceptr)1 << 40;
    plain_driver.taken = 0;
    const struct sp_driver *before = sp_driver;
    sp_driver = &driver_of_plain;
    sp_store_relaxed(&device.means, SP_VMM_PLAIN);
    assert_done(sp_view_open_plain(&plain, &space, NULL, 0, GRANULE));
    assert_done(sp_view_map(&plain, plain.address, GRANULE));
    sp_view_lose(&plain);
    assert_false(is_shown(plain.address));
    assert_int_equal(plain_driver.taken, 0);
    sp_view_close(&plain);
    sp_driver = before;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        view_test(a_new_view_is_empty),
        view_test(a_view_takes_less_than_it_wants_where_there_is_no_more),
        view_test(a_view_without_address_space_is_not_opened),
        view_test(mapping_makes_memory_that_the_device_may_write),
        view_test(the_handle_types_of_a_view_are_those_of_its_extents),
        view_test(extents_are_for_rdma_where_that_is_asked_for_and_the_device_can),
        view_test(extents_are_walked_by_address_in_whatever_order_they_were_mapped),
        view_test(unmapping_gives_the_memory_back),
        view_test(the_pieces_that_are_mapped_are_counted),
        view_test(a_step_of_a_mapping_that_fails_undoes_those_before_it),
        view_test(without_host_memory_nothing_is_mapped_and_no_driver_called),
        view_test(an_unmap_whose_first_step_fails_changes_nothing),
        view_test(an_unmap_whose_second_step_fails_leaves_usable_memory_and_goes_on_from_there),
        view_test(the_span_of_a_closed_view_can_be_taken_again),
        view_test(plain_memory_is_hidden_before_the_driver_has_it),
        view_test(lost_plain_memory_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
