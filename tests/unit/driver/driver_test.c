#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "base/thread.h"
#include "driver/driver.h"
#include "fake_driver.h"
#include "order/identity.h"
#include "unit/base/child.h"

#define MAX_ENTRIES 256

enum origin { NOWHERE, EXPORTED, ASKED, ELSEWHERE };

// What one load in a fresh process came to.
struct result {
    CUresult error;
    CUresult second_error;
    bool same_driver_twice;
    bool published;
    bool problem_before_is_empty;
    char problem[16384];
    int version;
    int api_version;
    bool path_as_named;
    char path[PATH_MAX + 64];
    bool watches_for_forks;
    bool identifies; // streams by the driver's ids
    int init_calls;
    int lock_events;
    enum origin origins[MAX_ENTRIES];
    struct fake_record records[MAX_ENTRIES];
};

static struct child_outcome outcome;
static struct result result;

static void *fake_symbol(const char *name) {
    void *library = dlopen(getenv("STREAMPOOL_DRIVER"), RTLD_NOW | RTLD_NOLOAD);
    return library ? dlsym(library, name) : NULL;
}

static enum origin origin_of(const void *function, const struct fake_record *record) {
    if (!function)
        return NOWHERE;
    if (!record)
        return ELSEWHERE;
    return function == record->exported ? EXPORTED : function == record->asked ? ASKED : ELSEWHERE;
}

// Which of the library's functions each entry was bound to, and how the library was asked for it.
static void look_at_entries(const struct sp_driver *driver, struct result *seen) {
    struct fake_record *(*record_of)(const char *name);
    void *symbol = fake_symbol("fake_record_of");
    if (!symbol)
        return;
    memcpy(&record_of, &symbol, sizeof(symbol));
    for (size_t i = 0; i < sp_driver_entry_count; i++) {
        const struct fake_record *record = record_of(sp_driver_entries[i].name);
        if (record)
            seen->records[i] = *record;
        if (driver) {
            void *function;
            memcpy(&function, (const char *)driver + sp_driver_entries[i].offset, sizeof(function));
            seen->origins[i] = origin_of(function, record);
        }
    }
    const struct fake_record *init = record_of("cuInit");
    seen->init_calls = init ? init->calls : 0;
}

static void look_at_lock_hook(struct result *seen) {
    const int *events = fake_symbol("fake_lock_events");
    if (!events)
        return;
    struct sp_lock lock = {0};
    int before = *events;
    sp_lock_acquire(&lock);
    sp_lock_release(&lock);
    seen->lock_events = *events - before;
}

static void load(void *shared) {
    struct result *seen = shared;
    const struct sp_driver *driver = NULL;
    const struct sp_driver *again = NULL;
    seen->problem_before_is_empty = sp_driver_problem()[0] == '\0' && !sp_driver;
    seen->error = sp_driver_load(&driver);
    seen->second_error = sp_driver_load(&again);
    seen->same_driver_twice = driver == again;
    seen->published = driver && sp_driver == driver;
    strncpy(seen->problem, sp_driver_problem(), sizeof(seen->problem) - 1);
    look_at_entries(driver, seen);
    if (!driver)
        return;
    int told = 0;
    bool same = sp_driver_find_version(&told) == CUDA_SUCCESS && told == driver->version;
    seen->version = same ? told : 0;
    seen->api_version = driver->api_version;
    snprintf(seen->path, sizeof(seen->path), "%s", driver->path);
    seen->path_as_named = strcmp(driver->path, getenv("STREAMPOOL_DRIVER")) == 0;
    seen->identifies = sp_identity_now() == &sp_identified;
    look_at_lock_hook(seen);
}

static void load_in_child(const char *library, const char *driver_version, const char *api) {
    unsetenv("FAKE_VERSION");
    unsetenv("STREAMPOOL_DRIVER_API");
    setenv("STREAMPOOL_DRIVER", library, 1);
    if (driver_version)
        setenv("FAKE_VERSION", driver_version, 1);
    if (api)
        setenv("STREAMPOOL_DRIVER_API", api, 1);
    assert_true(sp_driver_entry_count <= MAX_ENTRIES);
    assert_true(child_run(load, &result, sizeof(result), &outcome));
    assert_int_equal(outcome.status, 0);
    assert_true(result.problem_before_is_empty);
}

static void assert_loaded(void) {
    assert_string_equal(result.problem, "");
    assert_int_equal(result.error, CUDA_SUCCESS);
    assert_int_equal(result.second_error, CUDA_SUCCESS);
    assert_true(result.published);
    assert_true(result.same_driver_twice);
}

static void assert_refused(CUresult error) {
    assert_int_equal(result.error, error);
    assert_int_equal(result.second_error, error);
    assert_false(result.published);
}

static void assert_problem_names(const char *text) {
    if (!strstr(result.problem, text))
        fail_msg("\"%s\" is not in the problem: %s", text, result.problem);
}

static void assert_problem_does_not_name(const char *text) {
    if (strstr(result.problem, text))
        fail_msg("\"%s\" is in the problem: %s", text, result.problem);
}

// Every entry up to `api` comes from `origin`; those above it are null.
static void assert_origins(enum origin origin, int api) {
    for (size_t i = 0; i < sp_driver_entry_count; i++) {
        enum origin expected = sp_driver_entries[i].version <= api ? origin : NOWHERE;
        if (result.origins[i] != expected)
            fail_msg("%s: origin %d, expected %d", sp_driver_entries[i].name, result.origins[i],
                     expected);
    }
}

static void assert_never_asked(void) {
    for (size_t i = 0; i < sp_driver_entry_count; i++)
        assert_int_equal(result.records[i].asked_parameters, 0);
}

static void assert_asked_by_form(int parameters) {
    for (size_t i = 0; i < sp_driver_entry_count; i++) {
        if (sp_driver_entries[i].version > result.api_version) {
            assert_int_equal(result.records[i].asked_parameters, 0);
            continue;
        }
        assert_int_equal(result.records[i].asked_parameters, parameters);
        assert_int_equal(result.records[i].asked_version, sp_driver_entries[i].version);
        assert_int_equal(result.records[i].asked_flags, 0);
    }
}

static void
a_driver_of_12_0_is_asked_by_the_form_with_a_status_for_the_tables_versions(void **state) {
    (void)state;
    load_in_child(FAKE_COMPLETE, "12000", NULL);
    assert_loaded();
    assert_origins(ASKED, 12000);
    assert_asked_by_form(5);
}

static void a_driver_of_11_3_is_asked_by_the_form_with_four_parameters(void **state) {
    (void)state;
    load_in_child(FAKE_FORM_11030, "11030", NULL);
    assert_loaded();
    assert_origins(ASKED, 11030);
    assert_asked_by_form(4);
}

static void a_new_driver_that_has_only_the_old_form_is_asked_by_it(void **state) {
    (void)state;
    load_in_child(FAKE_FORM_11030, "12080", NULL);
    assert_loaded();
    assert_origins(ASKED, 12080);
    assert_asked_by_form(4);
}

static void a_driver_without_get_proc_address_is_searched_by_symbol(void **state) {
    (void)state;
    load_in_child(FAKE_EXPORTS_ONLY, "12080", NULL);
    assert_loaded();
    assert_origins(EXPORTED, 12080);
}

static void a_driver_of_10_2_is_enough(void **state) {
    (void)state;
    load_in_child(FAKE_EXPORTS_ONLY, "10020", NULL);
    assert_loaded();
    assert_origins(EXPORTED, 10020);
}

static void what_was_loaded_is_described(void **state) {
    (void)state;
    load_in_child(FAKE_COMPLETE, "12080", NULL);
    assert_loaded();
    assert_int_equal(result.version, 12080);
    assert_int_equal(result.api_version, 12080);
    assert_true(result.path_as_named);
    assert_int_equal(result.init_calls, 1);
}

static void a_cap_hides_newer_entry_points_and_get_proc_address(void **state) {
    (void)state;
    load_in_child(FAKE_COMPLETE, "12080", "10020");
    assert_loaded();
    assert_int_equal(result.version, 12080);
    assert_int_equal(result.api_version, 10020);
    assert_origins(EXPORTED, 10020);
    assert_never_asked();
}

static void a_cap_between_11_3_and_12_0_leaves_the_old_form(void **state) {
    (void)state;
    load_in_child(FAKE_COMPLETE, "12080", "11080");
    assert_loaded();
    assert_origins(ASKED, 11080);
    assert_asked_by_form(4);
}

static void a_cap_above_the_drivers_version_changes_nothing(void **state) {
    (void)state;
    load_in_child(FAKE_COMPLETE, "11080", "13000");
    assert_loaded();
    assert_int_equal(result.api_version, 11080);
}

static enum origin origin_of_entry(const char *name) {
    size_t i = 0;
    while (strcmp(sp_driver_entries[i].name, name) != 0)
        i++;
    return result.origins[i];
}

static void load_ids(const char *library) {
    load_in_child(library, "12080", NULL);
    assert_loaded();
    assert_int_equal(origin_of_entry("cuCtxRecordEvent"), ASKED);
    assert_int_equal(origin_of_entry("cuStreamGetId"), origin_of_entry("cuCtxGetId"));
}

static void ids_of_streams_are_used_only_beside_ids_of_contexts(void **state) {
    (void)state;
    load_ids(FAKE_COMPLETE);
    assert_int_equal(origin_of_entry("cuStreamGetId"), ASKED);
    assert_true(result.identifies);
    load_ids(FAKE_STREAM_IDS);
    assert_int_equal(origin_of_entry("cuStreamGetId"), NOWHERE);
    assert_false(result.identifies);
    load_ids(FAKE_CONTEXT_IDS);
    assert_int_equal(origin_of_entry("cuStreamGetId"), NOWHERE);
    assert_false(result.identifies);
}

static void a_library_that_does_not_exist_is_named_with_the_reason(void **state) {
    (void)state;
    load_in_child("/nowhere/libnothing.so", NULL, NULL);
    assert_refused(CUDA_ERROR_NOT_FOUND);
    assert_problem_names("no CUDA driver");
    assert_problem_names("STREAMPOOL_DRIVER=/nowhere/libnothing.so");
    assert_problem_names("No such file");
}

static void a_word_for_a_driver_is_a_soname_like_any_other(void **state) {
    (void)state;
    load_in_child("simulated", NULL, NULL);
    assert_refused(CUDA_ERROR_NOT_FOUND);
    assert_problem_names("STREAMPOOL_DRIVER=simulated could not be loaded");
}

// A file in the folder of this program, which the library is linked into.
static const char *beside_program(const char *name, char path[PATH_MAX + 64]) {
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(length > 0);
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    snprintf(path, PATH_MAX + 64, "%s/%s", program, name);
    return path;
}

static void sim_is_the_simulated_driver_beside_the_program(void **state) {
    (void)state;
    char path[PATH_MAX + 64];
    beside_program("libstreampool_simcuda.so", path);
    unlink(path); // of a run that was cut short
    assert_int_equal(symlink(FAKE_COMPLETE, path), 0);
    load_in_child("sim", NULL, NULL);
    assert_int_equal(unlink(path), 0);
    assert_string_equal(result.problem, "");
    assert_int_equal(result.error, CUDA_SUCCESS);
    assert_string_equal(result.path, path);
}

static void
sim_with_nothing_beside_the_program_is_refused_with_where_it_was_looked_for(void **state) {
    (void)state;
    char path[PATH_MAX + 64];
    load_in_child("sim", NULL, NULL);
    assert_refused(CUDA_ERROR_NOT_FOUND);
    assert_problem_names("no CUDA driver: STREAMPOOL_DRIVER=sim: ");
    assert_problem_names(beside_program("libstreampool_simcuda.so could not be loaded (", path));
    assert_problem_names("No such file");
}

static void a_name_that_makes_the_path_too_long_is_not_looked_for(void **state) {
    (void)state;
    static char name[PATH_MAX], path[PATH_MAX];
    memset(name, 'x', sizeof name - 1);
    assert_false(sp_driver_path_beside(name, path));
    assert_string_equal(path, "");
}

static void every_missing_required_entry_point_is_named_and_no_other(void **state) {
    (void)state;
    load_in_child(FAKE_LACKING, "12080", NULL);
    assert_refused(CUDA_ERROR_NOT_SUPPORTED);
    assert_problem_names(FAKE_LACKING);
    assert_problem_names(" lacks ");
    assert_problem_names("cuMemMap");
    assert_problem_names("cuEventQuery");
    assert_problem_does_not_name("cuStreamGetId");
    assert_problem_does_not_name("cuMemPoolTrimTo");
    assert_problem_does_not_name("cuMemUnmap");
    assert_int_equal(result.init_calls, 0);
}

static void missing_symbols_are_named_like_missing_answers(void **state) {
    (void)state;
    load_in_child(FAKE_LACKING, "10020", NULL);
    assert_refused(CUDA_ERROR_NOT_SUPPORTED);
    assert_problem_names("cuEventQuery, cuMemMap");
    assert_problem_does_not_name("cuMemPoolTrimTo");
}

static void missing_optional_and_client_entry_points_stay_null(void **state) {
    (void)state;
    load_in_child(FAKE_COMPLETE, "10020", NULL);
    assert_loaded();
    for (size_t i = 0; i < sp_driver_entry_count; i++) {
        if (sp_driver_entries[i].version > 10020) {
            assert_int_not_equal(sp_driver_entries[i].need, SP_NEED_REQUIRED);
            assert_int_equal(result.origins[i], NOWHERE);
        }
    }
}

static void a_library_that_is_no_driver_is_told_all_that_it_lacks(void **state) {
    (void)state;
    load_in_child(FAKE_EMPTY, NULL, NULL);
    assert_refused(CUDA_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < sp_driver_entry_count; i++) {
        if (sp_driver_entries[i].need == SP_NEED_REQUIRED)
            assert_problem_names(sp_driver_entries[i].name);
    }
}

static void a_driver_that_does_not_say_its_version_lacks_just_that(void **state) {
    (void)state;
    load_in_child(FAKE_UNVERSIONED, NULL, NULL);
    assert_refused(CUDA_ERROR_NOT_SUPPORTED);
    assert_problem_names(" lacks cuDriverGetVersion");
    assert_problem_does_not_name(",");
}

static void a_driver_older_than_10_2_is_told_so_with_what_it_lacks(void **state) {
    (void)state;
    load_in_child(FAKE_COMPLETE, "10010", NULL);
    assert_refused(CUDA_ERROR_NOT_SUPPORTED);
    assert_problem_names("driver too old: CUDA 10.1, 10.2 or newer is needed");
    assert_problem_names("cuMemCreate");
    assert_problem_does_not_name("STREAMPOOL_DRIVER_API");
    assert_int_equal(result.init_calls, 0);
}

static void a_cap_below_10_2_is_named_as_the_reason(void **state) {
    (void)state;
    load_in_child(FAKE_COMPLETE, "12080", "9020");
    assert_refused(CUDA_ERROR_NOT_SUPPORTED);
    assert_problem_names("driver too old: CUDA 9.2 as STREAMPOOL_DRIVER_API=9020 limits it");
}

static void a_failing_init_is_named_with_its_code_and_not_tried_again(void **state) {
    (void)state;
    setenv("FAKE_cuInit", "100", 1);
    load_in_child(FAKE_COMPLETE, NULL, NULL);
    unsetenv("FAKE_cuInit");
    assert_refused(CUDA_ERROR_NO_DEVICE);
    assert_problem_names("cuInit");
    assert_problem_names("CUDA_ERROR_NO_DEVICE (100)");
    assert_int_equal(result.init_calls, 1);
}

static void a_version_that_can_not_be_read_is_named_with_its_code(void **state) {
    (void)state;
    setenv("FAKE_cuDriverGetVersion", "34", 1);
    load_in_child(FAKE_COMPLETE, NULL, NULL);
    unsetenv("FAKE_cuDriverGetVersion");
    assert_refused(CUDA_ERROR_STUB_LIBRARY);
    assert_problem_names("cuDriverGetVersion");
    assert_problem_names("CUDA_ERROR_STUB_LIBRARY (34)");
}

static void the_default_library_is_named_when_none_is_chosen(void **state) {
    (void)state;
    load_in_child("", NULL, NULL);
    if (result.error == CUDA_SUCCESS)
        skip();
    assert_problem_names("libcuda.so.1");
    assert_problem_names("; `streampool run --sim` takes a simulated one");
}

static void nothing_is_printed_unless_a_log_is_wanted(void **state) {
    (void)state;
    load_in_child(FAKE_LACKING, NULL, NULL);
    assert_string_equal(outcome.errors, "");
    setenv("STREAMPOOL_LOG", "error", 1);
    load_in_child(FAKE_LACKING, NULL, NULL);
    unsetenv("STREAMPOOL_LOG");
    assert_non_null(strstr(outcome.errors, "streampool: driver library "));
}

static void the_lock_hook_of_a_simulated_driver_is_installed(void **state) {
    (void)state;
    load_in_child(FAKE_COMPLETE, NULL, NULL);
    assert_loaded();
    assert_int_equal(result.lock_events, 1);
}

struct thread_view {
    pthread_barrier_t *start;
    const struct sp_driver *driver;
    CUresult error;
};

static void *load_in_thread(void *argument) {
    struct thread_view *view = argument;
    pthread_barrier_wait(view->start);
    view->error = sp_driver_load(&view->driver);
    return NULL;
}

static void load_from_two_threads(void *shared) {
    struct result *seen = shared;
    pthread_barrier_t start;
    pthread_t threads[2];
    struct thread_view views[2] = {{.start = &start}, {.start = &start}};
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&threads[i], NULL, load_in_thread, &views[i]) != 0)
            _exit(1);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    seen->error = views[0].error;
    seen->second_error = views[1].error;
    seen->same_driver_twice = views[0].driver == views[1].driver;
    seen->published = sp_driver && sp_driver == views[0].driver;
    look_at_entries(views[0].driver, seen);
}

static void two_threads_that_load_at_once_get_the_same_driver_from_one_load(void **state) {
    (void)state;
    unsetenv("FAKE_VERSION");
    unsetenv("STREAMPOOL_DRIVER_API");
    setenv("STREAMPOOL_DRIVER", FAKE_COMPLETE, 1);
    assert_true(child_run(load_from_two_threads, &result, sizeof(result), &outcome));
    assert_int_equal(outcome.status, 0);
    assert_loaded();
    assert_int_equal(result.init_calls, 1);
}

static void note_forked(void *seen) {
    *(bool *)seen = sp_fork_is_child();
}

static void load_and_fork(void *shared) {
    struct result *seen = shared;
    const struct sp_driver *driver;
    static struct child_outcome inner;
    seen->error = sp_driver_load(&driver);
    if (!child_run(note_forked, &seen->watches_for_forks, sizeof(seen->watches_for_forks), &inner))
        _exit(1);
}

static void a_child_of_a_process_that_loaded_knows_that_it_is_forked(void **state) {
    (void)state;
    setenv("STREAMPOOL_DRIVER", FAKE_COMPLETE, 1);
    assert_true(child_run(load_and_fork, &result, sizeof(result), &outcome));
    assert_int_equal(result.error, CUDA_SUCCESS);
    assert_true(result.watches_for_forks);
}

static void find_version(void *shared) {
    struct result *seen = shared;
    seen->version = -1;
    seen->error = sp_driver_find_version(&seen->version);
    seen->second_error = sp_driver_find_version(&seen->version);
    seen->published = sp_driver != NULL;
    strncpy(seen->problem, sp_driver_problem(), sizeof(seen->problem) - 1);
    look_at_entries(NULL, seen);
}

static void find_version_in_child(const char *library, const char *driver_version) {
    unsetenv("STREAMPOOL_DRIVER_API");
    setenv("STREAMPOOL_DRIVER", library, 1);
    setenv("FAKE_VERSION", driver_version, 1);
    assert_true(child_run(find_version, &result, sizeof(result), &outcome));
    assert_int_equal(outcome.status, 0);
    assert_int_equal(result.init_calls, 0);
    assert_int_equal(result.second_error, result.error);
    assert_false(result.published);
}

// Neither is one that is too old, or lacks what the library needs.
static void a_driver_that_tells_its_version_is_not_started(void **state) {
    (void)state;
    static const char *const libraries[] = {FAKE_COMPLETE, FAKE_LACKING};
    static const int versions[] = {12080, 9020};
    for (int i = 0; i < 4; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", versions[i % 2]);
        find_version_in_child(libraries[i / 2], text);
        assert_int_equal(result.error, CUDA_SUCCESS);
        assert_int_equal(result.version, versions[i % 2]);
        assert_string_equal(result.problem, "");
        assert_never_asked();
    }
}

static void where_no_driver_tells_its_version_the_reason_is_told(void **state) {
    (void)state;
    find_version_in_child("/nowhere/libnothing.so", "12080");
    assert_int_equal(result.error, CUDA_ERROR_NOT_FOUND);
    assert_problem_names("STREAMPOOL_DRIVER=/nowhere/libnothing.so");
    find_version_in_child(FAKE_UNVERSIONED, "12080");
    assert_int_equal(result.error, CUDA_ERROR_NOT_SUPPORTED);
    assert_problem_names(" lacks cuDriverGetVersion");
    setenv("FAKE_cuDriverGetVersion", "34", 1);
    find_version_in_child(FAKE_COMPLETE, "12080");
    unsetenv("FAKE_cuDriverGetVersion");
    assert_int_equal(result.error, CUDA_ERROR_STUB_LIBRARY);
    assert_problem_names("CUDA_ERROR_STUB_LIBRARY (34)");
    assert_int_equal(result.version, -1);
}

static void the_required_entry_points_all_exist_in_10_2(void **state) {
    (void)state;
    for (size_t i = 0; i < sp_driver_entry_count; i++) {
        if (sp_driver_entries[i].need == SP_NEED_REQUIRED)
            assert_true(sp_driver_entries[i].version <= 10020);
    }
}

static CUresult wait_in_the_driver(void) {
    pthread_testcancel();
    return CUDA_SUCCESS;
}

static void *call_when_asked_to_end(void *said) {
    pthread_cancel(pthread_self());
    *(struct sp_outcome *)said = sp_outcome_of_driver(wait_in_the_driver(), "cuCtxSynchronize");
    pthread_testcancel();
    return NULL;
}

static void a_thread_that_is_cancelled_ends_behind_a_call_of_the_driver(void **state) {
    (void)state;
    struct sp_outcome said = sp_outcome_of(SP_CAPTURES);
    pthread_t thread;
    void *end;
    assert_int_equal(pthread_create(&thread, NULL, call_when_asked_to_end, &said), 0);
    assert_int_equal(pthread_join(thread, &end), 0);
    assert_ptr_equal(end, PTHREAD_CANCELED);
    assert_true(sp_is_done(said));
}

int main(void) {
    unsetenv("STREAMPOOL_LOG");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            a_driver_of_12_0_is_asked_by_the_form_with_a_status_for_the_tables_versions),
        cmocka_unit_test(a_driver_of_11_3_is_asked_by_the_form_with_four_parameters),
        cmocka_unit_test(a_new_driver_that_has_only_the_old_form_is_asked_by_it),
        cmocka_unit_test(a_driver_without_get_proc_address_is_searched_by_symbol),
        cmocka_unit_test(a_driver_of_10_2_is_enough),
        cmocka_unit_test(what_was_loaded_is_described),
        cmocka_unit_test(a_cap_hides_newer_entry_points_and_get_proc_address),
        cmocka_unit_test(a_cap_between_11_3_and_12_0_leaves_the_old_form),
        cmocka_unit_test(a_cap_above_the_drivers_version_changes_nothing),
        cmocka_unit_test(ids_of_streams_are_used_only_beside_ids_of_contexts),
        cmocka_unit_test(a_library_that_does_not_exist_is_named_with_the_reason),
        cmocka_unit_test(a_word_for_a_driver_is_a_soname_like_any_other),
        cmocka_unit_test(sim_is_the_simulated_driver_beside_the_program),
        cmocka_unit_test(
            sim_with_nothing_beside_the_program_is_refused_with_where_it_was_looked_for),
        cmocka_unit_test(a_name_that_makes_the_path_too_long_is_not_looked_for),
        cmocka_unit_test(every_missing_required_entry_point_is_named_and_no_other),
        cmocka_unit_test(missing_symbols_are_named_like_missing_answers),
        cmocka_unit_test(missing_optional_and_client_entry_points_stay_null),
        cmocka_unit_test(a_library_that_is_no_driver_is_told_all_that_it_lacks),
        cmocka_unit_test(a_driver_that_does_not_say_its_version_lacks_just_that),
        cmocka_unit_test(a_driver_older_than_10_2_is_told_so_with_what_it_lacks),
        cmocka_unit_test(a_cap_below_10_2_is_named_as_the_reason),
        cmocka_unit_test(a_failing_init_is_named_with_its_code_and_not_tried_again),
        cmocka_unit_test(a_version_that_can_not_be_read_is_named_with_its_code),
        cmocka_unit_test(a_driver_that_tells_its_version_is_not_started),
        cmocka_unit_test(where_no_driver_tells_its_version_the_reason_is_told),
        cmocka_unit_test(the_default_library_is_named_when_none_is_chosen),
        cmocka_unit_test(nothing_is_printed_unless_a_log_is_wanted),
        cmocka_unit_test(the_lock_hook_of_a_simulated_driver_is_installed),
        cmocka_unit_test(two_threads_that_load_at_once_get_the_same_driver_from_one_load),
        cmocka_unit_test(a_child_of_a_process_that_loaded_knows_that_it_is_forked),
        cmocka_unit_test(the_required_entry_points_all_exist_in_10_2),
        cmocka_unit_test(a_thread_that_is_cancelled_ends_behind_a_call_of_the_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
