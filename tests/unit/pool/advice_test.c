// What a refusal advises helps, on a device with virtual memory and on one without.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "unit/pool/advice.h"

enum { SEEDS = 250 };

static void play(const char *device) {
    unsigned refused = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        char detail[1024] = "";
        scene_open(seed, device);
        scene_take_steps();
        const char *text = advice_refuse();
        if (text)
            snprintf(detail, sizeof detail, "%s", text);
        if (text && !advice_is_as_said(seed, detail))
            fail_msg("seed %u, %zu bytes: %s\n then: %s", (unsigned)seed, advice_request.size,
                     detail, poolGetLastErrorDetail());
        refused += text != NULL;
        assert_int_equal(fixture_teardown(NULL), 0);
    }
    assert_true(refused > SEEDS / 4);
}

static void what_a_refusal_advises_helps(void **state) {
    (void)state;
    play("");
}

static void so_it_does_without_virtual_memory(void **state) {
    (void)state;
    play(",vmm=missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_refusal_advises_helps),
        cmocka_unit_test(so_it_does_without_virtual_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
