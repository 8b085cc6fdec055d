// Assertions on outcomes: what a call returned, which is made once.
#ifndef STREAMPOOL_TESTS_UNIT_OUTCOMES_H
#define STREAMPOOL_TESTS_UNIT_OUTCOMES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/outcome.h"

#define assert_outcome(call, expected_cause, expected_code)                                        \
    do {                                                                                           \
        struct sp_outcome got = (call);                                                            \
        assert_int_equal(got.cause, expected_cause);                                               \
        assert_int_equal(got.code, expected_code);                                                 \
    } while (0)

#define assert_done(call) assert_outcome(call, SP_DONE, CUDA_SUCCESS)

// A fact of our own.
#define assert_cause(call, cause) assert_outcome(call, cause, CUDA_SUCCESS)

// The driver failed with this code.
#define assert_of_driver(call, code) assert_outcome(call, SP_DRIVER_FAILED, code)

// The driver failed with this code in this entry point.
#define assert_failed_in(call, expected_code, name)                                                \
    do {                                                                                           \
        struct sp_outcome failed = (call);                                                         \
        assert_of_driver(failed, expected_code);                                                   \
        assert_string_equal(failed.entry_point, name);                                             \
    } while (0)

#define assert_answer(expected, query, ...)                                                        \
    do {                                                                                           \
        bool complete = !(expected);                                                               \
        assert_done(query(__VA_ARGS__, &complete));                                                \
        assert_int_equal(complete, expected);                                                      \
    } while (0)

// A query was answered, by what is complete or by what is pending.
#define assert_complete(query, ...) assert_answer(true, query, __VA_ARGS__)
#define assert_pending(query, ...)  assert_answer(false, query, __VA_ARGS__)

#endif
