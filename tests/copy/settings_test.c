// How the settings of copies are found by measurement, and remembered in a file. Each scenario has
// a process of its own, since a process measures once.
#include "copy/process.h"

#include "copy/measure.h"
#include "copy/remembered.h"
#include "copy/settings.h"
#include "random/numbers.h"

#include "base/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define LARGE (SP_MEASURED_LEAST + 12345)

// Calls of the library, by the linker: one that takes the place of the file, and one that starts a
// thread.
static bool has_no_threads;
static unsigned renamings;

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
bool __real_sp_thread_start(pthread_t *thread, void *(*run)(void *), void *data);
bool __wrap_sp_thread_start(pthread_t *thread, void *(*run)(void *), void *data);

// Who asks meanwhile isn't held up.
int __wrap_rename(const char *from, const char *to) {
    struct poolCopySettings ignored;
    renamings++;
    return poolCopyGetSettings(&ignored) == poolSuccess ? __real_rename(from, to) : -1;
}

bool __wrap_sp_thread_start(pthread_t *thread, void *(*run)(void *), void *data) {
    return !has_no_threads && __real_sp_thread_start(thread, run, data);
}

// ------------------------------------------------------------------------------------------ choice

// The first of them that is within a twentieth of the least: none before it is.
static void the_cheapest_of_the_fast_ones_is_chosen(void **state) {
    (void)state;
    struct numbers numbers = {4711};
    for (int i = 0; i < 10000; i++) {
        uint64_t times[8], least = UINT64_MAX;
        size_t count = 1 + numbers_below(&numbers, 8);
        for (size_t j = 0; j < count; j++) {
            times[j] = 1000 + numbers_below(&numbers, i % 2 ? 100 : 100000);
            least = times[j] < least ? times[j] : least;
        }
        size_t chosen = sp_measure_choose(times, count);
        assert_true(chosen < count && times[chosen] <= least + least / 20);
        for (size_t j = 0; j < chosen; j++)
            assert_true(times[j] > least + least / 20);
    }
    assert_int_equal(sp_measure_choose((uint64_t[]){0, 0}, 2), 0);
    assert_int_equal(sp_measure_choose((uint64_t[]){UINT64_MAX, 5}, 2), 1);
}

// ------------------------------------------------------------------------------------------ a file

static char folder[] = "/tmp/streampool-settings-XXXXXX";
static char path[sizeof folder + 16];

static int make_folder(void **state) {
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/settings", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void write_text(const char *text, size_t length) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static size_t read_text(char text[4096]) {
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    size_t length = fread(text, 1, 4095, file);
    text[length] = '\0';
    fclose(file);
    return length;
}

static bool are_equal(const struct poolCopySettings *a, const struct poolCopySettings *b) {
    return a->threads == b->threads && a->depth == b->depth && a->chunkBytes == b->chunkBytes;
}

static const struct poolCopySettings none = {0};

// Cut off anywhere, it makes no sense, remembers nothing, or is whole but for its last line's end.
static void what_was_written_is_read_again(void **state) {
    (void)state;
    struct numbers numbers = {99};
    for (int i = 0; i < 100; i++) {
        const struct poolCopySettings settings = {1 + (unsigned)numbers_below(&numbers, 8),
                                                  2 + (unsigned)numbers_below(&numbers, 15),
                                                  KIB(64) * (1 + numbers_below(&numbers, 1024))};
        struct sp_remembered read = {0}, written = {(unsigned)i + 1, settings};
        char text[4096];
        write_text("", 0);
        sp_remembered_write(path, &written);
        copy_good(sp_remembered_read(path, &read));
        assert_true(read.processors == written.processors && are_equal(&read.settings, &settings));
        size_t length = read_text(text);
        write_text(text, numbers_below(&numbers, length));
        read = (struct sp_remembered){0};
        poolError_t error = sp_remembered_read(path, &read);
        assert_true(error == poolSuccess || error == poolErrorInvalidValue);
        if (error == poolErrorInvalidValue)
            assert_int_equal(read.processors, 0);
    }
}

static void a_file_that_makes_no_sense_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *words;
    } files[] = {
        {"threads", "line 1"},
        {"# fine\n\nthreads = \n", "line 3"},
        {"threads = -1\n", "line 1"},
        {"threads = 4 5\n", "line 1"},
        {"threads = 99999999999999999999\n", "line 1"},
        {"thread = 4\n", "line 1"},
        {"threads = 4\n", "has no processors"},
        {"processors = 2\nthreads = 4\ndepth = 4\n", "has no chunkBytes"},
        {"processors = 2\nthreads = 4\ndepth = 0\nchunkBytes = 65536\n", "depth is too small"},
        {"processors = 0\nthreads = 0\ndepth = 0\nchunkBytes = 0\n", "processors is too small"},
        {"threads = 0\n", "has no processors"},
        {"processors = 2\nthreads = 9\ndepth = 4\nchunkBytes = 65536\n", "threads is more than 8"},
        {"processors = 2\nthreads = 4\ndepth = 4\nchunkBytes = 65537\n", "chunkBytes isn't"},
        {"processors = 2\nthreads = 4294967297\ndepth = 4\nchunkBytes = 65536\n", "too large"},
    };
    struct poolCopySettings before, after;
    copy_good(poolCopyGetSettings(&before));
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        write_text(files[i].text, strlen(files[i].text));
        copy_refused(poolCopySetSettingsFile(path), poolErrorInvalidValue, files[i].words);
    }
    write_text("threads\0= 4", 11);
    copy_refused(poolCopySetSettingsFile(path), poolErrorInvalidValue, "no file of settings");
    char large[5000];
    memset(large, '\n', sizeof large);
    write_text(large, sizeof large);
    copy_refused(poolCopySetSettingsFile(path), poolErrorInvalidValue, "no file of settings");
    copy_refused(poolCopySetSettingsFile("/dev/null"), poolErrorInvalidValue, "no regular file");
    copy_refused(poolCopySetSettingsFile(folder), poolErrorInvalidValue, "no regular file");
    copy_refused(poolCopySetSettingsFile("/nowhere/at/all"), poolErrorOperatingSystem,
                 strerror(ENOENT));
    copy_good(poolCopyGetSettings(&after));
    assert_true(are_equal(&before, &after));
}

// --------------------------------------------------------------------------------------- processes

struct scene {
    CUstream stream;
    CUdeviceptr device;
    unsigned char *from, *to;
};

static void open_scene(struct scene *scene) {
    NEED(simulated_begin(NULL) == 0);
    NEED(sp_driver->cuStreamCreate(&scene->stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    NEED(sp_driver->cuMemAlloc(&scene->device, LARGE) == CUDA_SUCCESS);
    scene->from = malloc(LARGE);
    scene->to = calloc(1, LARGE);
    NEED(scene->from && scene->to);
    copy_fill(scene->from, LARGE, 1);
}

// Returns how many copies the driver made for it.
static uint64_t copy_in(const struct scene *scene, size_t bytes) {
    simcudaCallCountReset();
    NEED(poolCopyToDeviceAsync(copy_pointer(scene->device), scene->from, bytes, scene->stream) ==
         poolSuccess);
    uint64_t count = simcudaCallCount("cuMemcpyHtoDAsync");
    copy_finish(scene->stream);
    copy_peek(scene->to, scene->device, bytes);
    NEED(memcmp(scene->to, scene->from, bytes) == 0);
    memset(scene->to, 0, bytes);
    return count;
}

static uint64_t copy_out(const struct scene *scene, size_t bytes) {
    copy_poke(scene->device, scene->from, bytes);
    simcudaCallCountReset();
    NEED(poolCopyToHostAsync(scene->to, copy_pointer(scene->device), bytes, scene->stream) ==
         poolSuccess);
    NEED(memcmp(scene->to, scene->from, bytes) == 0);
    memset(scene->to, 0, bytes);
    return simcudaCallCount("cuMemcpyDtoHAsync");
}

static struct poolCopySettings settings(void) {
    struct poolCopySettings now;
    NEED(poolCopyGetSettings(&now) == poolSuccess);
    return now;
}

static uint64_t parts_of(size_t bytes) {
    size_t chunk = settings().chunkBytes;
    return (bytes + chunk - 1) / chunk;
}

// A measurement makes more than 20 copies of 64 MiB, and chunks are of 8 MiB at most.
static bool has_measured(uint64_t copies) {
    return copies > 20 * 8;
}

static void need_found(struct poolCopySettings found) {
    size_t chunk = found.chunkBytes;
    NEED(found.threads == 1 || found.threads == 2 || found.threads == 4 || found.threads == 8);
    NEED(found.threads <= sp_settings_processors());
    NEED(chunk == MIB(2) || chunk == MIB(4) || chunk == MIB(8));
    NEED(found.depth * chunk == MIB(32) || found.depth * chunk == MIB(64));
}

static void the_first_large_copy_measures(void) {
    struct scene scene;
    open_scene(&scene);
    NEED(copy_in(&scene, SP_MEASURED_LEAST - 1) == parts_of(SP_MEASURED_LEAST - 1));
    NEED(has_measured(copy_in(&scene, LARGE)));
    need_found(settings());
    NEED(copy_in(&scene, LARGE) == parts_of(LARGE));
    NEED(copy_out(&scene, LARGE) == parts_of(LARGE));
    exit(7);
}

static void a_copy_to_the_host_measures_too(void) {
    struct scene scene;
    open_scene(&scene);
    NEED(has_measured(copy_out(&scene, LARGE)));
    need_found(settings());
    NEED(copy_out(&scene, LARGE) == parts_of(LARGE));
    exit(7);
}

static void what_is_set_is_not_measured(void) {
    struct scene scene;
    const struct poolCopySettings at_first = settings(), three = {3, 0, 0}, of_all = {2, 3, MIB(1)};
    open_scene(&scene);
    NEED(poolCopySetSettings(&of_all) == poolSuccess);
    NEED(copy_in(&scene, LARGE) == parts_of(LARGE));
    NEED(poolCopySetSettings(&three) == poolSuccess);
    NEED(has_measured(copy_in(&scene, LARGE)));
    NEED(settings().threads == 3);
    NEED(poolCopySetSettings(&none) == poolSuccess);
    need_found(settings());
    NEED(settings().threads == at_first.threads);
    NEED(poolCopySetSettings(&of_all) == poolSuccess);
    const struct poolCopySettings set = settings();
    NEED(are_equal(&set, &of_all));
    exit(7);
}

// Rows, and a call that returns at once.
static void other_copies_measure_nothing(void) {
    struct scene scene;
    poolCopyCompletion_t completion = NULL;
    open_scene(&scene);
    const struct poolCopySettings before = settings();
    void *device = copy_pointer(scene.device);
    NEED(poolCopyToDevice2DAsync(device, LARGE / 2, scene.from, LARGE / 2, LARGE / 2, 2,
                                 scene.stream) == poolSuccess);
    NEED(poolCopyToDeviceAsyncWithCompletion(device, scene.from, LARGE, scene.stream,
                                             &completion) == poolSuccess);
    NEED(poolCopyCompletionSynchronize(completion) == poolSuccess);
    NEED(poolCopyCompletionDestroy(completion) == poolSuccess);
    copy_finish(scene.stream);
    const struct poolCopySettings after = settings();
    NEED(are_equal(&before, &after));
    NEED(has_measured(copy_in(&scene, LARGE)));
    exit(7);
}

// Such a copy doesn't wait for its stream, which may be held for as long as the program likes.
static void a_copy_that_fits_into_its_chunks_measures_nothing(void) {
    struct scene scene;
    const struct poolCopySettings large = {0, 16, MIB(8)};
    open_scene(&scene);
    NEED(poolCopySetSettings(&large) == poolSuccess);
    const struct poolCopySettings before = settings();
    struct copy_hold hold = copy_hold(scene.stream);
    NEED(poolCopyToDeviceAsync(copy_pointer(scene.device), scene.from, SP_MEASURED_LEAST,
                               scene.stream) == poolSuccess);
    const struct poolCopySettings after = settings();
    NEED(are_equal(&before, &after));
    copy_let_go(&hold);
    copy_finish(scene.stream);
    NEED(copy_device_is_filled(scene.device, SP_MEASURED_LEAST, 1));
    exit(7);
}

// What the caller can do alone isn't what the machine can do.
static void a_measurement_without_threads(void) {
    struct scene scene;
    if (sp_settings_processors() == 1)
        exit(7); // there it is
    NEED(unlink(path) == 0 || errno == ENOENT);
    NEED(poolCopySetSettingsFile(path) == poolSuccess);
    open_scene(&scene);
    const struct poolCopySettings before = settings();
    has_no_threads = true;
    copy_in(&scene, LARGE);
    const struct poolCopySettings after = settings();
    NEED(are_equal(&before, &after) && renamings == 0);
    exit(7);
}

static struct scene late;
static void copy_at_exit(void) {
    const struct poolCopySettings before = settings();
    NEED(copy_in(&late, LARGE) == parts_of(LARGE));
    const struct poolCopySettings after = settings();
    NEED(are_equal(&before, &after));
}

static void a_process_that_ends_measures_nothing(void) {
    open_scene(&late);
    NEED(atexit(copy_at_exit) == 0);
    copy_in(&late, MIB(1));
    exit(7);
}

// The copy itself is made, the program hears of nothing, and it isn't tried again.
static void a_measurement_that_fails(void) {
    struct scene scene;
    open_scene(&scene);
    const struct poolCopySettings before = settings();
    NEED(simcudaFailCall("cuMemcpyHtoDAsync", 100, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY) ==
         0);
    NEED(copy_in(&scene, LARGE) == 100 + parts_of(LARGE));
    NEED(poolGetLastError() == poolSuccess);
    const struct poolCopySettings after = settings();
    NEED(are_equal(&before, &after));
    NEED(copy_in(&scene, LARGE) == parts_of(LARGE));
    exit(7);
}

// A child may ask whatever the threads of its parent were at.
static atomic_bool sets_no_more;
static void *set_often(void *unused) {
    while (!atomic_load(&sets_no_more))
        NEED(poolCopySetSettings(&none) == poolSuccess);
    return unused;
}

static void a_process_that_forks_beside_settings(void) {
    pthread_t thread;
    NEED(pthread_create(&thread, NULL, set_often, NULL) == 0);
    for (int i = 0; i < 300; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            settings();
            _exit(3);
        }
        NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    }
    atomic_store(&sets_no_more, true);
    NEED(pthread_join(thread, NULL) == 0);
    exit(7);
}

// ---------------------------------------------------------------------------- processes and a file

static struct poolCopySettings remembered(void) {
    struct sp_remembered read = {0};
    NEED(sp_remembered_read(path, &read) == poolSuccess);
    return read.settings;
}

static void a_process_that_measures_for_others(void) {
    struct scene scene;
    NEED(unlink(path) == 0 || errno == ENOENT);
    NEED(poolCopySetSettingsFile(path) == poolSuccess);
    const struct poolCopySettings read = remembered();
    NEED(are_equal(&read, &none));
    NEED(chmod(path, 0604) == 0);
    open_scene(&scene);
    NEED(has_measured(copy_in(&scene, LARGE)));
    const struct poolCopySettings found = settings(), written = remembered();
    need_found(written);
    NEED(are_equal(&written, &found));
    struct stat status;
    NEED(stat(path, &status) == 0 && (status.st_mode & 0777) == 0604);
    exit(7);
}

static void a_process_that_needs_not_measure(void) {
    struct scene scene;
    const struct poolCopySettings read = remembered();
    need_found(read);
    NEED(poolCopySetSettingsFile(path) == poolSuccess);
    const struct poolCopySettings taken = settings();
    NEED(are_equal(&taken, &read));
    open_scene(&scene);
    NEED(copy_in(&scene, LARGE) == parts_of(LARGE));
    exit(7);
}

static void what_one_process_has_found_another_one_takes(void **state) {
    (void)state;
    copy_in_process(a_process_that_measures_for_others);
    copy_in_process(a_process_that_needs_not_measure);
}

static void another_machines_file_is_measured_anew(void) {
    struct scene scene;
    char text[256];
    snprintf(text, sizeof text,
             "# of elsewhere\r\n  processors=%u\n\nthreads = 7\ndepth\t= 5\nchunkBytes = 65536",
             sp_settings_processors() + 1);
    write_text(text, strlen(text));
    const struct poolCopySettings before = settings();
    NEED(poolCopySetSettingsFile(path) == poolSuccess);
    const struct poolCopySettings after = settings();
    NEED(are_equal(&before, &after));
    open_scene(&scene);
    NEED(has_measured(copy_in(&scene, LARGE)));
    need_found(remembered());
    exit(7);
}

static void a_file_that_is_named_late_has_what_was_found(void) {
    struct scene scene;
    open_scene(&scene);
    NEED(has_measured(copy_in(&scene, LARGE)));
    NEED(unlink(path) == 0 || errno == ENOENT);
    NEED(poolCopySetSettingsFile(path) == poolSuccess);
    const struct poolCopySettings found = settings(), written = remembered();
    NEED(are_equal(&written, &found));
    exit(7);
}

// The folder of the process is another one when it is written.
static void a_file_is_named_from_the_current_folder(void) {
    struct scene scene;
    NEED(unlink(path) == 0 || errno == ENOENT);
    NEED(chdir(folder) == 0);
    NEED(poolCopySetSettingsFile("settings") == poolSuccess);
    NEED(chdir("/") == 0);
    open_scene(&scene);
    NEED(has_measured(copy_in(&scene, LARGE)));
    need_found(remembered());
    exit(7);
}

// The file of another kind of machine, which is protected. To root nothing is, but root may ask as
// another user.
static void a_protected_file_stays(void) {
    struct scene scene;
    const char text[] = "processors = 9999\nthreads = 7\ndepth = 5\nchunkBytes = 65536\n";
    char now[4096];
    open_scene(&scene);
    unlink(path);
    write_text(text, strlen(text));
    NEED(chmod(path, 0444) == 0);
    NEED(geteuid() != 0 || setresuid(65534, 0, 0) == 0);
    NEED(poolCopySetSettingsFile(path) == poolSuccess);
    NEED(has_measured(copy_in(&scene, LARGE)));
    NEED(read_text(now) == strlen(text) && strcmp(now, text) == 0);
    NEED(geteuid() != 0 || setresuid(0, 0, 0) == 0);
    exit(7);
}

static void a_file_keeps_its_owner(void) {
    struct sp_remembered measured = {5, {1, 2, MIB(1)}};
    struct stat status;
    unlink(path);
    write_text("", 0);
    if (geteuid() != 0 || chown(path, 12345, 23456) != 0)
        exit(7);
    sp_remembered_write(path, &measured);
    NEED(stat(path, &status) == 0 && status.st_uid == 12345 && status.st_gid == 23456);
    NEED(status.st_size > 0 && renamings == 1);
    exit(7);
}

static void a_file_may_have_the_longest_name(void) {
    struct sp_remembered measured = {5, {1, 2, MIB(1)}}, read = {0};
    char longest[512];
    int length = snprintf(longest, sizeof longest, "%s/", folder);
    memset(longest + length, 'n', 255);
    longest[length + 255] = '\0';
    NEED(sp_remembered_read(longest, &read) == poolSuccess);
    sp_remembered_write(longest, &measured);
    NEED(sp_remembered_read(longest, &read) == poolSuccess && read.processors == 5);
    NEED(unlink(longest) == 0);
    exit(7);
}

static void nothing_is_written_where_the_file_is_given_up_or_gone(void) {
    struct scene scene;
    NEED(unlink(path) == 0 || errno == ENOENT);
    NEED(poolCopySetSettingsFile(path) == poolSuccess);
    NEED(unlink(path) == 0);
    open_scene(&scene);
    NEED(has_measured(copy_in(&scene, LARGE)));
    NEED(access(path, F_OK) != 0);
    need_found(settings());
    NEED(poolCopySetSettingsFile(NULL) == poolSuccess);
    exit(7);
}

// ------------------------------------------------------------------------------------------- tests

#define SCENARIOS(X)                                                                               \
    X(the_first_large_copy_measures)                                                               \
    X(a_copy_to_the_host_measures_too)                                                             \
    X(what_is_set_is_not_measured)                                                                 \
    X(other_copies_measure_nothing)                                                                \
    X(a_copy_that_fits_into_its_chunks_measures_nothing)                                           \
    X(a_measurement_without_threads)                                                               \
    X(a_process_that_ends_measures_nothing)                                                        \
    X(a_process_that_forks_beside_settings)                                                        \
    X(a_protected_file_stays)                                                                      \
    X(a_file_keeps_its_owner)                                                                      \
    X(a_file_may_have_the_longest_name)                                                            \
    X(a_measurement_that_fails)                                                                    \
    X(another_machines_file_is_measured_anew)                                                      \
    X(a_file_that_is_named_late_has_what_was_found)                                                \
    X(a_file_is_named_from_the_current_folder)                                                     \
    X(nothing_is_written_where_the_file_is_given_up_or_gone)

SCENARIOS(COPY_PROCESS_TEST)

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENARIOS(COPY_PROCESS_ENTRY) // forked before this process uses anything
        cmocka_unit_test(what_one_process_has_found_another_one_takes),
        cmocka_unit_test(the_cheapest_of_the_fast_ones_is_chosen),
        cmocka_unit_test(what_was_written_is_read_again),
        cmocka_unit_test(a_file_that_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
