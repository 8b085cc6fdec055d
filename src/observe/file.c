#include "observe/file.h"

#include "base/lock.h"
#include "base/thread.h"
#include "observe/host.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// Programs close and reopen the descriptors below this one.
enum { FIRST_DESCRIPTOR = 3 };

// -------------------------------------------------------------------------------------------- zlib

// The functions of zlib that are used. All of them are there, or `close` is null.
static struct zlib {
    void *(*open)(int descriptor, const char *mode);
    int (*write)(void *file, const void *bytes, unsigned count);
    int (*close)(void *file);
} zlib;

static pthread_once_t zlib_once = PTHREAD_ONCE_INIT;

// Copies the address: ISO C has no cast from a data pointer to one to a function.
static bool find_function(void *library, const char *name, void *function) {
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static void load_zlib(void) {
    struct zlib found;
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library && find_function(library, "gzdopen", &found.open) &&
        find_function(library, "gzwrite", &found.write) &&
        find_function(library, "gzclose", &found.close))
        zlib = found;
}

static bool wants_gzip(const char *name) {
    size_t length = strlen(name);
    return length >= 3 && strcmp(name + length - 3, ".gz") == 0;
}

static bool can_gzip(const char *path) {
    pthread_once(&zlib_once, load_zlib);
    if (!zlib.close)
        sp_host->log("%s is written as plain text: libz.so.1 can't be used", path);
    return zlib.close != NULL;
}

// ------------------------------------------------------------------------------------------
// opening

// False when the name is too long.
static bool expand(const char *name, char path[PATH_MAX]) {
    size_t length = 0;
    for (; *name && length < PATH_MAX - 1; name++) {
        if (name[0] == '%' && name[1] == 'p')
            length += (size_t)snprintf(path + length, PATH_MAX - length, "%ld", (long)getpid());
        else
            path[length++] = *name;
        if (name[0] == '%' && (name[1] == 'p' || name[1] == '%'))
            name++;
    }
    if (*name || length >= PATH_MAX)
        return false;
    path[length] = '\0';
    return true;
}

static bool refuse(const char *path, const char *why) {
    sp_host->log("%s can't be written: %s", path, why);
    return false;
}

// Moves a descriptor to a number that a program doesn't take for one of its own three.
static int move_up(int descriptor) {
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    close(descriptor);
    return moved;
}

// Empties the file, once it is known that no other process writes it. Pipes have nothing to empty.
static bool claim(int descriptor, const char *path) {
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return refuse(path, "another process writes it (%p in the name stands for the process)");
    if (ftruncate(descriptor, 0) != 0 && errno != EINVAL)
        return refuse(path, strerror(errno));
    return true;
}

static const char *why_not_opened(int error) {
    switch (error) {
    case ENXIO:
        return "it is a pipe that nobody reads, or a socket";
    case ELOOP:
        return "it is a symbolic link, which is not followed";
    default:
        return strerror(error);
    }
}

// In a folder that others write to, a link may lead to a file that isn't theirs to write. To open a
// pipe would wait for a reader for ever: one that is started beside the program comes soon.
static int open_soon(const char *path) {
    uint64_t end = sp_time_now() + SP_SECOND;
    int descriptor;
    while ((descriptor =
                open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666)) < 0 &&
           errno == ENXIO && sp_time_now() < end)
        sp_lock_sleep(10 * 1000 * 1000);
    return descriptor;
}

static int open_own(const char *path) {
    int descriptor = open_soon(path);
    if (descriptor >= 0 && descriptor < FIRST_DESCRIPTOR)
        descriptor = move_up(descriptor);
    if (descriptor < 0 || fcntl(descriptor, F_SETFL, 0) != 0) {
        refuse(path, why_not_opened(errno));
        if (descriptor >= 0)
            close(descriptor);
        return -1;
    }
    if (claim(descriptor, path))
        return descriptor;
    close(descriptor);
    return -1;
}

static int open_programs(const char *path, int descriptor) {
    int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    if (copy < 0)
        refuse(path, strerror(errno));
    return copy;
}

static int open_path(const char *path) {
    if (strcmp(path, "/dev/stdout") == 0)
        return open_programs(path, STDOUT_FILENO);
    if (strcmp(path, "/dev/stderr") == 0)
        return open_programs(path, STDERR_FILENO);
    return open_own(path);
}

static bool open_file(struct sp_file *file, const char *path) {
    struct stat status;
    *file = (struct sp_file){.descriptor = open_path(path)};
    if (file->descriptor < 0)
        return false;
    if (fstat(file->descriptor, &status) != 0) {
        close(file->descriptor);
        return refuse(path, strerror(errno));
    }
    file->device = status.st_dev;
    file->inode = status.st_ino;
    return true;
}

bool sp_file_open(struct sp_file *file, const char *name) {
    char path[PATH_MAX];
    if (!expand(name, path))
        return refuse(name, strerror(ENAMETOOLONG));
    if (!open_file(file, path))
        return false;
    file->is_gzipped = wants_gzip(path) && can_gzip(path);
    return true;
}

// ------------------------------------------------------------------------------------------
// writing

static bool write_plain(int descriptor, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t written = write(descriptor, bytes, count);
        if (written < 0 && errno != EINTR)
            return false;
        if (written > 0) {
            bytes += written;
            count -= (size_t)written;
        }
    }
    return true;
}

// zlib closes the descriptor that it is given.
static bool write_gzipped(int descriptor, const void *bytes, size_t count) {
    int copy = fcntl(descriptor, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    void *piece = copy < 0 ? NULL : zlib.open(copy, "wb1");
    if (!piece) {
        if (copy >= 0)
            close(copy);
        return false;
    }
    bool written = zlib.write(piece, bytes, (unsigned)count) == (int)count;
    return zlib.close(piece) == 0 && written;
}

static bool is_still_open(const struct sp_file *file) {
    struct stat status;
    if (fstat(file->descriptor, &status) == 0 && status.st_dev == file->device &&
        status.st_ino == file->inode)
        return true;
    errno = EBADF;
    return false;
}

static bool write_piece(const struct sp_file *file, const void *bytes, size_t count) {
    if (!is_still_open(file))
        return false;
    return file->is_gzipped ? write_gzipped(file->descriptor, bytes, count)
                            : write_plain(file->descriptor, bytes, count);
}

// Signals that a write raises in this thread are held back meanwhile, and taken back if they
// weren't there before.
bool sp_file_write(struct sp_file *file, const void *bytes, size_t count) {
    SP_UNCANCELLED;
    static const struct timespec no_time;
    sigset_t raised, before, pending;
    sigemptyset(&raised);
    sigaddset(&raised, SIGPIPE);
    sigaddset(&raised, SIGXFSZ);
    sigpending(&pending);
    pthread_sigmask(SIG_BLOCK, &raised, &before);
    bool written = count == 0 || write_piece(file, bytes, count);
    int error = errno;
    if (!written && !sigismember(&pending, SIGPIPE) && !sigismember(&pending, SIGXFSZ))
        sigtimedwait(&raised, NULL, &no_time);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return written;
}

// A forked child has the descriptor too, and would keep the lock.
bool sp_file_close(struct sp_file *file) {
    SP_UNCANCELLED;
    if (!is_still_open(file))
        return false;
    flock(file->descriptor, LOCK_UN);
    return close(file->descriptor) == 0;
}

// ------------------------------------------------------------------------------------------
// whole files

// Writes a file beside the one that it is to replace. Other processes have other names for theirs.
bool sp_file_put(const char *name, const void *bytes, size_t count) {
    char path[PATH_MAX], beside[PATH_MAX];
    struct sp_file file;
    struct stat status;
    if (!expand(name, path) ||
        snprintf(beside, sizeof beside, "%s.%ld.tmp", path, (long)getpid()) >= (int)sizeof beside)
        return refuse(name, strerror(ENAMETOOLONG));
    bool replaces = lstat(path, &status) != 0 || S_ISREG(status.st_mode);
    if (replaces)
        unlink(beside);
    if (!open_file(&file, replaces ? beside : path))
        return false;
    bool written = sp_file_write(&file, bytes, count);
    int error = errno;
    bool good = sp_file_close(&file) && written && (!replaces || rename(beside, path) == 0);
    if (good)
        return true;
    error = written ? errno : error;
    if (replaces)
        unlink(beside);
    return refuse(path, strerror(error));
}
