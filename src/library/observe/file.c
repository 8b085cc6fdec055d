#include "observe/file.h"

#include "base/log.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

// -------------------------------------------------------------------------------------------- zlib

enum { SYNC_FLUSH = 2 }; // Z_SYNC_FLUSH of zlib.h

// The functions of zlib that are used. All of them are there, or `close` is null.
static struct zlib {
    void *(*open)(int descriptor, const char *mode);
    int (*write)(void *file, const void *bytes, unsigned count);
    int (*flush)(void *file, int how);
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
        find_function(library, "gzflush", &found.flush) &&
        find_function(library, "gzclose", &found.close))
        zlib = found;
}

static bool wants_gzip(const char *name) {
    size_t length = strlen(name);
    return length >= 3 && strcmp(name + length - 3, ".gz") == 0;
}

static void open_gzip(struct sp_file *file, const char *path) {
    pthread_once(&zlib_once, load_zlib);
    if (zlib.close)
        file->gzip = zlib.open(file->descriptor, "wb1");
    if (!file->gzip)
        sp_log_write("%s is written as plain text: libz.so.1 can't be used", path);
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
    sp_log_write("%s can't be written: %s", path, why);
    return false;
}

// Empties the file, once it is known that no other process writes it. Pipes have nothing to empty.
static bool claim(int descriptor, const char *path) {
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return refuse(path, "another process writes it (%p in the name stands for the process)");
    if (ftruncate(descriptor, 0) != 0 && errno != EINVAL)
        return refuse(path, strerror(errno));
    return true;
}

bool sp_file_open(struct sp_file *file, const char *name) {
    char path[PATH_MAX];
    *file = (struct sp_file){.descriptor = -1};
    if (!expand(name, path))
        return refuse(name, strerror(ENAMETOOLONG));
    file->descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file->descriptor < 0)
        return refuse(path, strerror(errno));
    if (!claim(file->descriptor, path)) {
        close(file->descriptor);
        return false;
    }
    if (wants_gzip(path))
        open_gzip(file, path);
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

bool sp_file_write(struct sp_file *file, const void *bytes, size_t count) {
    if (!file->gzip)
        return write_plain(file->descriptor, bytes, count);
    return count == 0 || zlib.write(file->gzip, bytes, (unsigned)count) == (int)count;
}

bool sp_file_flush(struct sp_file *file) {
    return !file->gzip || zlib.flush(file->gzip, SYNC_FLUSH) == 0;
}

bool sp_file_close(struct sp_file *file) {
    return file->gzip ? zlib.close(file->gzip) == 0 : close(file->descriptor) == 0;
}
