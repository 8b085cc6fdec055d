#include "cli/program/output.h"

#include "cli/program/complain.h"
#include "cli/program/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Writes everything and closes the descriptor, whatever happens. False with errno.
static bool write_and_close(int descriptor, const char *text) {
    FILE *out = fdopen(descriptor, "w");
    if (!out) {
        close(descriptor);
        return false;
    }
    bool good = fputs(text, out) >= 0 && fputc('\n', out) != EOF && fflush(out) == 0;
    int error = errno;
    if (fclose(out) != 0 && good)
        return false;
    errno = error;
    return good;
}

static bool write_file(const char *path, const char *text) {
    struct sp_place place;
    if (!sp_place_open(&place, path))
        return false;
    if (write_and_close(place.descriptor, text))
        return sp_place_keep(&place);
    sp_place_drop(&place);
    return false;
}

bool sp_output_ready(const char *path) {
    return !path || sp_place_try(path) ||
           sp_complain("%s: %s", sp_place_name(path), strerror(errno));
}

bool sp_output_write(const char *path, const char *text) {
    return write_file(path, text) || sp_complain("%s: %s", sp_place_name(path), strerror(errno));
}

bool sp_output_flush(void) {
    static bool has_failed;
    if (has_failed)
        return false;
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    has_failed = true;
    return sp_complain("standard output: %s",
                       errno != 0 ? strerror(errno) : "not all could be written");
}

static void flush(void) {
    if (!sp_output_flush())
        _exit(EXIT_FAILURE);
}

void sp_output_flush_at_exit(void) {
    if (atexit(flush) != 0)
        abort(); // there is room for 32 functions at least
}
