#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/page_map.h"
#include "fault/host_memory.h"
#include "inside/page_map.h"
#include "inside/space.h"
#include "unit/fixture/simulated.h"
#include "unit/outcomes.h"
#include "vmm/alias.h"

#define GRANULE ((size_t)2 << 20)

enum { EXTENTS = 4 };

static const struct sp_place place = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static struct sp_vmm_device device;
static struct sp_space space;
static struct sp_view view;
static struct sp_extent *extents[EXTENTS]; // of 1, 2, 3 and 4 granules, with a hole before each
static int owner;

static int setup(void **state) {
    CUdeviceptr address;
    if (simulated_setup(state) != 0 || !sp_is_done(sp_vmm_device_open(&place, &device)))
        return -1;
    sp_space_init(&space, &device, 64 * GRANULE);
    if (!sp_is_done(sp_view_open(&view, &space, SP_SPAN_LOW, 32 * GRANULE, 32 * GRANULE,
                                 CU_MEM_HANDLE_TYPE_NONE, SP_VIEW_PLAIN)))
        return -1;
    address = view.address;
    for (size_t i = 0; i < EXTENTS; i++) {
        address += GRANULE;
        if (!sp_is_done(sp_view_map(&view, address, (i + 1) * GRANULE)))
            return -1;
        extents[i] = sp_view_extent_at(&view, address);
        address += (i + 1) * GRANULE;
    }
    return 0;
}

static int teardown(void **state) {
    simcudaFailClear();
    for (size_t i = 0; i < EXTENTS; i++) {
        if (extents[i] && !sp_is_done(sp_view_unmap(&view, extents[i])))
            return -1;
    }
    sp_view_close(&view);
    inside_space_close(&space);
    inside_page_map_clear();
    return simulated_teardown(state);
}

static struct sp_alias *open_alias(struct sp_extent *const *list, size_t count) {
    struct sp_alias *alias = NULL;
    assert_done(sp_alias_open(&alias, &owner, &space, NULL, list, count));
    assert_non_null(alias);
    return alias;
}

static void close_alias(struct sp_alias *alias) {
    assert_done(sp_alias_unmap_all(alias));
    sp_alias_close(alias);
}

static void write_byte(CUdeviceptr address, unsigned char byte) {
    assert_int_equal(simcudaPoke(address, &byte, 1), CUDA_SUCCESS);
}

static unsigned char byte_at(CUdeviceptr address) {
    unsigned char byte = 0;
    assert_int_equal(simcudaPeek(&byte, address, 1), CUDA_SUCCESS);
    return byte;
}

// What is mapped is not all: the device must be let in, too.
static void require_accessible(const struct sp_alias *alias) {
    CUstream stream = simulated_stream();
    assert_int_equal(sp_driver->cuMemsetD8Async(alias->address, 5, alias->size, stream),
                     CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamSynchronize(stream), CUDA_SUCCESS);
    simulated_destroy(stream);
}

static void extents_lie_side_by_side_in_the_order_that_was_asked_for(void **state) {
    (void)state;
    struct sp_extent *const list[] = {extents[3], extents[0], extents[2]};
    for (size_t i = 0; i < EXTENTS; i++)
        write_byte(extents[i]->address + extents[i]->size - 1, (unsigned char)(i + 1));
    struct sp_alias *alias = open_alias(list, 3);
    assert_ptr_equal(alias->owner, &owner);
    assert_int_equal(alias->size, 8 * GRANULE);
    assert_int_equal(alias->count, 3);
    assert_int_equal(alias->mapped, 3);
    CUdeviceptr address = alias->address;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(alias->entries[i].address, address);
        assert_int_equal(alias->entries[i].size, list[i]->size);
        assert_ptr_equal(alias->entries[i].extent, list[i]);
        address += list[i]->size;
    }
    assert_int_equal(byte_at(alias->address + 4 * GRANULE - 1), 4);
    assert_int_equal(byte_at(alias->address + 5 * GRANULE - 1), 1);
    assert_int_equal(byte_at(alias->address + 8 * GRANULE - 1), 3);
    write_byte(alias->address + 5 * GRANULE, 42);
    assert_int_equal(byte_at(extents[2]->address), 42);
    require_accessible(alias);
    close_alias(alias);
    assert_int_equal(byte_at(extents[2]->address), 5); // its home is what it was
}

static void an_extent_knows_its_aliases(void **state) {
    (void)state;
    struct sp_extent *const twice[] = {extents[1], extents[0], extents[1]};
    struct sp_alias *first = open_alias(extents, EXTENTS), *second = open_alias(twice, 3);
    int count = 0;
    SP_LIST_FOR_EACH(link, &extents[1]->aliases) {
        const struct sp_alias_entry *entry = SP_CONTAINER_OF(link, struct sp_alias_entry, link);
        assert_true(entry->alias == first || entry->alias == second);
        assert_ptr_equal(entry->extent, extents[1]);
        count++;
    }
    assert_int_equal(count, 3);
    close_alias(first);
    close_alias(second);
    assert_true(sp_list_empty(&extents[1]->aliases));
}

static void one_entry_can_be_unmapped_alone(void **state) {
    (void)state;
    struct sp_alias *alias = open_alias(extents, EXTENTS);
    unsigned char byte;
    assert_done(sp_alias_unmap(&alias->entries[1]));
    assert_int_equal(alias->mapped, EXTENTS - 1);
    assert_true(sp_list_empty(&extents[1]->aliases));
    assert_int_not_equal(simcudaPeek(&byte, alias->entries[1].address, 1), CUDA_SUCCESS);
    assert_int_equal(byte_at(alias->entries[2].address), 0);
    uint64_t calls = simcudaCallCount("cuMemUnmap");
    assert_done(sp_alias_unmap(&alias->entries[1])); // it is unmapped
    assert_int_equal(simcudaCallCount("cuMemUnmap"), calls);
    assert_done(sp_view_unmap(&view, extents[1]));
    extents[1] = NULL;
    close_alias(alias);
}

static void an_alias_that_fails_leaves_nothing(void **state) {
    (void)state;
    static const char *const entries[] = {"cuMemMap", "cuMemSetAccess"};
    simcudaLive before, after;
    simcudaGetLive(&before);
    for (uint64_t nth = 1; nth <= EXTENTS + 1; nth++) {
        struct sp_alias *alias = (void *)&owner;
        assert_int_equal(simcudaFailCall(entries[nth > EXTENTS], nth > EXTENTS ? 1 : nth,
                                         simcudaFaultOnce, CUDA_ERROR_NOT_SUPPORTED),
                         0);
        assert_failed_in(sp_alias_open(&alias, &owner, &space, NULL, extents, EXTENTS),
                         CUDA_ERROR_NOT_SUPPORTED, entries[nth > EXTENTS]);
        assert_null(alias);
        simcudaFailClear();
        simcudaGetLive(&after);
        assert_int_equal(after.mappings, before.mappings);
        for (size_t i = 0; i < EXTENTS; i++)
            assert_true(sp_list_empty(&extents[i]->aliases));
    }
    close_alias(open_alias(extents, EXTENTS));
}

static void what_can_not_be_undone_is_told_and_has_its_owner(void **state) {
    (void)state;
    struct sp_alias *alias = NULL;
    assert_int_equal(simcudaFailCall("cuMemMap", 4, simcudaFaultOnce, CUDA_ERROR_NOT_SUPPORTED), 0);
    assert_int_equal(simcudaFailCall("cuMemUnmap", 2, simcudaFaultOnce, CUDA_ERROR_UNKNOWN), 0);
    assert_failed_in(sp_alias_open(&alias, &owner, &space, NULL, extents, EXTENTS),
                     CUDA_ERROR_NOT_SUPPORTED, "cuMemMap");
    assert_non_null(alias);
    assert_ptr_equal(alias->owner, &owner);
    assert_int_equal(alias->mapped, 1); // the others were unmapped nevertheless
    assert_ptr_equal(alias->entries[1].extent, extents[1]);
    assert_null(alias->entries[3].extent);
    close_alias(alias);
}

static void an_extent_with_an_alias_is_not_unmapped_from_the_back(void **state) {
    (void)state;
    struct sp_alias *alias = open_alias(&extents[2], 1);
    size_t mapped = extents[3]->size;
    sp_view_unmap_back(&view, extents[3]->address, &mapped);
    assert_int_equal(mapped, 0);
    extents[3] = NULL;
    mapped = extents[2]->size;
    sp_view_unmap_back(&view, extents[2]->address, &mapped);
    assert_int_equal(mapped, extents[2]->size);
    close_alias(alias);
}

static void without_host_memory_or_address_space_there_is_no_alias(void **state) {
    (void)state;
    struct sp_alias *alias = (void *)&owner;
    struct sp_extent *many[32];
    uint64_t failed;
    for (size_t i = 0; i < 32; i++)
        many[i] = extents[3];
    host_memory_enter(1, false);
    assert_cause(sp_alias_open(&alias, &owner, &space, NULL, extents, EXTENTS), SP_NO_HOST_MEMORY);
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    assert_null(alias);
    assert_int_equal(
        simcudaFailCall("cuMemAddressReserve", 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY),
        0);
    assert_of_driver(sp_alias_open(&alias, &owner, &space, NULL, many, 32),
                     CUDA_ERROR_OUT_OF_MEMORY);
    assert_null(alias);
}

static void the_pieces_of_an_alias_are_counted(void **state) {
    (void)state;
    struct sp_alias *alias = open_alias(extents, EXTENTS);
    CUdeviceptr address = alias->address;
    size_t size = alias->size;
    assert_int_equal(sp_page_map_count_pieces(address, size), EXTENTS);
    close_alias(alias);
    assert_int_equal(sp_page_map_count_pieces(address, size), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_pieces_of_an_alias_are_counted),
        TEST(extents_lie_side_by_side_in_the_order_that_was_asked_for),
        TEST(an_extent_knows_its_aliases),
        TEST(one_entry_can_be_unmapped_alone),
        TEST(an_alias_that_fails_leaves_nothing),
        TEST(what_can_not_be_undone_is_told_and_has_its_owner),
        TEST(an_extent_with_an_alias_is_not_unmapped_from_the_back),
        TEST(without_host_memory_or_address_space_there_is_no_alias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
