#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "unit/base/child.h"

static void without_a_driver_every_code_has_its_own_name(void **state) {
    (void)state;
#define CHECK_NAME(name, number)                                                                   \
    assert_string_equal(sp_driver_error_name((CUresult)(number)), #name);
    SP_DRIVER_ERRORS(CHECK_NAME)
#undef CHECK_NAME
}

static void a_number_that_nobody_knows_has_a_name_too(void **state) {
    (void)state;
    assert_string_equal(sp_driver_error_name((CUresult)12345), "CUDA_ERROR_?");
    assert_string_equal(sp_driver_error_name((CUresult)-1), "CUDA_ERROR_?");
}

struct names {
    char of_not_ready[64];
    char of_invalid_value[64];
};

static void ask_loaded_driver(void *shared) {
    struct names *names = shared;
    const struct sp_driver *driver;
    if (sp_driver_load(&driver) != CUDA_SUCCESS)
        _exit(1);
    strncpy(names->of_not_ready, sp_driver_error_name(CUDA_ERROR_NOT_READY),
            sizeof(names->of_not_ready) - 1);
    strncpy(names->of_invalid_value, sp_driver_error_name(CUDA_ERROR_INVALID_VALUE),
            sizeof(names->of_invalid_value) - 1);
}

static void a_loaded_driver_names_its_errors_and_the_table_the_rest(void **state) {
    (void)state;
    static struct child_outcome outcome;
    struct names names;
    setenv("STREAMPOOL_DRIVER", FAKE_COMPLETE, 1);
    assert_true(child_run(ask_loaded_driver, &names, sizeof(names), &outcome));
    assert_int_equal(outcome.status, 0);
    assert_string_equal(names.of_not_ready, "NAME_FROM_THE_DRIVER");
    assert_string_equal(names.of_invalid_value, "CUDA_ERROR_INVALID_VALUE");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_driver_every_code_has_its_own_name),
        cmocka_unit_test(a_number_that_nobody_knows_has_a_name_too),
        cmocka_unit_test(a_loaded_driver_names_its_errors_and_the_table_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
