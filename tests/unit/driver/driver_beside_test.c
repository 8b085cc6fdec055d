// The simulated driver by its word, from a shared library that a program loads: beside the library,
// wherever that lies and by whatever path it is loaded.
//
//   driver_beside_test LIBRARY
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <streampool/streampool.h>

#include "support/copy.h"
#include "unit/base/child.h"

struct result {
    poolError_t error;
    char detail[1024];
};

static const char *library;
static char folder[PATH_MAX];
static char elsewhere[PATH_MAX + 64]; // a file in that folder

// The library that is asked, in a process of its own.
static const char *asked;

static void find(void *from, const char *name, void *function) {
    void *symbol = dlsym(from, name);
    if (!symbol)
        _exit(1);
    memcpy(function, &symbol, sizeof symbol);
}

static void ask_for_pool(void *shared) {
    struct result *result = shared;
    __typeof__(poolDeviceGetDefaultMemPool) *get_pool;
    __typeof__(poolGetLastErrorDetail) *get_detail;
    poolMemPool_t pool;
    void *loaded = dlopen(asked, RTLD_NOW);
    if (!loaded || chdir("/") != 0) // as a daemon does
        _exit(1);
    find(loaded, "poolDeviceGetDefaultMemPool", &get_pool);
    find(loaded, "poolGetLastErrorDetail", &get_detail);
    result->error = get_pool(&pool, 0);
    if (result->error != poolSuccess)
        snprintf(result->detail, sizeof result->detail, "%s", get_detail());
}

static struct result ask(const char *path) {
    static struct child_outcome outcome;
    struct result result;
    asked = path;
    setenv("STREAMPOOL_DRIVER", "sim", 1);
    assert_true(child_run(ask_for_pool, &result, sizeof result, &outcome));
    assert_int_equal(outcome.status, 0);
    return result;
}

static void the_simulated_driver_is_found_beside_the_library(void **state) {
    (void)state;
    struct result result = ask(library);
    assert_string_equal(result.detail, "");
    assert_int_equal(result.error, poolSuccess);
}

static void a_link_to_the_library_leads_to_it(void **state) {
    (void)state;
    assert_int_equal(symlink(library, elsewhere), 0);
    assert_int_equal(ask(elsewhere).error, poolSuccess);
    assert_int_equal(unlink(elsewhere), 0);
}

static void the_folder_is_known_where_the_program_has_left_its_own(void **state) {
    (void)state;
    char path[PATH_MAX], name[PATH_MAX];
    assert_non_null(realpath(library, path));
    snprintf(name, sizeof name, ".%s", strrchr(path, '/'));
    *strrchr(path, '/') = '\0';
    assert_int_equal(chdir(path), 0);
    assert_int_equal(ask(name).error, poolSuccess);
}

static void a_library_with_no_simulated_driver_beside_it_says_where_it_looked(void **state) {
    (void)state;
    char expected[PATH_MAX + 128];
    assert_true(test_copy_file(library, elsewhere));
    struct result result = ask(elsewhere);
    assert_int_equal(unlink(elsewhere), 0);
    snprintf(expected, sizeof expected,
             "STREAMPOOL_DRIVER=sim: %s/libstreampool_simcuda.so could not be loaded", folder);
    assert_int_equal(result.error, poolErrorInsufficientDriver);
    assert_non_null(strstr(result.detail, expected));
}

static int make_folder(void **state) {
    (void)state;
    char made[] = "/tmp/streampool_beside_XXXXXX";
    if (!mkdtemp(made) || !realpath(made, folder))
        return -1;
    snprintf(elsewhere, sizeof elsewhere, "%s/libstreampool.so", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(elsewhere);
    return rmdir(folder);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    library = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_simulated_driver_is_found_beside_the_library),
        cmocka_unit_test(a_link_to_the_library_leads_to_it),
        cmocka_unit_test(the_folder_is_known_where_the_program_has_left_its_own),
        cmocka_unit_test(a_library_with_no_simulated_driver_beside_it_says_where_it_looked),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
