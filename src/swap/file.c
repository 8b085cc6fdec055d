#include "swap/file.h"

#include "beside/refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define VARIABLE "STREAMPOOL_SWAP_DIR"

// A program with raised privileges writes nothing to where its user says.
const char *sp_swap_file_folder(void) {
    const char *text = secure_getenv(VARIABLE);
    return text && text[0] != '\0' ? text : NULL;
}

// Where the file system makes no file without a name, this one has a name for a moment.
static int open_and_unlink(const char *folder) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/streampool-swap-XXXXXX", folder);
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = mkostemp(path, O_CLOEXEC); // with mode 0600
    if (fd >= 0)
        unlink(path);
    return fd;
}

// Around the page cache where that can be done: the host's memory is what is short.
static int open_in(const char *folder) {
    const int flags = O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC;
    int fd = open(folder, flags | O_DIRECT, 0600);
    if (fd < 0 && errno == EINVAL)
        fd = open(folder, flags, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    return open_and_unlink(folder);
}

// Looks at the process's own limit first, for which the kernel would send a signal that ends it. A
// file system that can't set room aside tells that it is full when it is written to.
static bool make_room(int fd, uint64_t bytes) {
    struct rlimit most;
    if (getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes > most.rlim_cur) {
        errno = EFBIG;
        return false;
    }
    int result;
    do
        result = fallocate(fd, 0, 0, (off_t)bytes);
    while (result != 0 && errno == EINTR);
    return result == 0 || errno == EOPNOTSUPP || errno == ENOSYS;
}

poolError_t sp_swap_file_open(const char *folder, uint64_t bytes, int *fd) {
    int made = open_in(folder);
    if (made >= 0 && make_room(made, bytes)) {
        *fd = made;
        return poolSuccess;
    }
    poolError_t error = sp_refuse(poolErrorOperatingSystem, VARIABLE "=%s: %s of %llu bytes: %s",
                                  folder, made < 0 ? "making a file" : "making room in a file",
                                  (unsigned long long)bytes, strerror(errno));
    if (made >= 0)
        sp_swap_file_close(made);
    return error;
}

void sp_swap_file_close(int fd) {
    if (ftruncate(fd, 0) != 0) {
        // Then the room goes with the last descriptor.
    }
    close(fd);
}
