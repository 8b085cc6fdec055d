#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/thread.h"

static uint64_t clock_of_the_system(void) {
    struct timespec time;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &time), 0);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void it_is_the_clock_that_only_grows(void **state) {
    (void)state;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = clock_of_the_system();
        uint64_t now = sp_time_now();
        assert_in_range(now, before, clock_of_the_system());
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_clock_that_only_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
