#include "stress/rows.h"
#include "support/device.h"
#include "support/simulated.h"

static const struct test_row rows[] = {STRESS_ROWS(TEST_ROW_ENTRY)};
static const struct test_row helpers[] = {STRESS_HELPERS(TEST_ROW_ENTRY)};

static const struct test_group groups[] = {
    {"threads", rows, sizeof rows / sizeof rows[0]},
    {TEST_HELPERS, helpers, sizeof helpers / sizeof helpers[0]},
};

static void prepare(void) {
    test_use_device(0);
    test_load_kernels();
}

static const struct test_program program = {
    .purpose = "Many threads in the library at once.",
    .groups = groups,
    .group_count = sizeof groups / sizeof groups[0],
    .prepare = prepare,
    .conclude = test_require_no_complaints,
};

int main(int argc, char **argv) {
    return test_main(argc, argv, &program);
}
