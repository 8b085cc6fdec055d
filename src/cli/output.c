#include "cli/output.h"

#include "cli/complain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Writes everything and closes the stream, whatever happens. False with errno.
static bool write_and_close(FILE *out, const char *text) {
    bool good = fputs(text, out) >= 0 && fputc('\n', out) != EOF && fflush(out) == 0;
    int error = errno;
    if (fclose(out) != 0 && good)
        return false;
    errno = error;
    return good;
}

static bool write_directly(const char *path, const char *text) {
    FILE *out = fopen(path, "we");
    return out && write_and_close(out, text);
}

static mode_t default_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static bool write_stream(int descriptor, const char *text, mode_t mode) {
    FILE *out = fdopen(descriptor, "w");
    if (!out) {
        close(descriptor);
        return false;
    }
    if (fchmod(descriptor, mode) == 0)
        return write_and_close(out, text);
    fclose(out);
    return false;
}

static bool write_and_rename(const char *path, const char *text, mode_t mode) {
    char *temporary;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        return false;
    bool good = false;
    int descriptor = mkstemp(temporary);
    if (descriptor < 0)
        goto free_name;
    good = write_stream(descriptor, text, mode) && rename(temporary, path) == 0;
    if (!good) {
        int error = errno;
        unlink(temporary);
        errno = error;
    }

free_name:
    free(temporary);
    return good;
}

// A link is followed, so that what it names is replaced and not the link.
static bool replace(const char *path, const char *text, mode_t mode) {
    char *target = realpath(path, NULL);
    if (!target)
        return write_and_rename(path, text, mode);
    bool good = write_and_rename(target, text, mode);
    free(target);
    return good;
}

static bool write_file(const char *path, const char *text) {
    struct stat status;
    if (stat(path, &status) != 0)
        return replace(path, text, default_mode());
    if (S_ISREG(status.st_mode))
        return replace(path, text, status.st_mode & 07777);
    return write_directly(path, text);
}

static bool write_standard_output(const char *text) {
    return fputs(text, stdout) >= 0 && fputc('\n', stdout) != EOF && fflush(stdout) == 0;
}

bool sp_output_write(const char *path, const char *text) {
    bool to_output = sp_output_is_standard(path);
    bool good = to_output ? write_standard_output(text) : write_file(path, text);
    return good || sp_complain("%s: %s", to_output ? "standard output" : path, strerror(errno));
}
