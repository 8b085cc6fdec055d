#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <streampool/lists.h>
#include <string.h>

#include "fault/host_memory.h"
#include "region/fail.h"

static void assert_native(CUresult expected, const char *expected_name) {
    CUresult native = CUDA_ERROR_UNKNOWN;
    const char *name = NULL;
    sp_fail_native(&native, &name);
    assert_int_equal(native, expected);
    assert_string_equal(name, expected_name);
}

static void *has_nothing_to_tell(void *answer) {
    CUresult native = CUDA_ERROR_UNKNOWN;
    const char *name = "?";
    sp_fail_native(&native, &name);
    *(int *)answer = native == CUDA_SUCCESS && name[0] == '\0' && sp_fail_detail()[0] == '\0';
    return NULL;
}

static void a_thread_that_failed_nothing_has_nothing_to_tell(void **state) {
    (void)state;
    pthread_t thread;
    int nothing = 0;
    sp_fail_outcome(sp_outcome_of_driver(CUDA_ERROR_UNKNOWN, "cuMemCreate"), "testing");
    assert_int_equal(pthread_create(&thread, NULL, has_nothing_to_tell, &nothing), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(nothing);
}

static void every_driver_error_keeps_its_number_or_is_unknown(void **state) {
    (void)state;
#define IS_KEPT(name, number, text) assert_int_equal(sp_fail_code((CUresult)(number)), name);
    STREAMPOOL_ERRORS(IS_KEPT)
#undef IS_KEPT
    assert_int_equal(sp_fail_code((CUresult)12345), poolErrorUnknown);
    assert_int_equal(sp_fail_code((CUresult)-1), poolErrorUnknown);
    assert_int_equal(sp_fail_code(CUDA_ERROR_STUB_LIBRARY), poolErrorInsufficientDriver);
}

static void a_failure_of_ours_says_its_sentence_and_blames_no_driver(void **state) {
    (void)state;
    sp_fail_outcome(sp_outcome_of_driver(CUDA_ERROR_UNKNOWN, "cuMemMap"), "testing");
    assert_int_equal(sp_fail(poolErrorInvalidValue, "%d is not %s", 7, "eight"),
                     poolErrorInvalidValue);
    assert_string_equal(sp_fail_detail(), "7 is not eight");
    assert_native(CUDA_SUCCESS, "");
}

static void a_failure_of_the_driver_names_the_entry_point_and_its_error(void **state) {
    (void)state;
    struct sp_outcome failed = sp_outcome_of_driver(CUDA_ERROR_LAUNCH_FAILED, "cuEventQuery");
    assert_int_equal(sp_fail_outcome(failed, "asking"), poolErrorLaunchFailure);
    assert_string_equal(sp_fail_detail(), "asking: cuEventQuery returned CUDA_ERROR_LAUNCH_FAILED");
    assert_native(CUDA_ERROR_LAUNCH_FAILED, "cuEventQuery");
}

static void a_fact_of_ours_has_a_code_and_a_sentence_and_blames_no_driver(void **state) {
    (void)state;
    static const struct {
        enum sp_cause cause;
        poolError_t error;
        const char *sentence;
    } facts[] = {
        {SP_NO_HOST_MEMORY, poolErrorMemoryAllocation, "testing: out of host memory"},
        {SP_BEYOND_LIMIT, poolErrorMemoryAllocation, "testing: CUDA_ERROR_OUT_OF_MEMORY"},
        {SP_FORBIDDEN, poolErrorMemoryAllocation, "testing: CUDA_ERROR_OUT_OF_MEMORY"},
        {SP_NOT_SUPPORTED, poolErrorNotSupported, "testing: CUDA_ERROR_NOT_SUPPORTED"},
        {SP_NO_CONTEXT, poolErrorDeviceUninitialized, "testing: CUDA_ERROR_INVALID_CONTEXT"},
        {SP_CAPTURES, poolErrorStreamCaptureUnsupported,
         "testing: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
        {SP_NO_EVENT, poolErrorUnknown, "testing: CUDA_ERROR_UNKNOWN"},
    };
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        sp_fail_outcome(sp_outcome_of_driver(CUDA_ERROR_LAUNCH_FAILED, "cuEventQuery"), "before");
        assert_int_equal(sp_fail_outcome(sp_outcome_of(facts[i].cause), "testing"), facts[i].error);
        assert_string_equal(sp_fail_detail(), facts[i].sentence);
        assert_native(CUDA_SUCCESS, "");
    }
}

static void the_drivers_part_is_added_to_a_sentence_of_ours(void **state) {
    (void)state;
    sp_fail(poolErrorMemoryAllocation, "no room");
    sp_fail_of_driver(sp_outcome_of_driver(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate"));
    assert_string_equal(sp_fail_detail(), "no room");
    assert_native(CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate");
    sp_fail(poolErrorMemoryAllocation, "no room");
    sp_fail_of_driver(sp_outcome_of(SP_BEYOND_LIMIT));
    assert_native(CUDA_SUCCESS, "");
}

static void a_sentence_that_is_too_long_is_cut_and_ended(void **state) {
    (void)state;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    sp_fail(poolErrorUnknown, "%s", text);
    assert_int_equal(strlen(sp_fail_detail()), SP_ERROR_DETAIL - 1);
    sp_fail_outcome(sp_outcome_of_driver(CUDA_ERROR_UNKNOWN, "cuMemMap"), text);
    assert_int_equal(strlen(sp_fail_detail()), SP_ERROR_DETAIL - 1);
}

static void *fail_and_read(void *text) {
    sp_fail(poolErrorUnknown, "of the thread");
    snprintf(text, SP_ERROR_DETAIL, "%s", sp_fail_detail());
    return NULL;
}

static void each_thread_has_its_own_sentence(void **state) {
    (void)state;
    pthread_t thread;
    char text[SP_ERROR_DETAIL];
    sp_fail(poolErrorUnknown, "of the program");
    assert_int_equal(pthread_create(&thread, NULL, fail_and_read, text), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(text, "of the thread");
    assert_string_equal(sp_fail_detail(), "of the program");
}

static char without_memory[SP_ERROR_DETAIL], with_memory[SP_ERROR_DETAIL];

static void *fail_without_memory(void *refused) {
    uint64_t failed;
    host_memory_enter(1, true);
    sp_fail(poolErrorMemoryAllocation, "%0400d", 7);
    snprintf(without_memory, sizeof without_memory, "%s", sp_fail_detail());
    *(bool *)refused = host_memory_leave(&failed) == 1 && failed == 1;
    sp_fail(poolErrorInvalidValue, "no pool");
    snprintf(with_memory, sizeof with_memory, "%s", sp_fail_detail());
    return NULL;
}

// A thread's first failure takes memory for its sentence.
static void a_sentence_that_finds_no_memory_is_cut(void **state) {
    (void)state;
    pthread_t thread;
    bool refused = false;
    assert_int_equal(pthread_create(&thread, NULL, fail_without_memory, &refused), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(refused);
    assert_int_equal(strspn(without_memory, "0"), strlen(without_memory));
    assert_in_range(strlen(without_memory), 64, 399);
    assert_string_equal(with_memory, "no pool");
}

// What a thread reads that finds no memory for its sentence.
struct reading {
    int number;
    pthread_barrier_t *all; // null: it reads alone
    char text[SP_ERROR_DETAIL];
};

static void *fail_short(void *argument) {
    struct reading *reading = argument;
    uint64_t failed;
    host_memory_enter(1, true);
    sp_fail(poolErrorMemoryAllocation, "number %d", reading->number);
    host_memory_leave(&failed);
    if (reading->all)
        pthread_barrier_wait(reading->all);
    snprintf(reading->text, sizeof reading->text, "%s", sp_fail_detail());
    return NULL;
}

static bool has_own(const struct reading *reading) {
    char expected[32];
    snprintf(expected, sizeof expected, "number %d", reading->number);
    return strcmp(reading->text, expected) == 0;
}

enum { CROWD = 40 };

// A thread that ends leaves its place to the next.
static void one_thread_after_the_other_has_its_sentence_without_memory(void **state) {
    (void)state;
    for (int i = 0; i < CROWD; i++) {
        struct reading reading = {.number = i};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, fail_short, &reading), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
        assert_true(has_own(&reading));
    }
}

// Nobody reads what another thread has failed at.
static void of_many_threads_without_memory_some_are_told_so(void **state) {
    (void)state;
    static struct reading readings[CROWD];
    pthread_barrier_t all;
    pthread_t threads[CROWD];
    int own = 0;
    assert_int_equal(pthread_barrier_init(&all, NULL, CROWD), 0);
    for (int i = 0; i < CROWD; i++) {
        readings[i] = (struct reading){.number = i, .all = &all};
        assert_int_equal(pthread_create(&threads[i], NULL, fail_short, &readings[i]), 0);
    }
    for (int i = 0; i < CROWD; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        own += has_own(&readings[i]);
        assert_true(has_own(&readings[i]) ||
                    strcmp(readings[i].text, "there is no host memory for the sentence") == 0);
    }
    assert_int_equal(own, 16);
    pthread_barrier_destroy(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_failed_nothing_has_nothing_to_tell),
        cmocka_unit_test(every_driver_error_keeps_its_number_or_is_unknown),
        cmocka_unit_test(a_failure_of_ours_says_its_sentence_and_blames_no_driver),
        cmocka_unit_test(a_failure_of_the_driver_names_the_entry_point_and_its_error),
        cmocka_unit_test(a_fact_of_ours_has_a_code_and_a_sentence_and_blames_no_driver),
        cmocka_unit_test(the_drivers_part_is_added_to_a_sentence_of_ours),
        cmocka_unit_test(a_sentence_that_is_too_long_is_cut_and_ended),
        cmocka_unit_test(each_thread_has_its_own_sentence),
        cmocka_unit_test(a_sentence_that_finds_no_memory_is_cut),
        cmocka_unit_test(one_thread_after_the_other_has_its_sentence_without_memory),
        cmocka_unit_test(of_many_threads_without_memory_some_are_told_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
