// streampool-conformance: one test for each promise of the pool, on whatever driver there is.
#include <stddef.h>

#include "conformance/rows.h"
#include "support/device.h"
#include "support/runner.h"
#include "support/simulated.h"

static const struct test_row common_rows[] = {COMMON_ROWS(TEST_ROW_ENTRY)};
static const struct test_row two_device_rows[] = {TWO_DEVICE_ROWS(TEST_ROW_ENTRY)};
static const struct test_row simulated_rows[] = {SIMULATED_ROWS(TEST_ROW_ENTRY)};
static const struct test_row gpu_rows[] = {GPU_ROWS(TEST_ROW_ENTRY)};
static const struct test_row driver_rows[] = {DRIVER_ROWS(TEST_ROW_ENTRY)};
static const struct test_row helper_rows[] = {HELPER_ROWS(TEST_ROW_ENTRY)};

#define GROUP(name, rows)                                                                          \
    { name, rows, sizeof(rows) / sizeof(rows)[0] }

// clang-format off
static const struct test_group groups[] = {
    GROUP("common", common_rows),
    GROUP("two-devices", two_device_rows),
    GROUP("simulated", simulated_rows),
    GROUP("gpu", gpu_rows),
    GROUP("driver", driver_rows),
    GROUP(TEST_HELPERS, helper_rows),
};
// clang-format on

static void prepare(void) {
    test_use_device(0);
}

static const struct test_program program = {
    .purpose = "Tests the pool against CUDA's promises, one row for each.",
    .groups = groups,
    .group_count = sizeof groups / sizeof groups[0],
    .prepare = prepare,
    .conclude = test_require_no_complaints,
};

int main(int argc, char **argv) {
    return test_main(argc, argv, &program);
}
