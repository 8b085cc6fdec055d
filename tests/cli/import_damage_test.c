// Recordings that are cut at each byte, or whose bytes are changed one at a time: each gives a
// reason, or a trace that can be read. The sanitizers see what else would happen.
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "cli/import/recording.h"
#include "cli/import/trace_write.h"
#include "program.h"

enum { SIZE_MAX_OF_RECORDING = 8 * 1024 };

struct recording {
    unsigned char bytes[SIZE_MAX_OF_RECORDING];
    size_t size;
};

static void load(struct recording *recording, const char *path) {
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    recording->size = fread(recording->bytes, 1, sizeof recording->bytes, file);
    fclose(file);
    assert_true(recording->size > 0 && recording->size < sizeof recording->bytes);
}

static void assert_trace_is_whole(const struct sp_mend *mend) {
    static const char *path;
    struct sp_trace trace;
    struct sp_trace_error error;
    if (!path)
        path = file_path("trace.csv");
    remove(path);
    assert_true(sp_trace_write(path, mend));
    if (!sp_trace_read(path, &trace, &error))
        fail_msg("line %lu: %s", error.line, error.reason);
    assert_int_equal(trace.operation_count, mend->older.count + mend->rest.count);
    sp_trace_release(&trace);
}

// One file for all, which stays open: to make one anew takes a disk long.
static const char *path_of_damaged(const unsigned char *bytes, size_t size) {
    static const char *path;
    static int descriptor;
    if (!path) {
        path = file_path("damaged");
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(descriptor >= 0);
    }
    assert_int_equal(ftruncate(descriptor, (off_t)size), 0);
    assert_int_equal(pwrite(descriptor, bytes, size, 0), size);
    return path;
}

// Returns false when there is a reason and no trace.
static bool read_bytes(const unsigned char *bytes, size_t size) {
    static const struct sp_recording_options options = {SP_RECORDING_BY_CONTENT,
                                                        {.device = SP_SNAPSHOT_ANY_DEVICE}};
    const char *path = path_of_damaged(bytes, size);
    struct sp_mend mend = {.is_strict = false};
    struct sp_trace_error error;
    bool good = sp_recording_read(path, &options, &mend, &error);
    if (good)
        assert_trace_is_whole(&mend);
    else
        assert_true(error.reason[0] != '\0');
    sp_mend_release(&mend);
    return good;
}

// How many of the cut recordings are read all the same.
static size_t cut_everywhere(const char *path) {
    static struct recording recording;
    size_t good = 0;
    load(&recording, path);
    assert_true(read_bytes(recording.bytes, recording.size));
    for (size_t size = 0; size < recording.size; size++)
        good += read_bytes(recording.bytes, size);
    return good;
}

static void change_everywhere(const char *path, unsigned char change) {
    static struct recording recording;
    load(&recording, path);
    for (size_t i = 0; i < recording.size; i++) {
        recording.bytes[i] ^= change;
        read_bytes(recording.bytes, recording.size);
        recording.bytes[i] ^= change;
    }
}

static const char *const snapshots[] = {
    STREAMPOOL_SNAPSHOTS "/little_0.pickle",
    STREAMPOOL_SNAPSHOTS "/little_2.pickle",
    STREAMPOOL_SNAPSHOTS "/little_4.pickle",
    STREAMPOOL_SNAPSHOTS "/little.json",
};
enum { SNAPSHOT_COUNT = sizeof snapshots / sizeof snapshots[0] };

static void a_snapshot_that_is_cut_anywhere_is_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < SNAPSHOT_COUNT; i++)
        assert_int_equal(cut_everywhere(snapshots[i]), 0);
}

static const char *gzipped(const char *from) {
    static struct recording recording;
    load(&recording, from);
    const char *path = file_path("recording.gz");
    gzFile out = gzopen(path, "w");
    assert_non_null(out);
    assert_int_equal(gzwrite(out, recording.bytes, (unsigned)recording.size), recording.size);
    assert_int_equal(gzclose(out), Z_OK);
    return path;
}

static void a_gzipped_snapshot_that_is_cut_anywhere_is_refused(void **state) {
    (void)state;
    assert_int_equal(cut_everywhere(gzipped(STREAMPOOL_SNAPSHOTS "/little_4.pickle")), 0);
}

static void a_changed_byte_of_a_snapshot_gives_a_reason_or_a_trace(void **state) {
    (void)state;
    for (size_t i = 0; i < SNAPSHOT_COUNT; i++) {
        change_everywhere(snapshots[i], 0x01);
        change_everywhere(snapshots[i], 0xff);
    }
    change_everywhere(gzipped(STREAMPOOL_SNAPSHOTS "/little_4.pickle"), 0x10);
}

static const char *log_of_rmm(void) {
    return file_write("rmm.csv", TRACE_HEADER
                      "1,10:23:45.678901,allocate,0x100,10,0x0\n"
                      "1,10:23:45:678901,\"free\",0x100,11,0\n2,5,free,0x200,7,(nil)\n"
                      "2,6,allocate failure,(nil),9,0\n2,7,allocate,0x300,9,0\n"
                      "2,7,allocate,0x300,9,0\n");
}

// Behind its first operation, a log may end anywhere.
static void a_log_that_is_cut_anywhere_behind_an_operation_is_read(void **state) {
    (void)state;
    static struct recording recording;
    const char *path = log_of_rmm();
    load(&recording, path);
    size_t header = strlen(TRACE_HEADER);
    size_t first =
        (size_t)((unsigned char *)memchr(recording.bytes + header, '\n', recording.size - header) -
                 recording.bytes);
    assert_true(cut_everywhere(path) >= recording.size - first);
}

static void a_changed_byte_of_a_log_gives_a_reason_or_a_trace(void **state) {
    (void)state;
    const char *path = log_of_rmm();
    change_everywhere(path, 0x01);
    change_everywhere(path, 0x10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(a_gzipped_snapshot_that_is_cut_anywhere_is_refused),
        cmocka_unit_test(a_changed_byte_of_a_snapshot_gives_a_reason_or_a_trace),
        cmocka_unit_test(a_log_that_is_cut_anywhere_behind_an_operation_is_read),
        cmocka_unit_test(a_changed_byte_of_a_log_gives_a_reason_or_a_trace),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
