// The fault loops: in each step of the scenario everything that can fail does, once and from then
// on.
#ifndef STREAMPOOL_TESTS_FAULT_ROWS_H
#define STREAMPOOL_TESTS_FAULT_ROWS_H

#include "support/runner.h"

// clang-format off
#define FAULT_ROWS(X) \
    X(nothing_is_left_where_nothing_fails, "the scenario undisturbed: every step succeeds and everything comes back") \
    X(a_driver_call_that_fails_once_is_an_error_that_changes_nothing, "every driver call of every step, failing once") \
    X(driver_calls_that_fail_from_one_on_are_an_error_that_changes_nothing, "the same, and all later ones of its kind too") \
    X(without_identities_a_driver_call_that_fails_once_changes_nothing, "the same on a driver of CUDA 10.2, once") \
    X(without_identities_driver_calls_that_fail_from_one_on_change_nothing, "the same on a driver of CUDA 10.2, from one on") \
    X(a_host_allocation_that_fails_once_is_an_error_that_changes_nothing, "every host allocation of every step, failing once") \
    X(host_allocations_that_fail_from_one_on_are_an_error_that_changes_nothing, "the same, and all later ones too") \
    X(a_host_allocation_that_fails_changes_nothing_wherever_chunks_run_out, "every host allocation, once, with 1 to 64 large blocks live beforehand")
// clang-format on

FAULT_ROWS(TEST_ROW_DECLARE)

#endif
