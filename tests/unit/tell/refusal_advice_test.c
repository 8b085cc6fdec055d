// What a refusal advises helps, on a device with virtual memory and on one without.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "unit/fixture/advice.h"

enum { SEEDS = 400 };

static unsigned refused;

static void expect_as_said(void) {
    char detail[1024];
    const char *text = advice_refuse();
    if (!text)
        return;
    refused++;
    snprintf(detail, sizeof detail, "%s", text);
    if (!advice_is_as_said(detail))
        fail_msg("seed %u, %zu bytes: %s\n then: %s", (unsigned)scene.seed, advice_request.size,
                 detail, poolGetLastErrorDetail());
}

static void play(const char *device) {
    refused = 0;
    scene_play(SEEDS, device, expect_as_said);
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
