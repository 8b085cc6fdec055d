// Names of pools: the program's, and those that pools without one are called by.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/fixture/pool.h"

static void is_called(poolMemPool_t pool, const char *expected) {
    char name[STREAMPOOL_NAME_BYTES];
    assert_int_equal(poolMemPoolGetName(pool, name, sizeof name), poolSuccess);
    assert_string_equal(name, expected);
}

static void refuses(poolMemPool_t pool, const char *name, const char *why) {
    assert_int_equal(poolMemPoolSetName(pool, name), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), why);
}

static unsigned number_of(poolMemPool_t pool) {
    char name[STREAMPOOL_NAME_BYTES];
    unsigned number;
    assert_int_equal(poolMemPoolGetName(pool, name, sizeof name), poolSuccess);
    assert_int_equal(sscanf(name, "pool %u", &number), 1);
    return number;
}

static void a_pool_without_a_name_is_called_by_its_device_or_its_number(void **state) {
    (void)state;
    poolMemPool_t pool;
    assert_int_equal(poolDeviceGetDefaultMemPool(&pool, 0), poolSuccess);
    is_called(pool, "default pool of device 0");
    unsigned first = number_of(fixture_pool());
    poolMemPool_t second = fixture_pool();
    assert_int_equal(number_of(second), first + 1);
    assert_int_equal(poolMemPoolDestroy(second), poolSuccess);
    assert_int_equal(number_of(fixture_pool()), first + 2); // in the same struct
}

static void a_name_is_copied_and_can_be_taken_back(void **state) {
    (void)state;
    char name[] = "cache";
    poolMemPool_t pool = fixture_pool(), other = fixture_pool();
    unsigned number = number_of(pool);
    assert_int_equal(poolMemPoolSetName(pool, name), poolSuccess);
    name[0] = 'b';
    is_called(pool, "cache");
    assert_int_equal(poolMemPoolSetName(other, "cache"), poolSuccess);
    assert_int_equal(poolMemPoolSetName(pool, NULL), poolSuccess);
    assert_int_equal(number_of(pool), number);
    assert_int_equal(poolMemPoolSetName(other, ""), poolSuccess);
    assert_int_equal(number_of(other), number + 1);
    assert_int_equal(poolMemPoolSetName(pool, "last"), poolSuccess);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
    assert_true(number_of(fixture_pool()) > number); // and not "last"
}

static void a_default_pool_has_a_name_like_others(void **state) {
    (void)state;
    poolMemPool_t pool;
    assert_int_equal(poolDeviceGetDefaultMemPool(&pool, 0), poolSuccess);
    assert_int_equal(poolMemPoolSetName(pool, "all"), poolSuccess);
    is_called(pool, "all");
    assert_int_equal(poolMemPoolSetName(pool, NULL), poolSuccess);
    is_called(pool, "default pool of device 0");
}

static void text_of_any_language_is_a_name(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    static const char *const names[] = {" ",
                                        "~",
                                        "a \"b\" \\ c",
                                        "\xc2\xa0",
                                        "\xdf\xbf",
                                        "\xe0\xa0\x80",
                                        "\xed\x9f\xbf",
                                        "\xee\x80\x80",
                                        "\xf0\x90\x80\x80",
                                        "\xf4\x8f\xbf\xbf",
                                        "K\xc3\xa4se"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(poolMemPoolSetName(pool, names[i]), poolSuccess);
        is_called(pool, names[i]);
    }
}

static void what_can_not_be_printed_on_a_line_is_refused(void **state) {
    (void)state;
    poolMemPool_t pool = fixture_pool();
    assert_int_equal(poolMemPoolSetName(pool, "kept"), poolSuccess);
    static const char *const names[] = {"\n",
                                        "\x1f",
                                        "\x7f",
                                        "\x80",
                                        "\xbf",
                                        "\xc0\x80",
                                        "\xc1\xbf",
                                        "\xc2",
                                        "\xc2\x41",
                                        "\xc2\x80",
                                        "\xc2\x9f",
                                        "\xe0\x9f\xbf",
                                        "\xed\xa0\x80",
                                        "\xed\xbf\xbf",
                                        "\xe2\x82",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xf9\x80\x80\x80",
                                        "\xff"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[16];
        snprintf(name, sizeof name, "ab%s", names[i]);
        refuses(pool, name, "byte 3 of the name is a control character or not UTF-8");
        is_called(pool, "kept");
    }
}

static void the_longest_name_has_63_bytes(void **state) {
    (void)state;
    char name[STREAMPOOL_NAME_BYTES + 1], read[STREAMPOOL_NAME_BYTES];
    poolMemPool_t pool = fixture_pool();
    memset(name, 'x', sizeof name);
    name[STREAMPOOL_NAME_BYTES] = '\0';
    refuses(pool, name, "the name of a pool has at most 63 bytes");
    name[STREAMPOOL_NAME_BYTES - 1] = '\0';
    assert_int_equal(poolMemPoolSetName(pool, name), poolSuccess);
    is_called(pool, name);
    assert_int_equal(poolMemPoolGetName(pool, read, sizeof read - 1), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "the name needs 64 bytes, not 63");
}

static void arguments_that_make_no_sense_are_refused(void **state) {
    (void)state;
    char name[STREAMPOOL_NAME_BYTES] = "as it was";
    assert_int_equal(poolMemPoolSetName(NULL, "x"), poolErrorInvalidValue);
    assert_int_equal(poolMemPoolGetName(NULL, name, sizeof name), poolErrorInvalidValue);
    assert_int_equal(poolMemPoolGetName(fixture_pool(), NULL, 64), poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "name is null");
    assert_int_equal(poolMemPoolGetName(fixture_pool(), name, 0), poolErrorInvalidValue);
    assert_string_equal(name, "as it was");
}

// A name that is read while others are set is one of them, and whole.
enum { ROUNDS = 20000 };
static poolMemPool_t shared;
static atomic_bool over;

static void *rename_it(void *unused) {
    static const char *const names[] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbb", NULL};
    for (int i = 0; i < ROUNDS; i++)
        if (poolMemPoolSetName(shared, names[i % 3]) != poolSuccess)
            abort();
    atomic_store(&over, true);
    return unused;
}

static void a_name_is_read_whole(void **state) {
    (void)state;
    pthread_t thread;
    shared = fixture_pool();
    unsigned own = number_of(shared);
    atomic_store(&over, false);
    assert_int_equal(pthread_create(&thread, NULL, rename_it, NULL), 0);
    while (!atomic_load(&over)) {
        char name[STREAMPOOL_NAME_BYTES];
        unsigned number = 0;
        assert_int_equal(poolMemPoolGetName(shared, name, sizeof name), poolSuccess);
        size_t length = strlen(name);
        bool is_number = sscanf(name, "pool %u", &number) == 1 && number == own;
        assert_true(is_number || (length == 30 && strspn(name, "a") == 30) ||
                    (length == 10 && strspn(name, "b") == 10));
    }
    pthread_join(thread, NULL);
}

#define name_test(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        name_test(a_pool_without_a_name_is_called_by_its_device_or_its_number),
        name_test(a_name_is_copied_and_can_be_taken_back),
        name_test(a_default_pool_has_a_name_like_others),
        name_test(text_of_any_language_is_a_name),
        name_test(what_can_not_be_printed_on_a_line_is_refused),
        name_test(the_longest_name_has_63_bytes),
        name_test(arguments_that_make_no_sense_are_refused),
        name_test(a_name_is_read_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
