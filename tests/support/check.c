#include "support/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "driver/driver.h"

static char subject[128];
static char context[256];

void test_set_subject(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(subject, sizeof subject, format, arguments);
    va_end(arguments);
}

void test_set_context(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(context, sizeof context, format, arguments);
    va_end(arguments);
}

// One write, without stdio's lock or buffer: another thread may be in the middle of a failure too.
static void write_line(char *line, size_t room, int length) {
    size_t bytes = length < 0 ? 0 : (size_t)length;
    if (bytes > room - 2)
        bytes = room - 2;
    line[bytes++] = '\n';
    if (write(STDOUT_FILENO, line, bytes) < 0)
        _exit(TEST_FAILED);
}

_Noreturn void test_fail(const char *file, int line, const char *format, ...) {
    char reason[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, sizeof reason, format, arguments);
    va_end(arguments);

    char text[1400];
    const char *slash = strrchr(file, '/');
    int length = snprintf(text, sizeof text, "%s FAIL %s:%d: %s%s%s", subject,
                          slash ? slash + 1 : file, line, context, *context ? ": " : "", reason);
    write_line(text, sizeof text, length);
    _exit(TEST_FAILED);
}

_Noreturn void test_skip(const char *reason) {
    char text[512];
    write_line(text, sizeof text, snprintf(text, sizeof text, "%s skip %s", subject, reason));
    _exit(TEST_SKIPPED);
}

void test_expect(const char *file, int line, const char *call, poolError_t error,
                 poolError_t expected) {
    if (error == expected)
        return;
    const char *detail = error == poolSuccess ? "" : poolGetLastErrorDetail();
    test_fail(file, line, "%s returned %s, not %s%s%s", call, poolGetErrorName(error),
              poolGetErrorName(expected), *detail ? ": " : "", detail);
}

void test_driver_call(const char *file, int line, const char *call, CUresult error) {
    if (error != CUDA_SUCCESS)
        test_fail(file, line, "%s returned %s", call, sp_driver_error_name(error));
}

void test_equal(const char *file, int line, const char *what, uint64_t actual, uint64_t expected) {
    if (actual != expected)
        test_fail(file, line, "%s is %" PRIu64 ", not %" PRIu64, what, actual, expected);
}
