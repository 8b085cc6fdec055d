// What calls cost by the virtual clock: the figures that were measured on an H200, and lines
// between them.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "simcuda/queue/cost.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

// Rows of the table of calls.
static const struct {
    enum sim_entry entry;
    uint64_t ns;
} calls[] = {
    {SIM_ENTRY_cuCtxGetCurrent, 12},      {SIM_ENTRY_cuCtxGetDevice, 15},
    {SIM_ENTRY_cuStreamGetId, 25},        {SIM_ENTRY_cuStreamGetCtx, 25},
    {SIM_ENTRY_cuStreamIsCapturing, 25},  {SIM_ENTRY_cuThreadExchangeStreamCaptureMode, 10},
    {SIM_ENTRY_cuEventRecord, 200},       {SIM_ENTRY_cuStreamWaitEvent, 200},
    {SIM_ENTRY_cuEventQuery, 275},        {SIM_ENTRY_cuStreamQuery, 275},
    {SIM_ENTRY_cuStreamSynchronize, 370}, {SIM_ENTRY_cuCtxSynchronize, 595},
    {SIM_ENTRY_cuLaunchHostFunc, 2000},   {SIM_ENTRY_cuLaunchKernel, 4000},
    {SIM_ENTRY_cuMemGetInfo_v2, 3700},
};

static void a_call_costs_what_was_measured(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        assert_int_equal(sim_cost_call(calls[i].entry), calls[i].ns);
}

static uint64_t cost(enum sim_entry entry, uint64_t size) {
    return sim_cost_call(entry) + sim_cost_extent(entry, size);
}

static const enum sim_entry entries[] = {
    SIM_ENTRY_cuMemAddressReserve, SIM_ENTRY_cuMemCreate, SIM_ENTRY_cuMemMap,
    SIM_ENTRY_cuMemSetAccess,      SIM_ENTRY_cuMemUnmap,  SIM_ENTRY_cuMemRelease,
    SIM_ENTRY_cuMemAddressFree,
};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

// Rows of the table of the virtual memory calls, in µs.
static const struct {
    uint64_t size;
    double us[ENTRIES];
} extents[] = {
    {2 * MIB, {0.5, 6.6, 0.6, 18, 13, 8.6, 0.4}},  {32 * MIB, {2.0, 13, 0.6, 32, 20, 16, 1.6}},
    {128 * MIB, {1.8, 7.5, 0.6, 32, 20, 41, 1.5}}, {512 * MIB, {2.0, 11, 0.6, 44, 24, 146, 1.9}},
    {2 * GIB, {2.4, 27, 0.8, 83, 37, 504, 2.6}},   {8 * GIB, {2.8, 236, 1.0, 227, 86, 2350, 2.9}},
};

static void an_extent_costs_what_was_measured(void **state) {
    (void)state;
    for (size_t row = 0; row < sizeof extents / sizeof extents[0]; row++)
        for (size_t i = 0; i < ENTRIES; i++)
            assert_int_equal(cost(entries[i], extents[row].size),
                             (uint64_t)(extents[row].us[i] * 1000 + 0.5));
}

static void between_two_sizes_a_call_costs_what_the_line_says(void **state) {
    (void)state;
    assert_int_equal(cost(SIM_ENTRY_cuMemRelease, 320 * MIB), (41000 + 146000) / 2);
    assert_int_equal(cost(SIM_ENTRY_cuMemCreate, 80 * MIB), (13000 + 7500) / 2);
    assert_int_equal(cost(SIM_ENTRY_cuMemUnmap, 5 * GIB), (37000 + 86000) / 2);
}

static void a_small_extent_costs_as_much_as_the_smallest(void **state) {
    (void)state;
    assert_int_equal(cost(SIM_ENTRY_cuMemSetAccess, 4096), 18000);
    assert_int_equal(cost(SIM_ENTRY_cuMemAlloc_v2, 1), cost(SIM_ENTRY_cuMemAlloc_v2, 2 * MIB));
}

// An address range of 64 TiB took 3 µs. Memory goes on to cost by the GiB.
static void beyond_the_sizes_memory_costs_more_and_addresses_do_not(void **state) {
    (void)state;
    assert_int_equal(cost(SIM_ENTRY_cuMemAddressReserve, 65536 * GIB), 2800);
    assert_int_equal(cost(SIM_ENTRY_cuMemAddressFree, 65536 * GIB), 2900);
    assert_int_equal(cost(SIM_ENTRY_cuMemRelease, 14 * GIB), 2350000 + (2350000 - 504000));
}

// A pair of a small size took 69 to 92 µs; cudaMalloc and cudaFree of 2 GiB 241 and 1,166.
static void a_plain_allocation_costs_what_was_measured(void **state) {
    (void)state;
    assert_in_range(cost(SIM_ENTRY_cuMemAlloc_v2, 1024) + cost(SIM_ENTRY_cuMemFree_v2, 1024), 69000,
                    92000);
    assert_int_equal(cost(SIM_ENTRY_cuMemAlloc_v2, 2 * GIB), 241000);
    assert_int_equal(cost(SIM_ENTRY_cuMemFree_v2, 2 * GIB), 1166000);
}

static void an_extent_of_the_host_costs_what_was_measured(void **state) {
    (void)state;
    const struct {
        enum sim_entry entry;
        uint64_t us[4];
    } rows[] = {{SIM_ENTRY_cuMemCreate, {310, 6610, 82000, 346000}},
                {SIM_ENTRY_cuMemSetAccess, {230, 1470, 9800, 38000}},
                {SIM_ENTRY_cuMemUnmap, {170, 1080, 6850, 29000}},
                {SIM_ENTRY_cuMemRelease, {50, 860, 7000, 29000}}};
    const uint64_t measured[] = {2 * MIB, 32 * MIB, 256 * MIB, GIB};
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        uint64_t call = sim_cost_call(rows[row].entry);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(call + sim_cost_host_extent(rows[row].entry, measured[i]),
                             rows[row].us[i] * 1000);
        uint64_t beyond = call + sim_cost_host_extent(rows[row].entry, GIB + 768 * MIB);
        assert_int_equal(beyond, (2 * rows[row].us[3] - rows[row].us[2]) * 1000);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_costs_what_was_measured),
        cmocka_unit_test(an_extent_costs_what_was_measured),
        cmocka_unit_test(an_extent_of_the_host_costs_what_was_measured),
        cmocka_unit_test(between_two_sizes_a_call_costs_what_the_line_says),
        cmocka_unit_test(a_small_extent_costs_as_much_as_the_smallest),
        cmocka_unit_test(beyond_the_sizes_memory_costs_more_and_addresses_do_not),
        cmocka_unit_test(a_plain_allocation_costs_what_was_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
