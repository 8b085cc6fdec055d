// Contents for which the host has no room: the file that they go to, what is wrong with it, and
// that nobody finds it.
#include "swap/fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static poolMemPool_t pool;
static CUstream a;
static struct swap_block own, other;

// What the system answers next: 0 is what it does.
static struct {
    int named;  // to an open of a file without a name
    int direct; // to one around the page cache
    int room;   // to fallocate
    int write, read;
} refusal;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = va_arg(arguments, unsigned);
    va_end(arguments);
    errno = (flags & O_TMPFILE) != O_TMPFILE ? 0
            : refusal.named                  ? refusal.named
            : flags & O_DIRECT               ? refusal.direct
                                             : 0;
    return errno ? -1 : __real_open(path, flags, mode);
}

#define WRAP(result, name, parameters, arguments, answer)                                          \
    result __real_##name parameters;                                                               \
    result __wrap_##name parameters;                                                               \
    result __wrap_##name parameters {                                                              \
        errno = answer;                                                                            \
        return answer ? -1 : __real_##name arguments;                                              \
    }
WRAP(int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size), refusal.room)
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at),
     refusal.write)
WRAP(ssize_t, pread, (int fd, void *to, size_t size, off_t at), (fd, to, size, at), refusal.read)

static int begin(void **state) {
    memset(&refusal, 0, sizeof refusal);
    if (swap_setup(state) != 0)
        return -1;
    poolGetLastError();
    pool = fixture_pool();
    a = simulated_stream();
    own = swap_block(pool, MIB(5) + 700, 1, a);
    other = swap_block(swap_tagged(pool, "tag"), MIB(3), 2, a);
    swap_use_folder();
    return 0;
}

static int finish(void **state) {
    memset(&refusal, 0, sizeof refusal);
    swap_free(&own, a);
    swap_free(&other, a);
    copy_good(poolMemPoolDestroyTagged(pool, NULL));
    copy_good(poolMemPoolDestroy(pool));
    return swap_teardown(state);
}

// Looks at each descriptor of a file in the folder that has no name.
static size_t count_files(void (*look)(int fd)) {
    size_t count = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    for (const struct dirent *entry; (entry = readdir(all));) {
        char target[512] = "";
        if (readlinkat(dirfd(all), entry->d_name, target, sizeof target - 1) <= 0 ||
            strncmp(target, swap_folder(), strlen(swap_folder())) != 0)
            continue;
        count++;
        if (look)
            look(atoi(entry->d_name));
    }
    closedir(all);
    return count;
}

static bool folder_is_empty(void) {
    size_t count = 0;
    DIR *all = opendir(swap_folder());
    assert_non_null(all);
    while (readdir(all))
        count++;
    closedir(all);
    return count == 2; // . and ..
}

static void is_private(int fd) {
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    assert_int_equal(status.st_nlink, 0);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
}

static void is_whole(void) {
    assert_true(swap_is_intact(&own) && swap_is_intact(&other));
    assert_int_equal(count_files(NULL), 0);
    assert_int_equal(swap_in_host(), 0);
    assert_int_equal(swap_paused(pool, NULL).pools, 0);
}

// Pauses and resumes, with so much in the host.
static void go_through(size_t in_host, size_t files) {
    copy_good(poolSwapSetHostLimit(in_host));
    struct poolMemPoolPaused paused = swap_pause(pool, NULL, poolPauseSave);
    assert_int_equal(paused.hostBytes, in_host);
    assert_int_equal(paused.hostBytes + paused.fileBytes, MIB(8) + KIB(4));
    assert_int_equal(count_files(is_private), files);
    assert_true(folder_is_empty());
    assert_false(swap_has_memory(&own) || swap_has_memory(&other));
    swap_resume(pool, NULL);
    is_whole();
}

static void refuse(poolError_t error, const char *words) {
    copy_refused(poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, NULL), error, words);
    is_whole();
    fixture_free(fixture_malloc(pool, MIB(1), a), a);
}

// ------------------------------------------------------------------------------------------- tests

static void what_the_host_has_no_room_for_goes_into_a_file(void **state) {
    (void)state;
    go_through(0, 2);
    go_through(MIB(1), 2);
    go_through(MIB(3) + KIB(4), 2);
    go_through(MIB(6), 1);
    go_through(MIB(8) + KIB(4), 0);
}

static void a_file_system_needs_none_of_what_helps(void **state) {
    (void)state;
    refusal.direct = EINVAL;
    go_through(MIB(1), 2);
    refusal.room = EOPNOTSUPP;
    go_through(MIB(1), 2);
    refusal.named = EOPNOTSUPP;
    go_through(MIB(1), 2);
    refusal.direct = 0;
    refusal.named = EISDIR;
    go_through(0, 2);
}

static void what_was_discarded_or_destroyed_has_no_file(void **state) {
    (void)state;
    copy_good(poolSwapSetHostLimit(0));
    swap_pause(pool, NULL, poolPauseSave);
    assert_int_equal(count_files(NULL), 2);
    swap_pause(pool, "", poolPauseDiscard);
    assert_int_equal(count_files(NULL), 1);
    assert_int_equal(swap_paused(pool, NULL).fileBytes, MIB(3));
    copy_good(poolMemPoolDestroyTagged(pool, "tag"));
    assert_int_equal(count_files(NULL), 0);
    swap_resume(pool, NULL);
}

static void blocks_are_freed_while_their_contents_are_in_a_file(void **state) {
    (void)state;
    copy_good(poolSwapSetHostLimit(MIB(1)));
    swap_pause(pool, NULL, poolPauseSave);
    swap_free(&own, a);
    swap_resume(pool, NULL);
    assert_true(swap_is_intact(&other));
    own = swap_block(pool, 700, 3, a);
}

static void a_folder_that_cannot_be_used_is_told(void **state) {
    (void)state;
    copy_good(poolSwapSetHostLimit(MIB(6)));
    assert_int_equal(setenv("STREAMPOOL_SWAP_DIR", "/no/such/folder", 1), 0);
    refuse(poolErrorOperatingSystem, "/no/such/folder: making a file");
    assert_int_equal(setenv("STREAMPOOL_SWAP_DIR", "/dev/null", 1), 0);
    refuse(poolErrorOperatingSystem, "Not a directory");
    assert_int_equal(setenv("STREAMPOOL_SWAP_DIR", swap_folder(), 1), 0);
    refusal.named = EACCES;
    refuse(poolErrorOperatingSystem, "Permission denied");
    refusal.named = 0;
    assert_int_equal(setenv("STREAMPOOL_SWAP_DIR", "", 1), 0); // as if it weren't set
    refuse(poolErrorMemoryAllocation, "names no folder");
    assert_int_equal(setenv("STREAMPOOL_SWAP_DIR", swap_folder(), 1), 0);
    go_through(MIB(6), 1);
}

static void a_path_that_is_too_long_is_told(void **state) {
    (void)state;
    char path[5000] = "/tmp";
    memset(path + 4, '/', 4090);
    copy_good(poolSwapSetHostLimit(0));
    refusal.named = EOPNOTSUPP;
    assert_int_equal(setenv("STREAMPOOL_SWAP_DIR", path, 1), 0);
    refuse(poolErrorOperatingSystem, "");
}

static void a_full_disk_is_told(void **state) {
    (void)state;
    copy_good(poolSwapSetHostLimit(MIB(6)));
    refusal.room = ENOSPC;
    refuse(poolErrorOperatingSystem, "making room in a file of 2101248 bytes: No space left");
    refusal.room = EOPNOTSUPP; // then each write may find that
    refusal.write = ENOSPC;
    refuse(poolErrorOperatingSystem, "No space left");
    memset(&refusal, 0, sizeof refusal);
    go_through(MIB(6), 1);
}

// The kernel would send a signal that ends the process.
static void a_file_that_may_not_be_so_long_is_told(void **state) {
    (void)state;
    struct rlimit before, most;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    most = (struct rlimit){MIB(2), before.rlim_max};
    copy_good(poolSwapSetHostLimit(MIB(6)));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
    refuse(poolErrorOperatingSystem, "File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    go_through(MIB(6), 1);
}

static void a_file_that_cannot_be_read_is_kept(void **state) {
    (void)state;
    copy_good(poolSwapSetHostLimit(MIB(1)));
    swap_pause(pool, NULL, poolPauseSave);
    refusal.read = EIO;
    copy_refused(poolMemPoolResume(pool, NULL), poolErrorOperatingSystem, "Input/output error");
    assert_int_equal(swap_paused(pool, NULL).pools, 2);
    assert_int_equal(swap_paused(pool, NULL).fileBytes, MIB(7) + KIB(4));
    assert_false(swap_has_memory(&own) || swap_has_memory(&other));
    refusal.read = 0;
    swap_resume(pool, NULL);
    is_whole();
}

// As a child that was forked has it.
static int duplicate;
static void duplicate_it(int fd) {
    duplicate = dup(fd);
    assert_true(duplicate >= 0);
}

static void another_descriptor_keeps_no_room(void **state) {
    struct stat status;
    (void)state;
    copy_good(poolSwapSetHostLimit(MIB(6)));
    swap_pause(pool, NULL, poolPauseSave);
    assert_int_equal(count_files(duplicate_it), 1);
    assert_int_equal(fstat(duplicate, &status), 0);
    assert_int_equal(status.st_size, MIB(2) + KIB(4));
    swap_resume(pool, NULL);
    assert_int_equal(fstat(duplicate, &status), 0);
    assert_int_equal(status.st_size, 0);
    close(duplicate);
}

static void no_more_descriptors_are_told(void **state) {
    (void)state;
    copy_good(poolSwapSetHostLimit(MIB(6)));
    copy_limit_files();
    copy_refused(poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, NULL),
                 poolErrorOperatingSystem, "Too many open files");
    copy_unlimit_files();
    is_whole();
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void) {
    const struct CMUnitTest tests[] = {
        FILE_TEST(what_the_host_has_no_room_for_goes_into_a_file),
        FILE_TEST(a_file_system_needs_none_of_what_helps),
        FILE_TEST(what_was_discarded_or_destroyed_has_no_file),
        FILE_TEST(blocks_are_freed_while_their_contents_are_in_a_file),
        FILE_TEST(a_folder_that_cannot_be_used_is_told),
        FILE_TEST(a_path_that_is_too_long_is_told),
        FILE_TEST(a_full_disk_is_told),
        FILE_TEST(a_file_that_may_not_be_so_long_is_told),
        FILE_TEST(a_file_that_cannot_be_read_is_kept),
        FILE_TEST(another_descriptor_keeps_no_room),
        FILE_TEST(no_more_descriptors_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
