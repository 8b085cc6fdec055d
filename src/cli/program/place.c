#include "cli/program/place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mode_t default_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static void forget(struct sp_place *place) {
    free(place->temporary);
    free(place->path);
}

static bool open_temporary(struct sp_place *place, mode_t mode) {
    if (asprintf(&place->temporary, "%s.XXXXXX", place->path) < 0) {
        place->temporary = NULL;
        return false;
    }
    place->descriptor = mkostemp(place->temporary, O_CLOEXEC);
    if (place->descriptor < 0)
        return false;
    if (fchmod(place->descriptor, mode) == 0)
        return true;
    int error = errno;
    close(place->descriptor);
    unlink(place->temporary);
    errno = error;
    return false;
}

// A link is followed, so that what it names is replaced and not the link.
static bool open_beside(struct sp_place *place, const char *path, mode_t mode) {
    place->path = realpath(path, NULL);
    if (!place->path)
        place->path = strdup(path);
    if (place->path && open_temporary(place, mode))
        return true;
    forget(place);
    return false;
}

static bool open_directly(struct sp_place *place, const char *path) {
    place->descriptor = open(path, O_WRONLY | O_CLOEXEC);
    return place->descriptor >= 0;
}

static bool is_standard_output(const char *path) {
    return strcmp(path, "-") == 0;
}

bool sp_place_open(struct sp_place *place, const char *path) {
    *place = (struct sp_place){.descriptor = -1};
    struct stat status;
    errno = ENOENT;
    if (path[0] == '\0')
        return false;
    if (is_standard_output(path)) {
        fflush(stdout); // the descriptor goes on behind it
        place->descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
        return place->descriptor >= 0;
    }
    if (stat(path, &status) != 0)
        return open_beside(place, path, default_mode());
    if (S_ISREG(status.st_mode))
        return open_beside(place, path, status.st_mode & 07777);
    return open_directly(place, path);
}

// Nothing but a regular file is opened: the reader of a pipe would see its end.
static bool is_writable(const char *path, mode_t mode) {
    errno = EISDIR;
    return !S_ISDIR(mode) && access(path, W_OK) == 0;
}

bool sp_place_try(const char *path) {
    struct sp_place place;
    struct stat status;
    if (!is_standard_output(path) && stat(path, &status) == 0 && !S_ISREG(status.st_mode))
        return is_writable(path, status.st_mode);
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
    return is_standard_output(path) ? "standard output" : path;
}
