// Copies of files by cuFile, which a library of the tests stands in for: what goes by it, the order
// with the stream, and that nothing is lost where it fails.
#include "copy/fake_cufile.h"
#include "copy/process.h"

#include "copy/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE  ((size_t)4096)
#define BYTES ((size_t)(MIB(4) + 1234)) // of the device's memory, and of the file
#define WHOLE (BYTES / PAGE * PAGE)

static CUstream stream;
static CUdeviceptr device;
static unsigned char *bytes, *seen;
static char path[64];
static int fd; // of the file

// ------------------------------------------------------------------------ what the system answers

// Calls of the library, by the linker: which kernel module is there, what the page cache has, and
// what opens a file around it. Where the file system has no such descriptors another one will do.
static bool has_module, is_cached;
static atomic_uint direct_opens;
static atomic_int direct_flags; // of the last one
static off_t shortens_to;       // the file, when it is opened once more; 0: it doesn't

int __real_access(const char *name, int mode);
int __wrap_access(const char *name, int mode);
int __real_open(const char *name, int flags, ...);
int __wrap_open(const char *name, int flags, ...);
bool __real_sp_copy_file_is_cached(const struct sp_copy_file *file);
bool __wrap_sp_copy_file_is_cached(const struct sp_copy_file *file);

int __wrap_access(const char *name, int mode) {
    if (strcmp(name, "/proc/driver/nvidia-fs") != 0)
        return __real_access(name, mode);
    errno = ENOENT;
    return has_module ? 0 : -1;
}

int __wrap_open(const char *name, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    int opened = __real_open(name, flags, mode);
    if (strncmp(name, "/proc/self/fd/", 14) != 0 || !(flags & O_DIRECT))
        return opened;
    atomic_fetch_add(&direct_opens, 1);
    atomic_store(&direct_flags, flags);
    if (shortens_to)
        assert_int_equal(truncate(path, shortens_to), 0);
    return opened >= 0 ? opened : __real_open(name, flags & ~O_DIRECT);
}

bool __wrap_sp_copy_file_is_cached(const struct sp_copy_file *file) {
    return is_cached && __real_sp_copy_file_is_cached(file);
}

// ------------------------------------------------------------------------------------- the scene

static void reset(void) {
    memset((void *)&fake_cufile, 0, sizeof fake_cufile);
    atomic_store(&direct_opens, 0);
}

static bool make_file(void) {
    strcpy(path, "/tmp/streampool-cufile-XXXXXX");
    fd = mkostemp(path, O_CLOEXEC);
    return fd >= 0;
}

static int begin(void **state) {
    int failed = copy_setup(state);
    stream = simulated_stream();
    device = copy_device(BYTES);
    bytes = copy_host(BYTES);
    seen = copy_host(BYTES);
    copy_fill(bytes, BYTES, 1);
    assert_true(make_file());
    copy_settings(3, 2, KIB(256));
    reset();
    is_cached = false;
    shortens_to = 0;
    return failed;
}

// Each file that was registered is so no more.
static int end(void **state) {
    assert_int_equal(fake_cufile.mistakes, 0);
    assert_int_equal(fake_cufile.registered, fake_cufile.deregistered);
    close(fd);
    unlink(path);
    free(bytes);
    free(seen);
    return copy_teardown(state);
}

static void *at(size_t offset) {
    return copy_pointer(device + offset);
}

static void fill_file(void) {
    assert_int_equal(pwrite(fd, bytes, BYTES, 0), BYTES);
}

static void clear_device(void) {
    memset(seen, 0, BYTES);
    copy_poke(device, seen, BYTES);
}

static void expect_on_device(void) {
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, BYTES, 1));
}

static void expect_in_file(void) {
    assert_int_equal(pread(fd, seen, BYTES, 0), BYTES);
    assert_true(copy_is_filled(seen, BYTES, 1));
}

// All of the file, with the bytes looked at.
static void read_all(void) {
    fill_file();
    clear_device();
    copy_good(poolFileToDeviceAsync(at(0), fd, 0, BYTES, stream));
    expect_on_device();
}

static void write_all(void) {
    assert_int_equal(ftruncate(fd, 0), 0);
    copy_poke(device, bytes, BYTES);
    copy_good(poolDeviceToFileAsync(fd, 0, at(0), BYTES, stream));
    expect_in_file();
}

// ----------------------------------------------------------------------------- what goes by cuFile

static void whole_pages_of_large_copies_go_by_cufile(void **state) {
    (void)state;
    read_all();
    assert_int_equal(fake_cufile.registered, 1);
    assert_int_equal(fake_cufile.reads, 1);
    assert_int_equal(fake_cufile.bytes, WHOLE);
    assert_true(direct_opens > 0);
    reset();
    write_all();
    assert_int_equal(fake_cufile.registered, 1);
    assert_int_equal(fake_cufile.writes, 1);
    assert_int_equal(fake_cufile.bytes, WHOLE);
}

static void a_copy_of_pages_alone_needs_no_chunks(void **state) {
    (void)state;
    poolMemPool_t pool = NULL;
    uint64_t most = 1;
    fill_file();
    copy_good(poolFileToDeviceAsync(at(PAGE), fd, PAGE, MIB(1), stream));
    assert_int_equal(fake_cufile.bytes, MIB(1));
    copy_good(poolCopyGetPool(&pool));
    copy_good(poolMemPoolGetAttribute(pool, poolMemPoolAttrUsedMemHigh, &most));
    assert_int_equal(most, 0);
}

static void a_programs_own_descriptor_around_the_cache_is_used(void **state) {
    (void)state;
    fill_file();
    clear_device();
    int own = __real_open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    if (own < 0)
        skip();
    is_cached = true; // which such a descriptor doesn't ask
    copy_good(poolFileToDeviceAsync(at(0), own, 0, WHOLE, stream));
    assert_int_equal(fake_cufile.bytes, WHOLE);
    assert_int_equal(direct_opens, 0);
    assert_int_not_equal(fake_cufile.fd, own); // a program may have registered that
    close(own);
    copy_finish(stream);
    assert_true(copy_device_is_filled(device, WHOLE, 1));
}

// Both ways at a place of the file, and the bytes are right.
static void both_ways(uint64_t place, size_t size) {
    clear_device();
    copy_good(poolFileToDeviceAsync(at(0), fd, place, size, stream));
    copy_finish(stream);
    copy_peek(seen, device, size);
    assert_memory_equal(seen, bytes + place, size);
    copy_good(poolDeviceToFileAsync(fd, place, at(0), size, stream));
    expect_in_file();
}

static void small_copies_and_other_places_go_by_chunks(void **state) {
    (void)state;
    fill_file();
    both_ways(0, MIB(1) - 1);
    both_ways(1, MIB(1));
    both_ways(512, MIB(2));
    assert_int_equal(fake_cufile.registered, 0);
    both_ways(PAGE, MIB(1));
    assert_int_equal(fake_cufile.registered, 2);
}

static void bytes_are_as_safe_on_the_disk_as_the_program_wants(void **state) {
    (void)state;
    int safe = __real_open(path, O_RDWR | O_DSYNC | O_CLOEXEC);
    assert_true(safe >= 0);
    copy_good(poolDeviceToFileAsync(safe, 0, at(0), WHOLE, stream));
    assert_int_equal(fake_cufile.writes, 1);
    assert_true(direct_flags & O_DSYNC);
    close(safe);
}

static void what_the_cache_has_is_read_from_there(void **state) {
    (void)state;
    is_cached = true;
    read_all();
    copy_good(poolDeviceToFileAsync(fd, 0, at(0), BYTES, stream)); // which doesn't ask
    expect_in_file();
    assert_int_equal(fake_cufile.reads, 0);
    assert_int_equal(fake_cufile.writes, 1);
}

static void a_copy_with_a_completion_goes_by_chunks(void **state) {
    (void)state;
    poolCopyCompletion_t completion = NULL;
    fill_file();
    copy_good(poolFileToDeviceAsyncWithCompletion(at(0), fd, 0, BYTES, stream, &completion));
    copy_good(poolCopyCompletionSynchronize(completion));
    copy_good(poolCopyCompletionDestroy(completion));
    expect_on_device();
    copy_good(poolDeviceToFileAsyncWithCompletion(fd, 0, at(0), BYTES, stream, &completion));
    copy_good(poolCopyCompletionSynchronize(completion));
    copy_good(poolCopyCompletionDestroy(completion));
    assert_int_equal(fake_cufile.registered, 0);
}

static void memory_that_is_no_devices_goes_by_chunks(void **state) {
    (void)state;
    CUdeviceptr managed = 0;
    unsigned char *pinned = copy_pinned(BYTES);
    fill_file();
    copy_good(poolFileToDeviceAsync(pinned, fd, 0, BYTES, stream));
    copy_finish(stream);
    assert_true(copy_is_filled(pinned, BYTES, 1));
    assert_int_equal(sp_driver->cuMemAllocManaged(&managed, BYTES, CU_MEM_ATTACH_GLOBAL),
                     CUDA_SUCCESS);
    copy_good(poolFileToDeviceAsync(copy_pointer(managed), fd, 0, BYTES, stream));
    copy_finish(stream);
    assert_int_equal(sp_driver->cuMemFree(managed), CUDA_SUCCESS);
    assert_int_equal(fake_cufile.registered, 0);
}

static void a_device_file_goes_by_chunks(void **state) {
    (void)state;
    int zeros = __real_open("/dev/zero", O_RDWR | O_CLOEXEC);
    assert_true(zeros >= 0);
    copy_good(poolFileToDeviceAsync(at(0), zeros, 0, MIB(1), stream));
    copy_good(poolDeviceToFileAsync(zeros, 0, at(0), MIB(1), stream));
    close(zeros);
    assert_int_equal(fake_cufile.registered, 0);
}

static void a_stream_that_captures_is_refused(void **state) {
    (void)state;
    CUgraph graph = NULL;
    fill_file();
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    copy_refused(poolFileToDeviceAsync(at(0), fd, 0, BYTES, stream),
                 poolErrorStreamCaptureUnsupported, "a file can't be captured");
    assert_int_equal(sp_driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    assert_int_equal(fake_cufile.registered, 0);
}

// ------------------------------------------------------------------------------------ drawn by lot

static uint64_t drawn;

static uint64_t draw(uint64_t below) {
    drawn = drawn * 6364136223846793005 + 1442695040888963407;
    return (drawn >> 33) % below;
}

// Each copy may be cut short, and fail at some call, from there on or once.
static void bytes_at_drawn_places_arrive(void **state) {
    (void)state;
    unsigned char *in_file = copy_host(BYTES), *on_device = copy_host(BYTES);
    unsigned used = 0;
    copy_fill(in_file, BYTES, 2);
    assert_int_equal(pwrite(fd, in_file, BYTES, 0), BYTES);
    copy_fill(on_device, BYTES, 3);
    copy_poke(device, on_device, BYTES);
    drawn = 20;
    for (int i = 0; i < 60; i++) {
        bool reads = draw(2) == 0;
        size_t size = draw(4) == 0 ? 1 + draw(MIB(1)) : MIB(1) + draw(MIB(1));
        size_t place = draw(BYTES - size) / PAGE * PAGE + (draw(8) == 0), to = draw(BYTES - size);
        reset();
        fake_cufile.fails_at = (unsigned)draw(4);
        fake_cufile.fails_on = draw(2);
        fake_cufile.failure = draw(2) == 0 ? EIO : 0;
        fake_cufile.most = draw(2) == 0 ? 0 : draw(3) == 0 ? 1 + draw(KIB(500)) : PAGE * 100;
        is_cached = draw(8) == 0;
        if (reads) {
            copy_good(poolFileToDeviceAsync(at(to), fd, place, size, stream));
            memcpy(on_device + to, in_file + place, size);
        } else {
            copy_good(poolDeviceToFileAsync(fd, place, at(to), size, stream));
            memcpy(in_file + place, on_device + to, size);
        }
        copy_finish(stream);
        copy_peek(seen, device, BYTES);
        assert_memory_equal(seen, on_device, BYTES);
        assert_int_equal(pread(fd, seen, BYTES, 0), BYTES);
        assert_memory_equal(seen, in_file, BYTES);
        assert_int_equal(fake_cufile.mistakes, 0);
        used += fake_cufile.bytes > 0;
    }
    assert_true(used > 15);
    free(in_file);
    free(on_device);
}

// ------------------------------------------------------------------------------------------- order

struct copier {
    bool reads;
    poolError_t error;
};

static void *copy_beside(void *data) {
    struct copier *copier = data;
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    copier->error = copier->reads ? poolFileToDeviceAsync(at(0), fd, 0, BYTES, stream)
                                  : poolDeviceToFileAsync(fd, 0, at(0), BYTES, stream);
    return NULL;
}

// Behind what the stream has to do, a fill of the memory that is copied, and no earlier.
static void copy_behind_a_fill(bool reads) {
    struct copier copier = {reads, poolErrorUnknown};
    pthread_t thread;
    struct copy_hold hold = copy_hold(stream);
    fake_cufile.held_back = hold.at;
    assert_int_equal(sp_driver->cuMemsetD8Async(device, 0x5a, BYTES, stream), CUDA_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, copy_beside, &copier), 0);
    for (int i = 0; i < 20000 && fake_cufile.registered == 0; i++)
        usleep(1000);
    copy_let_go(&hold);
    assert_int_equal(pthread_join(thread, NULL), 0);
    copy_good(copier.error);
    assert_int_equal(fake_cufile.reads + fake_cufile.writes, 1);
    assert_int_equal(fake_cufile.mistakes, 0);
    fake_cufile.held_back = NULL;
}

static void a_read_comes_behind_what_the_stream_has_to_do(void **state) {
    (void)state;
    fill_file();
    copy_behind_a_fill(true);
    expect_on_device();
}

static void a_write_comes_behind_what_the_stream_has_to_do(void **state) {
    (void)state;
    copy_poke(device, bytes, BYTES);
    copy_behind_a_fill(false);
    assert_int_equal(pread(fd, seen, BYTES, 0), BYTES);
    memset(bytes, 0x5a, BYTES);
    assert_memory_equal(seen, bytes, BYTES);
}

// A copy and a fill of the stream, in turn, with nobody waiting for the stream in between.
static void what_the_stream_gets_later_comes_behind_a_copy(void **state) {
    (void)state;
    unsigned char *pinned = copy_pinned(BYTES);
    fill_file();
    copy_good(poolFileToDeviceAsync(at(0), fd, 0, BYTES, stream));
    assert_int_equal(sp_driver->cuMemcpyDtoHAsync(pinned, device, BYTES, stream), CUDA_SUCCESS);
    copy_good(poolDeviceToFileAsync(fd, 0, at(0), BYTES, stream));
    assert_int_equal(sp_driver->cuMemsetD8Async(device, 0x5a, BYTES, stream), CUDA_SUCCESS);
    copy_finish(stream);
    assert_true(copy_is_filled(pinned, BYTES, 1));
    expect_in_file();
    assert_int_equal(fake_cufile.reads, 1);
    assert_int_equal(fake_cufile.writes, 1);
}

struct worker {
    pthread_t thread;
    CUstream stream;
    CUdeviceptr memory;
    int file;
    bool is_good;
};

static void *copy_again_and_again(void *data) {
    struct worker *worker = data;
    void *memory = copy_pointer(worker->memory);
    worker->is_good = sp_driver->cuCtxSetCurrent(simulated_context()) == CUDA_SUCCESS;
    for (int i = 0; i < 4; i++) {
        worker->is_good =
            worker->is_good &&
            poolFileToDeviceAsync(memory, fd, 0, BYTES, worker->stream) == poolSuccess &&
            poolDeviceToFileAsync(worker->file, 0, memory, BYTES, worker->stream) == poolSuccess;
    }
    return NULL;
}

static void threads_copy_at_a_time(void **state) {
    (void)state;
    enum { WORKERS = 4 };
    struct worker workers[WORKERS];
    fill_file();
    for (int i = 0; i < WORKERS; i++) {
        workers[i] =
            (struct worker){.stream = simulated_stream(),
                            .memory = copy_device(BYTES),
                            .file = __real_open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)};
        if (workers[i].file < 0)
            workers[i].file = memfd_create("copy", MFD_CLOEXEC);
        assert_int_equal(
            pthread_create(&workers[i].thread, NULL, copy_again_and_again, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        assert_true(workers[i].is_good);
        copy_finish(workers[i].stream);
        assert_true(copy_device_is_filled(workers[i].memory, BYTES, 1));
        assert_int_equal(pread(workers[i].file, seen, BYTES, 0), BYTES);
        assert_true(copy_is_filled(seen, BYTES, 1));
        close(workers[i].file);
        simulated_destroy(workers[i].stream);
    }
    assert_int_equal(fake_cufile.bytes, 8 * WORKERS * WHOLE);
}

// --------------------------------------------------------------------------------- where it fails

// Of four calls for a copy each one in turn, once and for ever.
static void chunks_copy_what_a_call_that_fails_leaves(void **state) {
    (void)state;
    for (unsigned call = 1; call <= 5; call++) {
        for (int failure = 0; failure <= EIO; failure += EIO) {
            reset();
            fake_cufile.most = MIB(1);
            fake_cufile.fails_at = call;
            fake_cufile.fails_on = call % 2;
            fake_cufile.failure = failure;
            read_all();
            write_all();
            size_t expected = call < 5 ? (call - 1) * MIB(1) : WHOLE;
            assert_int_equal(fake_cufile.bytes, 2 * expected);
            assert_int_equal(fake_cufile.mistakes, 0);
        }
    }
}

static void chunks_go_on_in_the_middle_of_a_page(void **state) {
    (void)state;
    fake_cufile.most = MIB(1) + 1;
    read_all();
    assert_int_equal(fake_cufile.bytes, MIB(1) + 1);
    reset();
    fake_cufile.most = 1;
    write_all();
    assert_int_equal(fake_cufile.bytes, 1);
}

// With the same words as without cuFile.
static void a_file_that_ends_in_the_middle_is_told(void **state) {
    (void)state;
    fill_file();
    shortens_to = (off_t)MIB(2) + 100;
    copy_refused(poolFileToDeviceAsync(at(0), fd, 0, BYTES, stream), poolErrorInvalidValue,
                 "reading a file: it ends at byte 2097252");
    assert_true(fake_cufile.bytes >= MIB(2));
    copy_finish(stream);
}

static void a_file_that_may_not_be_so_long_is_told(void **state) {
    (void)state;
    struct rlimit before, most;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    most = (struct rlimit){MIB(2), before.rlim_max};
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    copy_poke(device, bytes, BYTES);
    copy_good(poolDeviceToFileAsync(fd, 0, at(0), 100, stream)); // the chunks are there
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
    poolError_t error = poolDeviceToFileAsync(fd, 0, at(0), BYTES, stream);
    copy_refused(error, poolErrorOperatingSystem, "writing a file at byte 2097152: File too large");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(fake_cufile.bytes, MIB(2));
    copy_finish(stream);
    assert_int_equal(pread(fd, seen, MIB(2), 0), MIB(2));
    assert_true(copy_is_filled(seen, MIB(2), 1));
}

static void an_error_of_the_driver_is_passed_on(void **state) {
    (void)state;
    static const char *const entries[] = {"cuEventCreate", "cuEventRecord", "cuEventSynchronize"};
    fill_file();
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; i++) {
        assert_int_equal(simcudaFailCall(entries[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN), 0);
        copy_refused(poolFileToDeviceAsync(at(0), fd, 0, BYTES, stream), poolErrorUnknown,
                     entries[i]);
        simcudaFailClear();
        assert_int_equal(fake_cufile.reads, 0);
        assert_int_equal(fake_cufile.registered, i + 1);
        assert_int_equal(fake_cufile.deregistered, i + 1);
    }
    read_all();
    assert_int_equal(fake_cufile.reads, 1);
}

static int count_descriptors(void) {
    int count = 0;
    for (int one = 0; one < 1024; one++)
        count += fcntl(one, F_GETFD) >= 0;
    return count;
}

static void copy_in_all_ways(void) {
    for (unsigned call = 0; call <= 1; call++) {
        reset();
        fake_cufile.fails_at = call;
        is_cached = false;
        read_all();
        write_all();
        is_cached = true;
        read_all();
    }
}

static void no_descriptor_is_left(void **state) {
    (void)state;
    copy_in_all_ways(); // the simulated device has files, too
    int before = count_descriptors();
    for (int i = 0; i < 3; i++)
        copy_in_all_ways();
    assert_int_equal(count_descriptors(), before);
}

// cuFile needs a descriptor beside the program's.
static void without_a_descriptor_chunks_copy(void **state) {
    (void)state;
    int own = __real_open(path, O_RDWR | O_DIRECT | O_CLOEXEC);
    copy_in_all_ways(); // what else needs one is there
    reset();
    is_cached = false;
    copy_limit_files();
    read_all();
    write_all();
    if (own >= 0)
        copy_good(poolFileToDeviceAsync(at(0), own, 0, WHOLE, stream));
    copy_unlimit_files();
    close(own);
    expect_on_device();
    assert_int_equal(fake_cufile.registered, 0);
    read_all();
    assert_int_equal(fake_cufile.reads, 1);
}

// --------------------------------------------------------------------- processes of several kinds

static void open_scene(const char *setting) {
    NEED((setting ? setenv("STREAMPOOL_CUFILE", setting, 1) : unsetenv("STREAMPOOL_CUFILE")) == 0);
    NEED(make_file() && unlink(path) == 0); // it is gone when the process ends
    NEED(simulated_begin(NULL) == 0);
    NEED(sp_driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    NEED(sp_driver->cuMemAlloc(&device, BYTES) == CUDA_SUCCESS);
    bytes = malloc(BYTES);
    seen = malloc(BYTES);
    NEED(bytes && seen);
    copy_fill(bytes, BYTES, 1);
    NEED(pwrite(fd, bytes, BYTES, 0) == (ssize_t)BYTES);
}

// Reads from a file, with right bytes, by so many calls of cuFile.
static void read_by(int file, unsigned calls) {
    unsigned before = fake_cufile.reads;
    memset(seen, 0, BYTES);
    NEED(simcudaPoke(device, seen, BYTES) == 0);
    NEED(poolFileToDeviceAsync(copy_pointer(device), file, 0, BYTES, stream) == poolSuccess);
    NEED(poolCopyToHostAsync(seen, copy_pointer(device), BYTES, stream) == poolSuccess);
    NEED(copy_is_filled(seen, BYTES, 1));
    NEED(fake_cufile.reads == before + calls);
}

static void a_setting_takes_it_without_the_kernel_module(void) {
    open_scene("yes");
    read_by(fd, 1);
    read_by(fd, 1);
    NEED(fake_cufile.opened == 1);
    exit(7);
}

static void a_setting_names_the_library(void) {
    open_scene(FAKE_CUFILE);
    read_by(fd, 1);
    exit(7);
}

static void a_setting_forbids_it(void) {
    has_module = true;
    open_scene("0");
    read_by(fd, 0);
    NEED(fake_cufile.opened == 0);
    exit(7);
}

static void without_a_setting_the_kernel_module_decides(void) {
    has_module = true;
    open_scene(NULL);
    read_by(fd, 1);
    exit(7);
}

static void an_empty_setting_is_none(void) {
    has_module = true;
    open_scene("");
    read_by(fd, 1);
    exit(7);
}

static void without_the_kernel_module_it_is_not_used(void) {
    has_module = false;
    open_scene(NULL);
    read_by(fd, 0);
    NEED(fake_cufile.opened == 0);
    exit(7);
}

static void a_library_that_is_missing(void) {
    open_scene("/nowhere/libcufile.so.0");
    read_by(fd, 0);
    exit(7);
}

static void a_library_that_is_another_one(void) {
    open_scene("libc.so.6");
    read_by(fd, 0);
    exit(7);
}

static void a_driver_that_does_not_open(void) {
    open_scene("1");
    fake_cufile.opening = 5001;
    read_by(fd, 0);
    fake_cufile.opening = 0;
    read_by(fd, 0);
    NEED(fake_cufile.opened == 1);
    exit(7);
}

static void a_driver_that_the_program_has_opened(void) {
    open_scene("1");
    fake_cufile.opening = 5026;
    read_by(fd, 1);
    exit(7);
}

// It is not asked again, and another one is.
static void a_file_system_that_is_refused(void) {
    open_scene("1");
    int other = memfd_create("copy", MFD_CLOEXEC);
    NEED(other >= 0 && pwrite(other, bytes, BYTES, 0) == (ssize_t)BYTES);
    fake_cufile.refusal = 5008;
    read_by(fd, 0);
    fake_cufile.refusal = 0;
    read_by(fd, 0);
    NEED(fake_cufile.registered == 1);
    read_by(other, 1);
    exit(7);
}

static void a_child_of_a_process_that_has_used_it(void) {
    int status = 0;
    open_scene("1");
    read_by(fd, 1);
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        NEED(poolFileToDeviceAsync(copy_pointer(device), fd, 0, BYTES, stream) ==
             poolErrorInitializationError);
        NEED(fake_cufile.registered == 1);
        _exit(3);
    }
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
    read_by(fd, 1);
    exit(7);
}

static void copy_at_exit(void) {
    NEED(fake_cufile.has_ended);
    read_by(fd, 0);
}

// In a handler behind that of cuFile, which has come later.
static void a_process_that_ends(void) {
    open_scene("1");
    NEED(atexit(copy_at_exit) == 0);
    read_by(fd, 1);
    exit(7);
}

// The threads of copies have come before cuFile, and end behind it.
static void a_process_that_ends_and_had_copied_before(void) {
    open_scene("1");
    NEED(poolCopyToDeviceAsync(copy_pointer(device), bytes, BYTES, stream) == poolSuccess);
    NEED(atexit(copy_at_exit) == 0);
    read_by(fd, 1);
    exit(7);
}

// Another process asks.
static bool is_locked(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    int status = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 3 : 4);
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status) == 3;
}

static void what_the_cache_has_leaves_record_locks(void) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    open_scene("1");
    is_cached = true;
    NEED(fcntl(fd, F_SETLK, &lock) == 0 && is_locked());
    read_by(fd, 0);
    NEED(is_locked());
    exit(7);
}

// They come first, as a process that has used the driver has no such children.
#define SCENARIOS(X)                                                                               \
    X(a_setting_takes_it_without_the_kernel_module)                                                \
    X(a_setting_names_the_library)                                                                 \
    X(a_setting_forbids_it)                                                                        \
    X(without_a_setting_the_kernel_module_decides)                                                 \
    X(an_empty_setting_is_none)                                                                    \
    X(without_the_kernel_module_it_is_not_used)                                                    \
    X(a_library_that_is_missing)                                                                   \
    X(a_library_that_is_another_one)                                                               \
    X(a_driver_that_does_not_open)                                                                 \
    X(a_driver_that_the_program_has_opened)                                                        \
    X(a_file_system_that_is_refused)                                                               \
    X(a_child_of_a_process_that_has_used_it)                                                       \
    X(a_process_that_ends)                                                                         \
    X(a_process_that_ends_and_had_copied_before)                                                   \
    X(what_the_cache_has_leaves_record_locks)

SCENARIOS(COPY_PROCESS_TEST)

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENARIOS(COPY_PROCESS_ENTRY) //
        TEST(whole_pages_of_large_copies_go_by_cufile),
        TEST(a_copy_of_pages_alone_needs_no_chunks),
        TEST(a_programs_own_descriptor_around_the_cache_is_used),
        TEST(small_copies_and_other_places_go_by_chunks),
        TEST(bytes_are_as_safe_on_the_disk_as_the_program_wants),
        TEST(what_the_cache_has_is_read_from_there),
        TEST(a_copy_with_a_completion_goes_by_chunks),
        TEST(memory_that_is_no_devices_goes_by_chunks),
        TEST(a_device_file_goes_by_chunks),
        TEST(a_stream_that_captures_is_refused),
        TEST(bytes_at_drawn_places_arrive),
        TEST(a_read_comes_behind_what_the_stream_has_to_do),
        TEST(a_write_comes_behind_what_the_stream_has_to_do),
        TEST(what_the_stream_gets_later_comes_behind_a_copy),
        TEST(threads_copy_at_a_time),
        TEST(chunks_copy_what_a_call_that_fails_leaves),
        TEST(chunks_go_on_in_the_middle_of_a_page),
        TEST(a_file_that_ends_in_the_middle_is_told),
        TEST(a_file_that_may_not_be_so_long_is_told),
        TEST(an_error_of_the_driver_is_passed_on),
        TEST(no_descriptor_is_left),
        TEST(without_a_descriptor_chunks_copy),
    };
    if (setenv("STREAMPOOL_CUFILE", "1", 1) != 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
