#include "unit/pool/refusal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

void says(const char *format, ...) {
    char expected[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(expected, sizeof expected, format, arguments);
    va_end(arguments);
    if (!strstr(poolGetLastErrorDetail(), expected))
        print_error("not said: %s\n in: %s\n", expected, poolGetLastErrorDetail());
    assert_non_null(strstr(poolGetLastErrorDetail(), expected));
}

void does_not_say(const char *words) {
    if (strstr(poolGetLastErrorDetail(), words))
        print_error("said: %s\n in: %s\n", words, poolGetLastErrorDetail());
    assert_null(strstr(poolGetLastErrorDetail(), words));
}

void advises(const char *advice) {
    const char *last = strrchr(poolGetLastErrorDetail(), ';');
    assert_non_null(last);
    assert_string_equal(last + 2, advice);
}

void names_driver(CUresult expected, const char *expected_name) {
    int native = -1;
    const char *name = NULL;
    poolGetLastNativeError(&native, &name);
    assert_int_equal(native, expected);
    assert_string_equal(name, expected_name);
}

void free_behind_work(void *pointer, CUstream stream, size_t unfenced_max) {
    fixture_set(pool, poolMemPoolAttrUnfencedBytesMax, unfenced_max);
    simulated_work(stream);
    fixture_free(pointer, stream);
}
