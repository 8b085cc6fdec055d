#include "copy/file.h"

#include "base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// All block devices read and write pieces of this size at such places.
#define ALIGNMENT ((uint64_t)4096)

// ------------------------------------------------------------------------------------ opening

void sp_copy_file_open(struct sp_copy_file *file, int fd, bool reads, uint64_t offset) {
    int flags = fcntl(fd, F_GETFL);
    *file = (struct sp_copy_file){.fd = fd,
                                  .reads = reads,
                                  .is_direct = flags >= 0 && (flags & O_DIRECT),
                                  .offset = offset,
                                  .other = SP_COPY_FILE_UNTRIED};
}

bool sp_copy_file_open_own(struct sp_copy_file *file, int fd, bool reads, uint64_t offset) {
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return false;
    sp_copy_file_open(file, own, reads, offset);
    file->is_own = true;
    return true;
}

void sp_copy_file_close(struct sp_copy_file *file) {
    int other = sp_load_relaxed(&file->other);
    if (other >= 0)
        close(other);
    if (file->is_own)
        close(file->fd);
}

struct sp_copy_file_problem sp_copy_file_check(int fd, bool reads, uint64_t offset, size_t bytes) {
    struct stat status;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fstat(fd, &status) != 0)
        return (struct sp_copy_file_problem){errno, offset};
    if ((flags & O_ACCMODE) == (reads ? O_WRONLY : O_RDONLY))
        return (struct sp_copy_file_problem){EBADF, offset};
    if (!reads && flags & O_APPEND) // each write would go to the end
        return (struct sp_copy_file_problem){EINVAL, offset};
    if (offset > INT64_MAX || bytes > INT64_MAX - offset)
        return (struct sp_copy_file_problem){EOVERFLOW, offset};
    uint64_t size = (uint64_t)status.st_size;
    if (reads && S_ISREG(status.st_mode) && offset + bytes > size)
        return (struct sp_copy_file_problem){SP_COPY_FILE_ENDS, offset > size ? offset : size};
    return (struct sp_copy_file_problem){0, 0};
}

// The file once more, with O_DIRECT or without. What was written is as safe as the program wants it
// to be. A FIFO isn't waited for: it can't be read at a place anyway.
static int open_other(const struct sp_copy_file *file) {
    char path[64];
    int kept = fcntl(file->fd, F_GETFL) & (O_SYNC | O_DSYNC | O_NOATIME);
    int flags = (file->reads ? O_RDONLY : O_WRONLY) | (file->is_direct ? 0 : O_DIRECT);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file->fd);
    int fd = open(path, flags | kept | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return SP_COPY_FILE_HAS_NO_OTHER;
    return fd;
}

// The first of several threads opens it.
static int other_descriptor(struct sp_copy_file *file) {
    int other = sp_load_acquire(&file->other);
    if (other != SP_COPY_FILE_UNTRIED)
        return other;
    int opened = open_other(file);
    if (atomic_compare_exchange_strong(&file->other, &other, opened))
        return opened;
    if (opened >= 0)
        close(opened);
    return other;
}

// -------------------------------------------------------------------------- reading and writing

static bool is_aligned(uint64_t place, const char *memory, size_t bytes) {
    return (place | (uintptr_t)memory | bytes) % ALIGNMENT == 0;
}

// False where the kernel doesn't tell: before Linux 6.5, and of files that the process neither owns
// nor may write.
static bool count_cached(int fd, uint64_t begin, uint64_t end, uint64_t *pages) {
    enum { CACHESTAT = 451 }; // on all machines
    const struct { uint64_t at, bytes; } range = {begin, end - begin};
    struct {
        uint64_t cached, others[4];
    } found;
    bool tells = syscall(CACHESTAT, fd, &range, &found, 0) == 0;
    *pages = tells ? found.cached : 0;
    return tells;
}

// The kernel says so, too, of files of which it doesn't tell.
static bool has_all_mapped(int fd, uint64_t begin, uint64_t end, size_t pages) {
    enum { PAGES_MOST = 1024 };
    unsigned char resident[PAGES_MOST];
    void *map = pages > PAGES_MOST
                    ? MAP_FAILED
                    : mmap(NULL, end - begin, PROT_READ, MAP_SHARED, fd, (off_t)begin);
    if (map == MAP_FAILED)
        return true;
    bool has_all = mincore(map, end - begin, resident) == 0;
    for (size_t i = 0; i < pages && has_all; i++)
        has_all = resident[i] & 1;
    munmap(map, end - begin);
    return has_all;
}

// Tells if the page cache has all of these bytes. To try to read them would have the kernel read
// into the cache what it lacks.
static bool is_cached(int fd, uint64_t place, size_t bytes) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), cached = 0;
    uint64_t begin = place / page * page, end = (place + bytes + page - 1) / page * page;
    uint64_t pages = (end - begin) / page;
    return count_cached(fd, begin, end, &cached) ? cached >= pages
                                                 : has_all_mapped(fd, begin, end, (size_t)pages);
}

bool sp_copy_file_is_cached(const struct sp_copy_file *file) {
    return file->reads && !file->is_direct && is_cached(file->fd, file->offset, 1);
}

int sp_copy_file_direct(struct sp_copy_file *file) {
    return file->is_direct ? file->fd : other_descriptor(file);
}

// How many bytes go around the cache: 0 where that can't be done.
static size_t move_around(int fd, bool reads, uint64_t place, char *memory, size_t bytes) {
    if (fd < 0 || !is_aligned(place, memory, bytes))
        return 0;
    ssize_t done =
        reads ? pread(fd, memory, bytes, (off_t)place) : pwrite(fd, memory, bytes, (off_t)place);
    return done > 0 ? (size_t)done : 0;
}

// Moves bytes until all are moved. A signal doesn't end that.
static struct sp_copy_file_problem move_all(int fd, bool reads, uint64_t place, char *memory,
                                            size_t bytes) {
    while (bytes > 0) {
        ssize_t done = reads ? pread(fd, memory, bytes, (off_t)place)
                             : pwrite(fd, memory, bytes, (off_t)place);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return (struct sp_copy_file_problem){done < 0 ? errno
                                                 : reads  ? SP_COPY_FILE_ENDS
                                                          : EIO,
                                                 place};
        place += (uint64_t)done;
        memory += done;
        bytes -= (size_t)done;
    }
    return (struct sp_copy_file_problem){0, 0};
}

struct sp_copy_file_problem sp_copy_file_move(struct sp_copy_file *file, size_t at, char *memory,
                                              size_t bytes) {
    uint64_t place = file->offset + at;
    int direct = file->is_direct ? file->fd : -1, cached = file->is_direct ? -1 : file->fd;
    if (cached >= 0 && file->reads && !is_cached(cached, place, bytes))
        direct = other_descriptor(file);
    size_t done = move_around(direct, file->reads, place, memory, bytes);
    if (done < bytes && cached < 0)
        cached = other_descriptor(file);
    return move_all(cached >= 0 ? cached : file->fd, file->reads, place + done, memory + done,
                    bytes - done);
}
