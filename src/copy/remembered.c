#include "copy/remembered.h"

#include "beside/refuse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROCESSORS, THREADS, DEPTH, CHUNK_BYTES, NAMES };
static const char *const names[NAMES] = {"processors", "threads", "depth", "chunkBytes"};

enum { BYTES_MOST = 4096 };

// ----------------------------------------------------------------------------------------- reading

struct values {
    unsigned long long of[NAMES];
    bool is_there[NAMES];
};

static char *skip_space(char *at) {
    return at + strspn(at, " \t\r");
}

// Reads a line such as `threads = 8`; an empty one or a comment too.
static bool read_line(char *line, struct values *values) {
    char *at = skip_space(line), *end = NULL;
    size_t name = 0, length = strcspn(at, " \t=");
    if (*at == '\0' || *at == '#')
        return true;
    while (name < NAMES && (strlen(names[name]) != length || strncmp(names[name], at, length) != 0))
        name++;
    at = skip_space(at + length);
    if (name == NAMES || *at != '=')
        return false;
    at = skip_space(at + 1);
    errno = 0;
    values->is_there[name] = true;
    values->of[name] = strtoull(at, &end, 10);
    return *at >= '0' && *at <= '9' && errno == 0 && *skip_space(end) == '\0';
}

// Returns the number of the first line that makes no sense; 0: all do.
static size_t read_lines(char *text, struct values *values) {
    char *rest = text;
    for (size_t number = 1; rest; number++) {
        if (!read_line(strsep(&rest, "\n"), values))
            return number;
    }
    return 0;
}

static poolError_t take(const char *path, const struct values *values,
                        struct sp_remembered *remembered) {
    const bool *is_there = values->is_there;
    if (!is_there[PROCESSORS] && !is_there[THREADS] && !is_there[DEPTH] && !is_there[CHUNK_BYTES])
        return poolSuccess;
    for (size_t i = 0; i < NAMES; i++) {
        if (!is_there[i])
            return sp_refuse(poolErrorInvalidValue, "%s has no %s", path, names[i]);
        if (values->of[i] == 0 || values->of[i] > UINT_MAX)
            return sp_refuse(poolErrorInvalidValue, "%s: %s is too %s", path, names[i],
                             values->of[i] == 0 ? "small" : "large");
    }
    *remembered =
        (struct sp_remembered){(unsigned int)values->of[PROCESSORS],
                               {(unsigned int)values->of[THREADS], (unsigned int)values->of[DEPTH],
                                (size_t)values->of[CHUNK_BYTES]}};
    return poolSuccess;
}

static poolError_t take_text(const char *path, char *text, size_t length,
                             struct sp_remembered *remembered) {
    struct values values = {0};
    size_t wrong = 0;
    text[length] = '\0';
    if (length == BYTES_MOST || strlen(text) != length)
        return sp_refuse(poolErrorInvalidValue, "%s is no file of settings", path);
    if ((wrong = read_lines(text, &values)) > 0)
        return sp_refuse(poolErrorInvalidValue, "line %zu of %s makes no sense", wrong, path);
    return take(path, &values, remembered);
}

poolError_t sp_remembered_read(const char *path, struct sp_remembered *remembered) {
    char text[BYTES_MOST + 1];
    struct stat status;
    ssize_t length = -1;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 && errno == ENOENT)
        file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file >= 0 && fstat(file, &status) == 0 && !S_ISREG(status.st_mode)) {
        close(file);
        return sp_refuse(poolErrorInvalidValue, "%s is no regular file", path);
    }
    if (file >= 0)
        length = read(file, text, BYTES_MOST);
    int error = errno;
    if (file >= 0)
        close(file);
    if (length < 0)
        return sp_refuse(poolErrorOperatingSystem, "%s: %s", path, strerror(error));
    return take_text(path, text, (size_t)length, remembered);
}

// ----------------------------------------------------------------------------------------- writing

static bool write_text(int file, const struct sp_remembered *remembered) {
    const struct poolCopySettings *settings = &remembered->settings;
    char text[BYTES_MOST];
    int length =
        snprintf(text, sizeof text,
                 "# How copies of pageable memory are made on this machine, as measured.\n"
                 "%s = %u\n%s = %u\n%s = %u\n%s = %zu\n",
                 names[PROCESSORS], remembered->processors, names[THREADS], settings->threads,
                 names[DEPTH], settings->depth, names[CHUNK_BYTES], settings->chunkBytes);
    return write(file, text, (size_t)length) == length;
}

// The name beside it is in the same folder, and not longer than any name may be.
static char *name_beside(const char *path) {
    const char *slash = strrchr(path, '/');
    char *name = NULL;
    int folder = slash ? (int)(slash + 1 - path) : 0;
    return asprintf(&name, "%.*s.copies-XXXXXX", folder, path) < 0 ? NULL : name;
}

// The new file has the owner and the permissions of the old one. Who reads meanwhile sees one or
// the other. A file that is protected stays.
void sp_remembered_write(const char *path, const struct sp_remembered *remembered) {
    struct stat old, made;
    char *beside = access(path, W_OK) == 0 && stat(path, &old) == 0 ? name_beside(path) : NULL;
    int file = beside ? mkostemp(beside, O_CLOEXEC) : -1;
    if (file >= 0) {
        bool is_same =
            fstat(file, &made) == 0 && ((made.st_uid == old.st_uid && made.st_gid == old.st_gid) ||
                                        fchown(file, old.st_uid, old.st_gid) == 0);
        bool written =
            is_same && write_text(file, remembered) && fchmod(file, old.st_mode & 07777) == 0;
        if (close(file) != 0 || !written || rename(beside, path) != 0)
            unlink(beside);
    }
    free(beside);
}
