// A file between a disk and the device: our calls beside what programs do, which is to read a piece
// into pinned memory, copy it, and read the next. The floor moves the file alone, by as many
// threads as the library has, between the disk or the page cache and pinned memory.
//
// The file lies on a disk and has no name, so that it is gone whatever ends the process. It gets as
// large as the disk writes in two seconds. What is read from the cache was written before; before
// it is read from the disk, and before it is written anew, it is on the disk.
#include "copies_files.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MIB          ((size_t)1 << 20)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

#define MAKING_NS    2e9
#define MAKING_BYTES (64 * MIB) // written at a time

enum row { FROM_CACHE, FROM_DISK, INTO_CACHE, ROWS };

enum way { OURS, COMPLETION, LOOP, FLOOR, BUS, WAYS };

struct files {
    struct copies *copies;
    struct subject subjects[WAYS];
    unsigned int threads; // of the floor
    char folder[128], kind[32];
    int fd;
    int direct; // reads around the page cache; -1: the file system can't
    size_t size;
    enum row row;
    atomic_bool failed; // of a thread of the floor
};

// ---------------------------------------------------------------------------------------- the file

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

static int move(int fd, bool reads, char *memory, size_t at, size_t bytes) {
    while (bytes > 0) {
        ssize_t done =
            reads ? pread(fd, memory, bytes, (off_t)at) : pwrite(fd, memory, bytes, (off_t)at);
        if (done <= 0)
            return (int)poolErrorOperatingSystem;
        memory += done;
        at += (size_t)done;
        bytes -= (size_t)done;
    }
    return 0;
}

// Tells the kind of file system. False: its files are memory.
static bool tell_kind(int fd, char *kind, size_t room) {
    static const struct {
        long magic;
        const char *name;
    } known[] = {
        {EXT4_SUPER_MAGIC, "ext4"},         {XFS_SUPER_MAGIC, "XFS"},
        {BTRFS_SUPER_MAGIC, "Btrfs"},       {F2FS_SUPER_MAGIC, "F2FS"},
        {OVERLAYFS_SUPER_MAGIC, "overlay"}, {NFS_SUPER_MAGIC, "NFS"},
        {FUSE_SUPER_MAGIC, "FUSE"},         {V9FS_MAGIC, "9p"},
    };
    struct statfs status;
    if (fstatfs(fd, &status) != 0)
        return false;
    snprintf(kind, room, "file system 0x%lx", (unsigned long)status.f_type);
    for (size_t i = 0; i < COUNT(known); i++)
        if (known[i].magic == (long)status.f_type)
            snprintf(kind, room, "%s", known[i].name);
    return status.f_type != TMPFS_MAGIC && status.f_type != RAMFS_MAGIC;
}

static void close_file(struct files *files) {
    close(files->fd);
    if (files->direct >= 0)
        close(files->direct);
}

static bool open_in(struct files *files, const char *folder) {
    char path[sizeof files->folder + 32];
    if (!folder || strlen(folder) >= sizeof files->folder)
        return false;
    snprintf(files->folder, sizeof files->folder, "%s", folder);
    snprintf(path, sizeof path, "%s/streampool-bench-XXXXXX", folder);
    files->fd = mkostemp(path, O_CLOEXEC);
    if (files->fd < 0)
        return false;
    files->direct = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
    unlink(path);
    if (tell_kind(files->fd, files->kind, sizeof files->kind))
        return true;
    close_file(files);
    return false;
}

// Writes the file, of at most half of the room that there is. False: there is none.
static bool fill(struct files *files) {
    const struct copies *copies = files->copies;
    struct statfs status;
    if (fstatfs(files->fd, &status) != 0)
        return false;
    uint64_t room = (uint64_t)status.f_bavail * (uint64_t)status.f_bsize / 2;
    size_t most = copies->size;
    while (most > room)
        most /= 2;
    double begin = samples_clock();
    while (files->size < most && samples_clock() - begin < MAKING_NS) {
        size_t part = least(MAKING_BYTES, most - files->size);
        if (move(files->fd, false, copies->source + files->size, files->size, part) != 0 ||
            fdatasync(files->fd) != 0)
            return false;
        files->size += part;
    }
    return files->size >= MIB;
}

static bool is_in_cache(const struct files *files) {
    unsigned char resident = 0;
    void *page = mmap(NULL, 1, PROT_READ, MAP_SHARED, files->fd, 0);
    if (page == MAP_FAILED)
        return false;
    mincore(page, 1, &resident);
    munmap(page, 1);
    return resident & 1;
}

// Pages that are on the disk can be dropped, and leave room for others.
static int prepare(const struct files *files) {
    if (files->row == FROM_CACHE)
        return 0;
    if (fsync(files->fd) != 0)
        return (int)poolErrorOperatingSystem;
    return files->row == FROM_DISK ? posix_fadvise(files->fd, 0, 0, POSIX_FADV_DONTNEED) : 0;
}

// -------------------------------------------------------------------------------------------- ways

static bool is_in(const struct files *files) {
    return files->row != INTO_CACHE;
}

static int synchronize(const struct files *files) {
    return (int)files->copies->driver->cuStreamSynchronize(files->copies->stream);
}

static int copy_ours(struct files *files) {
    void *device = (void *)(uintptr_t)files->copies->device;
    CUstream stream = files->copies->stream;
    int error =
        (int)(is_in(files) ? poolFileToDeviceAsync(device, files->fd, 0, files->size, stream)
                           : poolDeviceToFileAsync(files->fd, 0, device, files->size, stream));
    return error ? error : synchronize(files);
}

static int copy_with_completion(struct files *files) {
    void *device = (void *)(uintptr_t)files->copies->device;
    CUstream stream = files->copies->stream;
    poolCopyCompletion_t completion = NULL;
    int error = (int)(is_in(files) ? poolFileToDeviceAsyncWithCompletion(
                                         device, files->fd, 0, files->size, stream, &completion)
                                   : poolDeviceToFileAsyncWithCompletion(
                                         files->fd, 0, device, files->size, stream, &completion));
    if (error)
        return error;
    error = synchronize(files);
    int copied = (int)poolCopyCompletionSynchronize(completion);
    poolCopyCompletionDestroy(completion);
    return error ? error : copied;
}

static int read_piece(const struct files *files, size_t at, size_t bytes) {
    const struct copies *copies = files->copies;
    int error = move(files->fd, true, copies->pinned, at, bytes);
    if (!error)
        error = (int)copies->driver->cuMemcpyHtoDAsync(copies->device + at, copies->pinned, bytes,
                                                       copies->stream);
    return error ? error : synchronize(files);
}

static int write_piece(const struct files *files, size_t at, size_t bytes) {
    const struct copies *copies = files->copies;
    int error = (int)copies->driver->cuMemcpyDtoHAsync(copies->pinned, copies->device + at, bytes,
                                                       copies->stream);
    if (!error)
        error = synchronize(files);
    return error ? error : move(files->fd, false, copies->pinned, at, bytes);
}

static int copy_in_loop(struct files *files) {
    size_t chunk = files->copies->chunk;
    int error = 0;
    for (size_t at = 0; at < files->size && !error; at += chunk) {
        size_t bytes = least(chunk, files->size - at);
        error = is_in(files) ? read_piece(files, at, bytes) : write_piece(files, at, bytes);
    }
    return error;
}

static void move_slice(void *what, size_t at, size_t bytes) {
    struct files *files = what;
    bool around = files->row == FROM_DISK && files->direct >= 0;
    size_t ring = least(files->copies->ring, files->copies->size);
    if (move(around ? files->direct : files->fd, is_in(files), files->copies->pinned + at % ring,
             at, bytes) != 0)
        atomic_store(&files->failed, true);
}

static int move_alone(struct files *files) {
    team_do(&files->copies->team, &(struct team_work){move_slice, files, files->size, TEAM_SLICE});
    return atomic_load(&files->failed) ? (int)poolErrorOperatingSystem : 0;
}

static int copy_pinned(struct files *files) {
    enum copies_direction direction = is_in(files) ? COPIES_IN : COPIES_OUT;
    int error = copies_issue(files->copies, COPIES_PINNED, direction, 0, files->size);
    return error ? error : synchronize(files);
}

static const struct {
    const char *name;
    enum subject_role role;
    int (*copy)(struct files *files);
} ways[WAYS] = {
    [OURS] = {"streampool", SUBJECT_IS_MEASURED, copy_ours},
    [COMPLETION] = {"streampool, completion", SUBJECT_IS_MEASURED, copy_with_completion},
    [LOOP] = {"a loop of pieces", SUBJECT_IS_REFERENCE, copy_in_loop},
    [FLOOR] = {"floor: the file alone", SUBJECT_IS_FLOOR, move_alone},
    [BUS] = {"CUDA, pinned", SUBJECT_IS_MEASURED, copy_pinned},
};

// Copies in and out, into a file that is empty then, and compares: poolErrorUnknown where a byte is
// another one.
static int check(struct files *files, enum way way) {
    const struct copies *copies = files->copies;
    int error =
        (int)copies->driver->cuMemsetD8Async(copies->device, 0, files->size, copies->stream);
    files->row = FROM_CACHE;
    if (!error)
        error = ways[way].copy(files);
    files->row = INTO_CACHE;
    if (!error && ftruncate(files->fd, 0) != 0)
        error = (int)poolErrorOperatingSystem;
    if (!error)
        error = ways[way].copy(files);
    if (!error)
        error = move(files->fd, true, copies->target, 0, files->size);
    return !error && memcmp(copies->target, copies->source, files->size) != 0
               ? (int)poolErrorUnknown
               : error;
}

// --------------------------------------------------------------------------------------- the table

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    struct files *files = (struct files *)setting; // as measure_rows() has it
    size_t way = (size_t)(subject - files->subjects);
    (void)bench;
    int error = prepare(files);
    if (!error)
        error = team_start(&files->copies->team, way == FLOOR ? files->threads : 1);
    if (error)
        return error;
    double begin = samples_clock();
    error = ways[way].copy(files);
    values[0] = (double)files->size / (samples_clock() - begin); // in GB/s
    team_stop(&files->copies->team);
    return error;
}

static bool can_measure(const struct bench *bench, const struct files *files) {
    if (files->row != FROM_DISK || prepare(files) != 0 || !is_in_cache(files))
        return true;
    bench_print_text(bench, "from the disk: left out, the system keeps the file's pages");
    return false;
}

static int measure_rows(struct bench *bench, struct files *files) {
    static const char *const labels[ROWS] = {[FROM_CACHE] = "file, in from the cache",
                                             [FROM_DISK] = "file, in from the disk",
                                             [INTO_CACHE] = "file, out into the cache"};
    int error = 0;
    for (size_t i = 0; i < ROWS && !error; i++) {
        const struct bench_row row = {labels[i], "GB/s"};
        files->row = (enum row)i;
        if (can_measure(bench, files))
            error = bench_compare(bench, &(struct bench_field){.subjects = files->subjects,
                                                               .subject_count = WAYS,
                                                               .rows = &row,
                                                               .row_count = 1,
                                                               .at = (double)files->size,
                                                               .measure = measure,
                                                               .setting = files});
    }
    return error;
}

static int measure_file(struct bench *bench, struct files *files) {
    static const enum way checked[] = {OURS, COMPLETION, LOOP};
    char title[256], text[16];
    int error = 0;
    for (size_t i = 0; i < COUNT(checked) && !error; i++)
        error = check(files, checked[i]);
    if (error)
        return error;
    for (size_t i = 0; i < WAYS; i++)
        files->subjects[i] = (struct subject){.name = ways[i].name, .role = ways[i].role};
    snprintf(title, sizeof title,
             "a file of %s in %s (%s), %u threads, to a loop that reads a piece and copies it",
             bench_size_text(files->size, text), files->folder, files->kind, files->threads);
    bench_print_head_of(
        bench, &(struct bench_field){.subjects = files->subjects, .subject_count = WAYS}, title);
    return measure_rows(bench, files);
}

int copies_files(struct bench *bench, struct copies *copies) {
    struct poolCopySettings settings;
    struct files files = {.copies = copies};
    int error = (int)poolCopyGetSettings(&settings);
    if (error)
        return error;
    files.threads = settings.threads;
    if (!open_in(&files, getenv("TMPDIR")) && !open_in(&files, "/var/tmp") &&
        !open_in(&files, ".")) {
        bench_print_title(bench, "files: left out, no folder on a disk can be written (TMPDIR)");
        return 0;
    }
    if (fill(&files))
        error = measure_file(bench, &files);
    else
        bench_print_title(bench, "files: left out, the disk has no room for one (TMPDIR)");
    close_file(&files);
    return error;
}
