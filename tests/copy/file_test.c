// Copies between files and a device: bytes at all places, around the page cache and through it, and
// all that a file may answer.
#include "copy/fixture.h"

#include "copy/crew.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTES ((size_t)(MIB(3) + 12345))

static CUstream stream;
static CUdeviceptr device;
static unsigned char *bytes, *seen;
static char path[64];

// ------------------------------------------------------------------------ what the system answers

// The calls of the library, by the linker. Each may do less than it was asked for, be interrupted,
// or fail from one call on.
static atomic_uint calls, direct_calls;
static atomic_size_t direct_bytes;
static unsigned limit;      // of the bytes of a call; 0: none
static unsigned interrupts; // each so many-th call is interrupted; 0: none
static unsigned fails_from; // from this call on; 0: none
static int failure;
static bool forgets; // what the page cache has, which takes a while

// How many calls there were at a time, at most, that were about bytes from this place on. Such a
// call waits until there are so many, if that is asked for, but not for ever; and then a while, in
// which one too many comes.
static off_t counted_from;
static unsigned awaited_at_a_time;
static atomic_uint at_a_time, most_at_a_time;

static void count_at_a_time(off_t at) {
    if (at < counted_from)
        return;
    unsigned now = 1 + atomic_fetch_add(&at_a_time, 1), most = atomic_load(&most_at_a_time);
    while (now > most && !atomic_compare_exchange_weak(&most_at_a_time, &most, now))
        ;
    for (int i = 0; i < 20000 && atomic_load(&most_at_a_time) < awaited_at_a_time; i++)
        usleep(1000);
    if (awaited_at_a_time)
        usleep(5000);
    atomic_fetch_sub(&at_a_time, 1);
}

// A pool of chunks. Who gives a job to the crew waits until a thread reads; that one stays at its
// chunk until a call of the driver has failed, and then long enough to see who gives the chunk
// back.
static _Atomic(poolMemPool_t) watched;
static atomic_bool was_given_back;

static void watch_chunks(void) {
    uint64_t used = 1;
    poolMemPool_t pool = atomic_exchange(&watched, NULL);
    if (!pool)
        return;
    for (int i = 0; i < 20000 && simcudaFailCount() == 0; i++)
        usleep(1000);
    usleep(20 * 1000);
    bool is_known =
        poolMemPoolGetAttribute(pool, poolMemPoolAttrUsedMemCurrent, &used) == poolSuccess;
    atomic_store(&was_given_back, !is_known || used == 0);
}

void __real_sp_crew_add(struct sp_job *job);
void __wrap_sp_crew_add(struct sp_job *job);

void __wrap_sp_crew_add(struct sp_job *job) {
    __real_sp_crew_add(job);
    for (int i = 0; i < 20000 && atomic_load(&watched); i++)
        usleep(1000);
}

static bool answers(off_t at, size_t *size, ssize_t *answer) {
    unsigned call = 1 + atomic_fetch_add(&calls, 1);
    watch_chunks();
    count_at_a_time(at);
    *answer = -1;
    if (interrupts && call % interrupts == 0) {
        errno = EINTR;
        return true;
    }
    if (fails_from && call >= fails_from) {
        errno = failure;
        return true;
    }
    if (limit && *size > limit)
        *size = limit;
    return false;
}

static bool note_direct(int fd) {
    int flags = fcntl(fd, F_GETFL);
    bool is_direct = flags >= 0 && flags & O_DIRECT;
    if (is_direct)
        atomic_fetch_add(&direct_calls, 1);
    return is_direct;
}

ssize_t __real_pread(int fd, void *memory, size_t size, off_t at);
ssize_t __real_pwrite(int fd, const void *memory, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *memory, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *memory, size_t size, off_t at);

ssize_t __wrap_pread(int fd, void *memory, size_t size, off_t at) {
    ssize_t answer;
    bool is_direct = note_direct(fd);
    if (answers(at, &size, &answer))
        return answer;
    answer = __real_pread(fd, memory, size, at);
    if (is_direct && answer > 0)
        atomic_fetch_add(&direct_bytes, (size_t)answer);
    return answer;
}

// A write that takes long: until it is let go, or 20 s are over.
static atomic_bool write_is_slow, is_writing, has_given_up;

ssize_t __wrap_pwrite(int fd, const void *memory, size_t size, off_t at) {
    ssize_t answer;
    note_direct(fd);
    atomic_store(&is_writing, true);
    for (int i = 0; i < 20000 && atomic_load(&write_is_slow); i++)
        usleep(1000);
    if (atomic_load(&write_is_slow))
        atomic_store(&has_given_up, true);
    return answers(at, &size, &answer) ? answer : __real_pwrite(fd, memory, size, at);
}

// A file whose end takes long: until it is let go, or 20 s are over.
static atomic_bool close_is_slow, is_closing;

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd) {
    bool waits = atomic_load(&close_is_slow) && gettid() != getpid(); // a thread of the crew
    atomic_store(&is_closing, waits || atomic_load(&is_closing));
    for (int i = 0; waits && i < 20000 && atomic_load(&close_is_slow); i++)
        usleep(1000);
    if (waits && atomic_load(&close_is_slow))
        atomic_store(&has_given_up, true);
    return __real_close(fd);
}

// ------------------------------------------------------------------------------------- the scene

static int begin(void **state) {
    int failed = copy_setup(state);
    stream = simulated_stream();
    device = copy_device(BYTES);
    bytes = copy_host(BYTES);
    seen = copy_host(BYTES);
    copy_fill(bytes, BYTES, 1);
    strcpy(path, "/tmp/streampool-copy-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    copy_settings(3, 2, KIB(256));
    limit = interrupts = fails_from = 0;
    forgets = true;
    return failed;
}

static int end(void **state) {
    limit = interrupts = fails_from = 0;
    unlink(path);
    free(bytes);
    free(seen);
    return copy_teardown(state);
}

static int open_file(int flags) {
    int fd = open(path, flags | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void write_file(const void *memory, size_t size, off_t at) {
    int fd = open_file(O_WRONLY);
    assert_int_equal(__real_pwrite(fd, memory, size, at), size);
    close(fd);
}

// What the page cache has of it is forgotten, as far as the system does so.
static void forget_file(void) {
    int fd = open_file(O_RDONLY);
    assert_int_equal(fsync(fd), 0);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
}

static void *at(size_t offset) {
    return copy_pointer(device + offset);
}

enum form { NOW, AHEAD };

static poolError_t finish(poolError_t error, poolCopyCompletion_t completion) {
    if (error != poolSuccess)
        return error;
    error = poolCopyCompletionSynchronize(completion);
    assert_int_equal(poolCopyCompletionQuery(completion), error);
    assert_int_equal(poolCopyCompletionDestroy(completion), poolSuccess);
    return error;
}

// The descriptor is closed as soon as the call has returned.
static poolError_t read_to(enum form form, int flags, size_t to, uint64_t from, size_t size) {
    poolCopyCompletion_t completion = NULL;
    int fd = open_file(flags);
    poolError_t error = form == NOW ? poolFileToDeviceAsync(at(to), fd, from, size, stream)
                                    : poolFileToDeviceAsyncWithCompletion(at(to), fd, from, size,
                                                                          stream, &completion);
    close(fd);
    return form == NOW ? error : finish(error, completion);
}

static poolError_t write_from(enum form form, int flags, size_t from, uint64_t to, size_t size) {
    poolCopyCompletion_t completion = NULL;
    int fd = open_file(flags);
    poolError_t error = form == NOW ? poolDeviceToFileAsync(fd, to, at(from), size, stream)
                                    : poolDeviceToFileAsyncWithCompletion(fd, to, at(from), size,
                                                                          stream, &completion);
    close(fd);
    return form == NOW ? error : finish(error, completion);
}

static void read_file(size_t size, off_t from) {
    int fd = open_file(O_RDONLY);
    assert_int_equal(__real_pread(fd, seen, size, from), size);
    close(fd);
}

// ------------------------------------------------------------------------------------------ bytes

static const struct {
    size_t offset, size;
} spans[] = {{0, BYTES},         {0, 1},       {1, KIB(700)},           {4096, MIB(2)},
             {KIB(512), KIB(1)}, {0, MIB(3)},  {BYTES - 1, 1},          {777, BYTES - 777},
             {4095, 4097},       {8192, 4096}, {MIB(1), BYTES - MIB(1)}};
enum { SPANS = sizeof spans / sizeof spans[0] };

static void both_ways(enum form form, int flags) {
    write_file(bytes, BYTES, 0);
    for (size_t i = 0; i < SPANS; i++) {
        size_t offset = spans[i].offset, size = spans[i].size;
        if (i % 4 == 1 && forgets)
            forget_file();
        memset(seen, 0, BYTES);
        copy_poke(device, seen, BYTES);
        copy_good(read_to(form, O_RDONLY | flags, 0, offset, size));
        copy_finish(stream);
        copy_peek(seen, device, size);
        assert_memory_equal(seen, bytes + offset, size);
        copy_good(write_from(form, O_WRONLY | flags, 0, MIB(8) + offset, size));
        read_file(size, (off_t)(MIB(8) + offset));
        assert_memory_equal(seen, bytes + offset, size);
    }
}

static void bytes_at_all_places_arrive(void **state) {
    (void)state;
    both_ways(NOW, 0);
}

static void bytes_at_all_places_arrive_with_a_completion(void **state) {
    (void)state;
    both_ways(AHEAD, 0);
}

// Where the file system has no such descriptors there is nothing to be seen.
static void a_descriptor_around_the_cache_takes_all_places_too(void **state) {
    (void)state;
    int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (fd < 0)
        skip();
    close(fd);
    both_ways(NOW, O_DIRECT);
    both_ways(AHEAD, O_DIRECT);
}

// True where the file system lets bytes be read around the cache, and the cache has forgotten them.
// The kernel tells without reading any.
static bool is_around_cache(size_t size) {
    unsigned char pages[BYTES / 4096];
    int cached = open_file(O_RDONLY), around = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    void *map = mmap(NULL, size, PROT_READ, MAP_SHARED, cached, 0);
    assert_true(map != MAP_FAILED && mincore(map, size, pages) == 0);
    bool is = around >= 0;
    for (size_t i = 0; i < size / 4096 && is; i++)
        is = (pages[i] & 1) == 0;
    munmap(map, size);
    close(cached);
    if (around >= 0)
        close(around);
    return is;
}

static void what_the_cache_lacks_is_read_around_it(void **state) {
    (void)state;
    write_file(bytes, MIB(3), 0);
    atomic_store(&direct_calls, 0);
    copy_good(read_to(NOW, O_RDONLY, 0, 0, MIB(3)));
    assert_int_equal(atomic_load(&direct_calls), 0); // the file was written just now
    forget_file();
    if (!is_around_cache(MIB(3)))
        skip();
    for (int i = 0; i < 2; i++) { // and the cache lacks it behind that, too
        atomic_store(&direct_bytes, 0);
        copy_good(read_to(NOW, O_RDONLY, 0, 0, MIB(3)));
        assert_int_equal(atomic_load(&direct_bytes), MIB(3));
        assert_true(is_around_cache(MIB(3)));
    }
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, MIB(3), 1));
}

static void holes_are_zeros(void **state) {
    (void)state;
    write_file(bytes, 100, MIB(2));
    copy_poke(device, bytes, BYTES);
    copy_good(read_to(NOW, O_RDONLY, 0, 0, MIB(2) + 100));
    copy_finish(stream);
    copy_peek(seen, device, MIB(2) + 100);
    for (size_t i = 0; i < MIB(2); i++)
        assert_int_equal(seen[i], 0);
    assert_memory_equal(seen + MIB(2), bytes, 100);
}

static void a_file_becomes_longer_and_its_other_bytes_stay(void **state) {
    (void)state;
    write_file(bytes, 1000, 0);
    memset(seen, 0x42, BYTES);
    copy_poke(device, seen, BYTES);
    copy_good(write_from(NOW, O_WRONLY, 0, 500, MIB(1)));
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 500 + MIB(1));
    read_file(501, 0);
    assert_memory_equal(seen, bytes, 500);
    assert_int_equal(seen[500], 0x42);
}

// The position of a descriptor is the program's.
static void the_position_of_a_descriptor_stays(void **state) {
    (void)state;
    write_file(bytes, MIB(1), 0);
    int fd = open_file(O_RDWR);
    assert_int_equal(lseek(fd, 77, SEEK_SET), 77);
    copy_good(poolFileToDeviceAsync(at(0), fd, 0, MIB(1), stream));
    copy_good(poolDeviceToFileAsync(fd, 0, at(0), MIB(1), stream));
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 77);
    close(fd);
}

// ------------------------------------------------------------------------------------------- order

static void a_copy_of_a_file_keeps_the_order_of_its_stream(void **state) {
    (void)state;
    poolCopyCompletion_t in = NULL, out = NULL;
    write_file(bytes, BYTES, 0);
    struct copy_hold hold = copy_hold(stream);
    int fd = open_file(O_RDWR);
    copy_good(poolFileToDeviceAsyncWithCompletion(at(0), fd, 0, BYTES, stream, &in));
    copy_good(poolDeviceToFileAsyncWithCompletion(fd, MIB(4), at(0), BYTES, stream, &out));
    close(fd);
    assert_int_equal(poolCopyCompletionQuery(out), poolErrorNotReady);
    copy_let_go(&hold);
    copy_finish(stream);
    read_file(BYTES, (off_t)MIB(4));
    assert_memory_equal(seen, bytes, BYTES);
    copy_good(poolCopyCompletionDestroy(in));
    copy_good(poolCopyCompletionDestroy(out));
}

// The device is through when a thread writes the last bytes, and the stream isn't.
static void a_stream_waits_until_the_file_has_the_bytes(void **state) {
    (void)state;
    poolCopyCompletion_t completion = NULL;
    int fd = open_file(O_WRONLY);
    copy_poke(device, bytes, KIB(100));
    atomic_store(&is_writing, false);
    atomic_store(&write_is_slow, true);
    copy_good(poolDeviceToFileAsyncWithCompletion(fd, 0, at(0), KIB(100), stream, &completion));
    close(fd);
    for (int i = 0; i < 20000 && !atomic_load(&is_writing); i++) {
        sp_driver->cuStreamQuery(stream); // makes the simulated device go on
        usleep(1000);
    }
    usleep(20 * 1000); // in which a stream that doesn't wait is done
    CUresult of_stream = sp_driver->cuStreamQuery(stream);
    poolError_t of_copy = poolCopyCompletionQuery(completion);
    atomic_store(&write_is_slow, false);
    assert_true(atomic_load(&is_writing));
    assert_int_equal(of_stream, CUDA_ERROR_NOT_READY);
    assert_int_equal(of_copy, poolErrorNotReady);
    copy_finish(stream);
    read_file(KIB(100), 0);
    assert_memory_equal(seen, bytes, KIB(100));
    copy_good(poolCopyCompletionDestroy(completion));
}

// ------------------------------------------------------------------------- what the system answers

static void short_answers_and_interrupts_are_gone_on_from(void **state) {
    (void)state;
    forgets = false;
    static const unsigned limits[] = {1000, 8192, 100000}; // one with an aligned rest
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        limit = limits[i];
        for (interrupts = 0; interrupts <= 3; interrupts += 3)
            both_ways(i % 2 ? NOW : AHEAD, 0);
    }
}

static void a_failure_names_the_byte_and_the_next_copy_works(void **state) {
    (void)state;
    for (unsigned from = 1; from <= 12; from++) {
        for (int form = NOW; form <= AHEAD; form++) {
            write_file(bytes, BYTES, 0);
            fails_from = from;
            atomic_store(&calls, 0);
            failure = EIO;
            poolError_t error = read_to((enum form)form, O_RDONLY, 0, 0, BYTES);
            fails_from = 0;
            copy_finish(stream);
            if (error != poolSuccess)
                copy_refused(error, poolErrorOperatingSystem, "reading a file at byte ");
            copy_good(read_to((enum form)form, O_RDONLY, 0, 0, BYTES));
            copy_finish(stream);
            assert_true(copy_device_is_filled(device, BYTES, 1));
            fails_from = from;
            atomic_store(&calls, 0);
            failure = ENOSPC;
            error = write_from((enum form)form, O_WRONLY, 0, 0, BYTES);
            fails_from = 0;
            copy_finish(stream);
            if (from < 4)
                copy_refused(error, poolErrorOperatingSystem, "No space left on device");
            copy_good(write_from((enum form)form, O_WRONLY, 0, 0, BYTES));
        }
    }
}

// Nothing of another copy's comes to the device.
static void what_could_not_be_read_is_zeros(void **state) {
    (void)state;
    write_file(bytes, BYTES, 0);
    copy_good(read_to(AHEAD, O_RDONLY, 0, 0, BYTES)); // the chunks have bytes now
    copy_finish(stream);
    fails_from = 1;
    failure = EIO;
    copy_refused(read_to(AHEAD, O_RDONLY, 0, 0, BYTES), poolErrorOperatingSystem,
                 "reading a file at byte 0: ");
    copy_finish(stream);
    copy_peek(seen, device, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(seen[i], 0);
}

// The driver refuses the copy while a thread reads, and the call makes it once more.
static void chunks_are_given_back_when_no_thread_is_at_them(void **state) {
    (void)state;
    poolMemPool_t pool = NULL;
    write_file(bytes, BYTES, 0);
    copy_good(poolCopyGetPool(&pool));
    atomic_store(&was_given_back, false);
    atomic_store(&watched, pool);
    assert_int_equal(simcudaFailCall("cuMemcpyHtoDAsync", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN),
                     0);
    copy_good(read_to(AHEAD, O_RDONLY, 0, 0, BYTES));
    simcudaFailClear();
    assert_null(atomic_load(&watched));
    assert_false(atomic_load(&was_given_back));
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, BYTES, 1));
}

static void a_file_that_becomes_shorter_ends_early(void **state) {
    (void)state;
    poolCopyCompletion_t completion = NULL;
    write_file(bytes, BYTES, 0);
    struct copy_hold hold = copy_hold(stream);
    int fd = open_file(O_RDONLY);
    copy_good(poolFileToDeviceAsyncWithCompletion(at(0), fd, 0, BYTES, stream, &completion));
    close(fd);
    assert_int_equal(truncate(path, (off_t)MIB(2)), 0); // beyond what two chunks have
    copy_let_go(&hold);
    copy_refused(poolCopyCompletionSynchronize(completion), poolErrorInvalidValue,
                 "reading a file: it ends at byte 2097152");
    copy_finish(stream);
    copy_good(poolCopyCompletionDestroy(completion));
}

// -------------------------------------------------------------------------------------- refusals

static void bad_files_are_refused(void **state) {
    (void)state;
    poolCopyCompletion_t completion = NULL;
    int pipes[2];
    write_file(bytes, 1000, 0);
    copy_poke(device, bytes, BYTES);
    int in = open_file(O_RDONLY), out = open_file(O_WRONLY);
    int appends = open_file(O_WRONLY | O_APPEND);
    assert_int_equal(pipe(pipes), 0);
    copy_refused(poolFileToDeviceAsync(at(0), -1, 0, 10, stream), poolErrorOperatingSystem,
                 "Bad file descriptor");
    copy_refused(poolFileToDeviceAsync(at(0), out, 0, 10, stream), poolErrorOperatingSystem,
                 "Bad file descriptor");
    copy_refused(poolDeviceToFileAsync(in, 0, at(0), 10, stream), poolErrorOperatingSystem,
                 "Bad file descriptor");
    copy_refused(poolDeviceToFileAsync(appends, 0, at(0), 10, stream), poolErrorOperatingSystem,
                 "Invalid argument");
    close(appends);
    copy_refused(poolFileToDeviceAsync(at(0), in, 0, 1001, stream), poolErrorInvalidValue,
                 "it ends at byte 1000");
    copy_refused(poolFileToDeviceAsync(at(0), in, 5000, 1, stream), poolErrorInvalidValue,
                 "it ends at byte 5000");
    copy_refused(poolFileToDeviceAsync(at(0), in, UINT64_MAX, 1, stream), poolErrorOperatingSystem,
                 "too large");
    copy_refused(poolFileToDeviceAsync(at(0), pipes[0], 0, 10, stream), poolErrorOperatingSystem,
                 "Illegal seek");
    copy_refused(poolFileToDeviceAsync(NULL, in, 0, 10, stream), poolErrorInvalidValue,
                 "dst is null");
    copy_refused(poolDeviceToFileAsync(out, 0, NULL, 10, stream), poolErrorInvalidValue,
                 "src is null");
    copy_refused(poolFileToDeviceAsync(bytes, in, 0, 10, stream), poolErrorInvalidValue, "dst");
    copy_refused(poolFileToDeviceAsyncWithCompletion(at(0), in, 0, 10, stream, NULL),
                 poolErrorInvalidValue, "completion is null");
    copy_refused(poolFileToDeviceAsyncWithCompletion(at(0), in, 0, 1001, stream, &completion),
                 poolErrorInvalidValue, "it ends");
    assert_null(completion);
    copy_good(poolFileToDeviceAsync(NULL, -1, 0, 0, stream));
    close(in);
    close(out);
    close(pipes[0]);
    close(pipes[1]);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    int fifo = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); // which nobody writes
    copy_refused(poolFileToDeviceAsync(at(0), fifo, 0, MIB(1), stream), poolErrorOperatingSystem,
                 strerror(ESPIPE));
    close(fifo);
    copy_peek(seen, device, BYTES);
    assert_memory_equal(seen, bytes, BYTES);
}

static void a_full_disk_is_told(void **state) {
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0)
        skip();
    copy_refused(poolDeviceToFileAsync(full, 0, at(0), MIB(1), stream), poolErrorOperatingSystem,
                 "No space left on device");
    close(full);
}

// As a limit of the user's says, whose signal the program ignores.
static void a_file_that_may_not_be_so_long_is_told(void **state) {
    (void)state;
    struct rlimit before, most;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    most = (struct rlimit){MIB(1), before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    copy_good(write_from(NOW, O_WRONLY, 0, 0, 100)); // the chunks are there
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
    poolError_t error = write_from(NOW, O_WRONLY, 0, MIB(1) - 10, 1000);
    copy_refused(error, poolErrorOperatingSystem, "writing a file at byte 1048576: File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
}

static void a_stream_that_captures_is_refused(void **state) {
    (void)state;
    CUgraph graph = NULL;
    write_file(bytes, 1000, 0);
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    copy_refused(read_to(NOW, O_RDONLY, 0, 0, 1000), poolErrorStreamCaptureUnsupported,
                 "a file can't be captured");
    assert_int_equal(sp_driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
}

static void as_many_threads_copy_as_the_settings_say(void **state) {
    (void)state;
    write_file(bytes, BYTES, 0);
    for (unsigned threads = 4; threads >= 1; threads--) {
        for (int form = NOW; form <= AHEAD; form++) {
            copy_settings(threads, 4, MIB(1));
            atomic_store(&most_at_a_time, 0);
            awaited_at_a_time = threads;
            copy_good(read_to((enum form)form, O_RDONLY, 0, 0, BYTES));
            copy_finish(stream);
            assert_int_equal(atomic_load(&most_at_a_time), threads);
            assert_true(copy_device_is_filled(device, BYTES, 1));
        }
    }
    awaited_at_a_time = 0;
}

// Chunks that the device has left are filled again by all threads, while each slice takes long. A
// part is one slice.
static void all_threads_read_behind_the_first_chunks(void **state) {
    (void)state;
    write_file(bytes, BYTES, 0);
    copy_settings(4, 4, KIB(256));
    copy_good(read_to(NOW, O_RDONLY, 0, 0, BYTES)); // threads are there
    atomic_store(&most_at_a_time, 0);
    counted_from = 5 * KIB(256);
    awaited_at_a_time = 4;
    copy_good(read_to(NOW, O_RDONLY, 0, 0, BYTES));
    copy_finish(stream);
    assert_int_equal(atomic_load(&most_at_a_time), 4);
    assert_true(copy_device_is_filled(device, BYTES, 1));
    awaited_at_a_time = 0;
    counted_from = 0;
}

// All threads are at a file that doesn't take its bytes.
static void a_caller_without_threads_reads_alone(void **state) {
    (void)state;
    poolCopyCompletion_t completion = NULL;
    CUstream other = simulated_stream();
    void *source = copy_pointer(copy_device(BYTES));
    write_file(bytes, BYTES, 0);
    copy_settings(4, 4, KIB(256));
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    atomic_store(&has_given_up, false);
    atomic_store(&write_is_slow, true);
    copy_good(poolDeviceToFileAsyncWithCompletion(fd, 0, source, BYTES, other, &completion));
    close(fd);
    copy_good(read_to(NOW, O_RDONLY, 0, 0, BYTES));
    assert_false(atomic_load(&has_given_up));
    atomic_store(&write_is_slow, false);
    copy_finish(other);
    copy_good(poolCopyCompletionSynchronize(completion));
    copy_good(poolCopyCompletionDestroy(completion));
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, BYTES, 1));
}

// As on a file system that writes what it has when a file is closed.
static void a_file_that_is_slow_to_close_holds_up_no_other_copy(void **state) {
    (void)state;
    poolCopyCompletion_t completion = NULL;
    struct copy_hold hold = copy_hold(stream);
    int fd = open_file(O_WRONLY);
    copy_good(poolDeviceToFileAsyncWithCompletion(fd, 0, at(0), BYTES, stream, &completion));
    close(fd);
    copy_good(poolCopyCompletionDestroy(completion)); // the crew ends the copy
    atomic_store(&close_is_slow, true);
    copy_let_go(&hold);
    copy_finish(stream);
    for (int i = 0; i < 20000 && !atomic_load(&is_closing); i++)
        usleep(1000);
    assert_true(atomic_load(&is_closing));
    copy_good(poolCopyToDeviceAsync(at(0), bytes, BYTES, stream));
    assert_false(atomic_load(&has_given_up));
    atomic_store(&close_is_slow, false);
    copy_finish(stream);
}

static int count_descriptors(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void no_descriptor_is_left(void **state) {
    (void)state;
    both_ways(AHEAD, 0); // the simulated device has files, too
    int before = count_descriptors();
    both_ways(NOW, 0);
    both_ways(AHEAD, 0);
    fails_from = 3;
    failure = EIO;
    atomic_store(&calls, 0);
    read_to(AHEAD, O_RDONLY, 0, 0, BYTES);
    fails_from = 0;
    copy_finish(stream);
    static const char *const entries[] = {"cuEventCreate", "cuEventRecord", "cuStreamWaitValue32",
                                          "cuMemcpyHtoDAsync"};
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        assert_int_equal(simcudaFailCall(entries[i], 1, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN),
                         0);
        read_to(AHEAD, O_RDONLY, 0, 0, BYTES);
        simcudaFailClear();
        copy_finish(stream);
    }
    assert_int_equal(count_descriptors(), before);
}

// A copy with a completion needs a descriptor of its own.
static void without_a_descriptor_the_call_says_why(void **state) {
    (void)state;
    poolCopyCompletion_t completion = NULL;
    write_file(bytes, 1000, 0);
    int fd = open_file(O_RDONLY);
    copy_limit_files();
    copy_refused(poolFileToDeviceAsyncWithCompletion(at(0), fd, 0, 1000, stream, &completion),
                 poolErrorOperatingSystem, "Too many open files");
    copy_unlimit_files();
    close(fd);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(bytes_at_all_places_arrive),
        TEST(bytes_at_all_places_arrive_with_a_completion),
        TEST(a_descriptor_around_the_cache_takes_all_places_too),
        TEST(what_the_cache_lacks_is_read_around_it),
        TEST(holes_are_zeros),
        TEST(a_file_becomes_longer_and_its_other_bytes_stay),
        TEST(the_position_of_a_descriptor_stays),
        TEST(a_copy_of_a_file_keeps_the_order_of_its_stream),
        TEST(a_stream_waits_until_the_file_has_the_bytes),
        TEST(short_answers_and_interrupts_are_gone_on_from),
        TEST(a_failure_names_the_byte_and_the_next_copy_works),
        TEST(what_could_not_be_read_is_zeros),
        TEST(chunks_are_given_back_when_no_thread_is_at_them),
        TEST(a_file_that_becomes_shorter_ends_early),
        TEST(bad_files_are_refused),
        TEST(a_full_disk_is_told),
        TEST(a_file_that_may_not_be_so_long_is_told),
        TEST(a_stream_that_captures_is_refused),
        TEST(a_file_that_is_slow_to_close_holds_up_no_other_copy),
        TEST(as_many_threads_copy_as_the_settings_say),
        TEST(all_threads_read_behind_the_first_chunks),
        TEST(a_caller_without_threads_reads_alone),
        TEST(no_descriptor_is_left),
        TEST(without_a_descriptor_the_call_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
