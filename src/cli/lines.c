// The end of a file needs care: where a gzip stream is cut or corrupt, the lines before the trouble
// are handed out, and a line without its end is not.
#include "cli/lines.h"

#include "cli/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SP_LINES_BUFFER = 64 * 1024 };

#define SP_TEXT(value)    #value
#define SP_TEXT_OF(macro) SP_TEXT(macro)

static bool is_directory(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

bool sp_lines_open(struct sp_lines *lines, const char *path, const char **reason) {
    *lines = (struct sp_lines){.number = 0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        *reason = strerror(errno);
        return false;
    }
    if (is_directory(descriptor)) {
        *reason = strerror(EISDIR);
        goto close_descriptor;
    }
    *reason = strerror(ENOMEM);
    lines->buffer = malloc(SP_LINES_BUFFER);
    if (!lines->buffer)
        goto close_descriptor;
    lines->file = sp_unpack_open(descriptor);
    if (!lines->file)
        goto free_buffer;
    return true;

free_buffer:
    free(lines->buffer);
close_descriptor:
    close(descriptor);
    return false;
}

void sp_lines_close(struct sp_lines *lines) {
    sp_unpack_close(lines->file);
    free(lines->buffer);
}

static void fill(struct sp_lines *lines) {
    memmove(lines->buffer, lines->buffer + lines->begin, lines->end - lines->begin);
    lines->end -= lines->begin;
    lines->begin = 0;
    size_t room = SP_LINES_BUFFER - lines->end;
    size_t got = sp_unpack_read(lines->file, lines->buffer + lines->end, room, &lines->trouble);
    lines->exhausted = got < room;
    lines->end += got;
}

static size_t without_carriage_return(const char *text, size_t length) {
    return length > 0 && text[length - 1] == '\r' ? length - 1 : length;
}

enum sp_line_result sp_lines_next(struct sp_lines *lines, const char **text, size_t *length,
                                  const char **reason) {
    lines->number++;
    char *newline;
    for (;;) {
        char *begin = lines->buffer + lines->begin;
        size_t available = lines->end - lines->begin;
        newline = memchr(begin, '\n', available);
        if (newline || available > SP_LINE_LENGTH_MAX + 1 || lines->exhausted)
            break;
        fill(lines);
    }

    *text = lines->buffer + lines->begin;
    size_t raw = newline ? (size_t)(newline - *text) : lines->end - lines->begin;
    if (!newline && lines->trouble) {
        *reason = lines->trouble;
        return SP_LINE_FAILED;
    }
    if (!newline && raw == 0)
        return SP_LINE_END;
    *length = without_carriage_return(*text, raw);
    if (*length > SP_LINE_LENGTH_MAX) {
        *reason = "line longer than " SP_TEXT_OF(SP_LINE_LENGTH_MAX) " characters";
        return SP_LINE_FAILED;
    }
    lines->begin += raw + (newline != NULL);
    return SP_LINE_READ;
}
