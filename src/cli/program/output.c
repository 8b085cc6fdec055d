#include "cli/program/output.h"

#include "cli/program/complain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

// --------------------------------------------------------------------------------------- the place

static mode_t default_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static void forget(struct sp_place *place) {
    free(place->temporary);
    free(place->path);
}

// A link is followed, so that what it names is replaced and not the link.
static bool open_beside(struct sp_place *place, const char *path, mode_t mode) {
    place->path = realpath(path, NULL);
    if (!place->path)
        place->path = strdup(path);
    if (!place->path || asprintf(&place->temporary, "%s.XXXXXX", place->path) < 0)
        place->temporary = NULL;
    else
        place->descriptor = mkostemp(place->temporary, O_CLOEXEC);
    if (place->descriptor < 0) {
        forget(place);
        return false;
    }
    if (fchmod(place->descriptor, mode) == 0)
        return true;
    int error = errno;
    close(place->descriptor);
    errno = error;
    sp_place_drop(place);
    return false;
}

bool sp_place_open(struct sp_place *place, const char *path) {
    *place = (struct sp_place){.descriptor = -1};
    struct stat status;
    errno = ENOENT;
    if (path[0] == '\0')
        return false;
    bool is_standard = sp_output_is_standard(path), is_there = stat(path, &status) == 0;
    if (!is_standard && (!is_there || S_ISREG(status.st_mode)))
        return open_beside(place, path, is_there ? status.st_mode & 07777 : default_mode());
    if (is_standard)
        fflush(stdout); // the descriptor goes on behind it
    place->descriptor =
        is_standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0) : open(path, O_WRONLY | O_CLOEXEC);
    return place->descriptor >= 0;
}

// Nothing but a regular file is opened: the reader of a pipe would see its end.
bool sp_place_try(const char *path) {
    struct sp_place place;
    struct stat status;
    if (!sp_output_is_standard(path) && stat(path, &status) == 0 && !S_ISREG(status.st_mode)) {
        errno = EISDIR;
        return !S_ISDIR(status.st_mode) && access(path, W_OK) == 0;
    }
    if (!sp_place_open(&place, path))
        return false;
    close(place.descriptor);
    sp_place_drop(&place);
    return true;
}

bool sp_place_keep(struct sp_place *place) {
    if (place->temporary && rename(place->temporary, place->path) != 0) {
        sp_place_drop(place);
        return false;
    }
    forget(place);
    return true;
}

void sp_place_drop(struct sp_place *place) {
    int error = errno;
    if (place->temporary)
        unlink(place->temporary);
    forget(place);
    errno = error;
}

const char *sp_place_name(const char *path) {
    return sp_output_is_standard(path) ? "standard output" : path;
}

// -------------------------------------------------------------------------------------- the output

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

bool sp_output_write(const char *path, const char *text) {
    struct sp_place place;
    bool is_open = sp_place_open(&place, path);
    bool is_written = is_open && write_and_close(place.descriptor, text);
    if (is_open && !is_written)
        sp_place_drop(&place);
    return (is_written && sp_place_keep(&place)) ||
           sp_complain("%s: %s", sp_place_name(path), strerror(errno));
}

bool sp_output_ready(const char *path) {
    return !path || sp_place_try(path) ||
           sp_complain("%s: %s", sp_place_name(path), strerror(errno));
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
