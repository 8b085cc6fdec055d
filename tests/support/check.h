// Checks for tests that run in a process of their own: the first one that fails ends the process.
//
// The reason is one line on standard output, "<subject> FAIL <file>:<line>: <what was expected>",
// where the subject is what test_set_subject() named last (a row, or a seed and an operation). The
// process ends by _exit, so that neither held streams nor a broken library can turn a failure into
// a hang. Any thread may fail.
#ifndef STREAMPOOL_TESTS_SUPPORT_CHECK_H
#define STREAMPOOL_TESTS_SUPPORT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include <streampool/streampool.h>

#include "driver/abi.h"

#define TEST_FAILED  1
#define TEST_SKIPPED 77

void test_set_subject(const char *format, ...) __attribute__((format(printf, 1, 2)));

// What the subject is at, which is told between the place and the reason; "" for nothing.
void test_set_context(const char *format, ...) __attribute__((format(printf, 1, 2)));

_Noreturn void test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *reason);

// Behind the macros.
void test_expect(const char *file, int line, const char *call, poolError_t error,
                 poolError_t expected);
void test_driver_call(const char *file, int line, const char *call, CUresult error);
void test_equal(const char *file, int line, const char *what, uint64_t actual, uint64_t expected);

// A call of the pool returns this error.
#define EXPECT(call, error) test_expect(__FILE__, __LINE__, #call, (call), (error))

// A call of the driver that the test itself makes succeeds.
#define DRIVER(call) test_driver_call(__FILE__, __LINE__, #call, (call))

#define REQUIRE(condition)                                                                         \
    ((condition) ? (void)0 : test_fail(__FILE__, __LINE__, "this does not hold: %s", #condition))

#define REQUIRE_EQUAL(actual, expected)                                                            \
    test_equal(__FILE__, __LINE__, #actual, (actual), (expected))

#endif
