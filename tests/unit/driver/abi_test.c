// Our declarations of the driver's ABI are the toolkit's. That the signatures are the same was
// already checked when abi_facts_toolkit.c was compiled.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abi_facts.h"

static void every_size_offset_and_value_is_the_toolkits(void **state) {
    (void)state;
    size_t different = 0;
    const struct abi_fact *toolkit = abi_facts_toolkit;
    for (const struct abi_fact *ours = abi_facts_ours; ours->name; ours++, toolkit++) {
        assert_non_null(toolkit->name);
        assert_string_equal(ours->name, toolkit->name);
        if (ours->value != toolkit->value) {
            print_error("%s: %lld here, %lld in the toolkit\n", ours->name, ours->value,
                        toolkit->value);
            different++;
        }
    }
    assert_null(toolkit->name);
    assert_int_equal(different, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_offset_and_value_is_the_toolkits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
