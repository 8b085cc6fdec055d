// The search for the driver behind a library that has its name: the folders of a path, a cache that
// ldconfig has written, and the default folders.
#include "dropin/forward/search.h"
#include "dropin/forward/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATHS = 16, FOR_X86_64 = 0x0303, FOR_I386 = 0x0003, MOST = 1024 };

static char seen[PATHS][256];
static size_t count;
static const char *wanted; // the path at which a visit ends, or null

static bool visit(const char *path) {
    assert_true(count < PATHS);
    snprintf(seen[count++], sizeof seen[0], "%s", path);
    return wanted && strcmp(path, wanted) == 0;
}

static void expect(const char *const *paths) {
    size_t expected = 0;
    for (; paths[expected]; expected++) {
        assert_true(expected < count);
        assert_string_equal(seen[expected], paths[expected]);
    }
    assert_int_equal(count, expected);
    count = 0;
}

// -------------------------------------------------------------------------------- caches

struct image {
    char bytes[MOST];
    size_t size;
};

static void add(struct image *image, const void *bytes, size_t size) {
    assert_true(image->size + size <= MOST);
    memcpy(image->bytes + image->size, bytes, size);
    image->size += size;
}

static void add_number(struct image *image, uint32_t number) {
    add(image, &number, sizeof number);
}

static const struct {
    uint32_t flags;
    const char *name, *path;
} rows[] = {{FOR_X86_64, "libcuda.so.1", "/a/libcuda.so.1"},
            {FOR_I386, "libcuda.so.1", "/b/libcuda.so.1"},
            {FOR_X86_64, "libcuda.so.10", "/c/libcuda.so.10"},
            {FOR_X86_64, "libcuda.so.1", "/d/libcuda.so.1"}};

enum { ROWS = sizeof rows / sizeof rows[0], HEADER = 48, ENTRY = 24 };

static void add_new_form(struct image *image) {
    uint32_t text = HEADER + ROWS * ENTRY;
    add(image, "glibc-ld.so.cache1.1", 20);
    add_number(image, ROWS);
    for (int i = 0; i < 6; i++)
        add_number(image, 0);
    for (int i = 0; i < ROWS; i++) {
        add_number(image, rows[i].flags);
        add_number(image, text);
        text += (uint32_t)strlen(rows[i].name) + 1;
        add_number(image, text);
        text += (uint32_t)strlen(rows[i].path) + 1;
        for (int k = 0; k < 3; k++)
            add_number(image, 0);
    }
    for (int i = 0; i < ROWS; i++) {
        add(image, rows[i].name, strlen(rows[i].name) + 1);
        add(image, rows[i].path, strlen(rows[i].path) + 1);
    }
}

static char file[] = "/tmp/dropin-cache-XXXXXX";

static bool visit_bytes(const char *bytes, size_t size) {
    FILE *stream = fopen(file, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    fclose(stream);
    return sp_cache_visit(file, "libcuda.so.1", visit);
}

static void a_cache_has_the_paths_of_one_name_for_this_machine(void **state) {
    struct image image = {.size = 0};
    (void)state;
    add_new_form(&image);
    assert_false(visit_bytes(image.bytes, image.size));
    expect((const char *const[]){"/a/libcuda.so.1", "/d/libcuda.so.1", NULL});
}

static void a_visit_ends_where_it_is_told_to(void **state) {
    struct image image = {.size = 0};
    (void)state;
    add_new_form(&image);
    wanted = "/a/libcuda.so.1";
    assert_true(visit_bytes(image.bytes, image.size));
    expect((const char *const[]){"/a/libcuda.so.1", NULL});
    wanted = NULL;
}

// Offsets are counted from the newer form's header, which begins at a multiple of 8.
static void a_cache_may_have_the_older_form_in_front(void **state) {
    struct image image = {.size = 0};
    (void)state;
    add(&image, "ld.so-1.7.0\0", 12);
    add_number(&image, 1);
    for (int i = 0; i < 4; i++)
        add_number(&image, 0);
    add_new_form(&image);
    assert_false(visit_bytes(image.bytes, image.size));
    expect((const char *const[]){"/a/libcuda.so.1", "/d/libcuda.so.1", NULL});
}

// A file that ends anywhere has the entries whose texts are whole, and is never read behind its
// end.
static void a_cache_that_is_cut_off_is_no_danger(void **state) {
    struct image image = {.size = 0};
    (void)state;
    add_new_form(&image);
    for (size_t size = 0; size < image.size; size++) {
        assert_false(visit_bytes(image.bytes, size));
        assert_true(count <= 1);
        count = 0;
    }
    for (size_t at = 0; at < HEADER + ROWS * ENTRY; at++) {
        struct image broken = image;
        broken.bytes[at] = (char)0xff;
        visit_bytes(broken.bytes, broken.size);
        count = 0;
    }
    assert_false(sp_cache_visit("/nowhere/ld.so.cache", "libcuda.so.1", visit));
    expect((const char *const[]){NULL});
}

static void the_cache_of_this_machine_has_the_c_library(void **state) {
    (void)state;
    if (access("/etc/ld.so.cache", R_OK) != 0)
        skip();
    sp_cache_visit("/etc/ld.so.cache", "libc.so.6", visit);
    assert_true(count > 0);
    assert_int_equal(access(seen[0], R_OK), 0);
    count = 0;
}

// -------------------------------------------------------------------------------- search

static void folders_come_before_the_cache_and_that_before_the_defaults(void **state) {
    static const char *const defaults[] = {"/e", "/f", NULL};
    struct image image = {.size = 0};
    (void)state;
    add_new_form(&image);
    visit_bytes(image.bytes, image.size);
    count = 0;
    struct sp_search places = {"/x:;/y", file, defaults};
    assert_false(sp_search_visit(&places, "libcuda.so.1", visit));
    expect((const char *const[]){"/x/libcuda.so.1", "./libcuda.so.1", "/y/libcuda.so.1",
                                 "/a/libcuda.so.1", "/d/libcuda.so.1", "/e/libcuda.so.1",
                                 "/f/libcuda.so.1", NULL});
    wanted = "/e/libcuda.so.1";
    places.folders = NULL;
    assert_true(sp_search_visit(&places, "libcuda.so.1", visit));
    expect((const char *const[]){"/a/libcuda.so.1", "/d/libcuda.so.1", "/e/libcuda.so.1", NULL});
    wanted = NULL;
    places.folders = "";
    places.cache = "/nowhere";
    assert_false(sp_search_visit(&places, "libcuda.so.1", visit));
    expect((const char *const[]){"/e/libcuda.so.1", "/f/libcuda.so.1", NULL});
}

static void a_folder_that_is_too_long_is_left_out(void **state) {
    static const char *const defaults[] = {NULL};
    static char folders[10000];
    (void)state;
    memset(folders, 'x', 9000);
    memcpy(folders + 9000, ":/y", 4);
    struct sp_search places = {folders, "/nowhere", defaults};
    assert_false(sp_search_visit(&places, "libcuda.so.1", visit));
    expect((const char *const[]){"/y/libcuda.so.1", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_has_the_paths_of_one_name_for_this_machine),
        cmocka_unit_test(a_visit_ends_where_it_is_told_to),
        cmocka_unit_test(a_cache_may_have_the_older_form_in_front),
        cmocka_unit_test(a_cache_that_is_cut_off_is_no_danger),
        cmocka_unit_test(the_cache_of_this_machine_has_the_c_library),
        cmocka_unit_test(folders_come_before_the_cache_and_that_before_the_defaults),
        cmocka_unit_test(a_folder_that_is_too_long_is_left_out),
    };
    int descriptor = mkstemp(file);
    if (descriptor < 0)
        return 1;
    close(descriptor);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(file);
    return failed;
}
