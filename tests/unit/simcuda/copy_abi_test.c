// The declarations for copies and words of memory are the toolkit's. That the signatures and
// versions are the same was already checked when copy_facts_toolkit.c was compiled.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "copy_facts.h"
#include "simcuda/abi.h"

static const struct copy_fact ours[] = {COPY_FACTS(COPY_FACT){NULL, 0}};

static void every_size_place_and_value_is_the_toolkits(void **state) {
    (void)state;
    for (size_t i = 0; ours[i].name; i++) {
        if (ours[i].value != copy_facts_toolkit[i].value)
            fail_msg("%s: %lld here, %lld in the toolkit", ours[i].name, ours[i].value,
                     copy_facts_toolkit[i].value);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_place_and_value_is_the_toolkits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
