// The end of a file needs care: where a gzip stream is cut or corrupt, the lines before the trouble
// are handed out, and a line without its end is not.
#include "cli/trace/lines.h"

#include "cli/trace/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SP_TEXT(value)    #value
#define SP_TEXT_OF(macro) SP_TEXT(macro)

// The longest line has a carriage return and a newline.
enum { BUFFER = 64 * 1024, WITH_END_MAX = SP_LINE_LENGTH_MAX + 2 };

bool sp_lines_open(struct sp_lines *lines, const char *path, const char **reason) {
    struct stat status;
    *lines = (struct sp_lines){.number = 0};
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        *reason = strerror(errno);
        return false;
    }
    bool is_directory = fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
    *reason = strerror(is_directory ? EISDIR : ENOMEM);
    lines->buffer = is_directory ? NULL : malloc(BUFFER);
    lines->file = lines->buffer ? sp_unpack_open(descriptor) : NULL;
    if (lines->file)
        return true;
    free(lines->buffer);
    close(descriptor);
    return false;
}

void sp_lines_close(struct sp_lines *lines) {
    sp_unpack_close(lines->file);
    free(lines->buffer);
}

static void fill(struct sp_lines *lines) {
    lines->end -= lines->begin;
    memmove(lines->buffer, lines->buffer + lines->begin, lines->end);
    lines->begin = 0;
    size_t room = BUFFER - lines->end;
    size_t got = sp_unpack_read(lines->file, lines->buffer + lines->end, room, &lines->trouble);
    lines->exhausted = got < room;
    lines->end += got;
}

enum sp_line_result sp_lines_next(struct sp_lines *lines, const char **text, size_t *length,
                                  const char **reason) {
    lines->number++;
    if (lines->end - lines->begin < WITH_END_MAX && !lines->exhausted)
        fill(lines);
    *text = lines->buffer + lines->begin;
    size_t available = lines->end - lines->begin;
    size_t searched = available < WITH_END_MAX ? available : WITH_END_MAX;
    const char *newline = memchr(*text, '\n', searched);
    if (!newline && searched < WITH_END_MAX) {
        *reason = lines->trouble;
        if (lines->trouble || searched == 0)
            return lines->trouble ? SP_LINE_FAILED : SP_LINE_END;
    }
    *length = newline ? (size_t)(newline - *text) : searched;
    lines->begin += *length + (newline != NULL);
    *length -= *length > 0 && (*text)[*length - 1] == '\r';
    *reason = "line longer than " SP_TEXT_OF(SP_LINE_LENGTH_MAX) " characters";
    return *length > SP_LINE_LENGTH_MAX ? SP_LINE_FAILED : SP_LINE_READ;
}
