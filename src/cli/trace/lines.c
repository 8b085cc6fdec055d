// By zlib's inflate and not by its gzread, which ends at what stands behind a gzip stream and
// doesn't say so. The end of a file needs care, too: where a gzip stream is cut or corrupt, the
// lines before the trouble are handed out, and a line without its end is not.
#include "cli/trace/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define SP_TEXT(value)    #value
#define SP_TEXT_OF(macro) SP_TEXT(macro)

// The longest line has a carriage return and a newline.
enum { BUFFER = 64 * 1024, WITH_END_MAX = SP_LINE_LENGTH_MAX + 2, GZIP_ONLY = 16 };

// Where in the file the next byte lies. A stream may follow at the beginning, and behind another.
enum place { AT_BEGIN, IN_PLAIN_TEXT, IN_STREAM, BEHIND_STREAM, AT_END };

struct sp_lines {
    int descriptor;
    enum place place;
    const char *trouble; // at the end: why it came before its time, or null
    z_stream stream;     // its input is what was read of the file and not unpacked yet
    size_t begin;        // text[begin, end) is unpacked and not handed out yet
    size_t end;
    unsigned char input[BUFFER];
    char text[BUFFER];
};

struct sp_lines *sp_lines_open(const char *path, const char **reason) {
    struct stat status;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        *reason = strerror(errno);
        return NULL;
    }
    bool is_directory = fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
    struct sp_lines *lines = is_directory ? NULL : calloc(1, sizeof *lines);
    if (lines && inflateInit2(&lines->stream, GZIP_ONLY + MAX_WBITS) == Z_OK) {
        lines->descriptor = descriptor;
        lines->stream.next_in = lines->input;
        return lines;
    }
    *reason = strerror(is_directory ? EISDIR : ENOMEM);
    free(lines);
    close(descriptor);
    return NULL;
}

void sp_lines_close(struct sp_lines *lines) {
    inflateEnd(&lines->stream);
    close(lines->descriptor);
    free(lines);
}

// ----------------------------------------------------------------------------------- the unpacking

static void end(struct sp_lines *lines, const char *trouble) {
    lines->place = AT_END;
    lines->trouble = trouble;
}

// Reads until there are so many bytes of input, or the file ends. False when it can't be read.
static bool have_input(struct sp_lines *lines, size_t wanted) {
    z_stream *stream = &lines->stream;
    if (stream->avail_in >= wanted)
        return true;
    memmove(lines->input, stream->next_in, stream->avail_in);
    stream->next_in = lines->input;
    while (stream->avail_in < wanted) {
        ssize_t got =
            read(lines->descriptor, lines->input + stream->avail_in, BUFFER - stream->avail_in);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            end(lines, strerror(errno));
        if (got <= 0)
            return got == 0;
        stream->avail_in += (uInt)got;
    }
    return true;
}

static void copy(z_stream *stream) {
    uInt length = stream->avail_in < stream->avail_out ? stream->avail_in : stream->avail_out;
    memcpy(stream->next_out, stream->next_in, length);
    stream->next_in += length;
    stream->avail_in -= length;
    stream->next_out += length;
    stream->avail_out -= length;
}

static void unpack_some(struct sp_lines *lines) {
    z_stream *stream = &lines->stream;
    bool between = lines->place == AT_BEGIN || lines->place == BEHIND_STREAM;
    if (!have_input(lines, between ? 2 : 1))
        return;
    const unsigned char *next = stream->next_in;
    if (stream->avail_in == 0) {
        end(lines, lines->place == IN_STREAM ? "the gzip stream is cut off" : NULL);
    } else if (between && stream->avail_in >= 2 && next[0] == 0x1f && next[1] == 0x8b) {
        inflateReset(stream);
        lines->place = IN_STREAM;
    } else if (lines->place == BEHIND_STREAM) {
        end(lines, "what stands behind the gzip stream is no gzip stream");
    } else if (lines->place == IN_STREAM) {
        int result = inflate(stream, Z_NO_FLUSH);
        if (result == Z_STREAM_END)
            lines->place = BEHIND_STREAM;
        else if (result != Z_OK)
            end(lines, result == Z_MEM_ERROR ? strerror(ENOMEM)
                                             : "the gzip stream is corrupt here or behind");
    } else {
        lines->place = IN_PLAIN_TEXT;
        copy(stream);
    }
}

static void fill(struct sp_lines *lines) {
    z_stream *stream = &lines->stream;
    lines->end -= lines->begin;
    memmove(lines->text, lines->text + lines->begin, lines->end);
    lines->begin = 0;
    stream->next_out = (unsigned char *)lines->text + lines->end;
    stream->avail_out = (uInt)(BUFFER - lines->end);
    while (stream->avail_out > 0 && lines->place != AT_END)
        unpack_some(lines);
    lines->end = BUFFER - stream->avail_out;
}

// --------------------------------------------------------------------------------------- the lines

enum sp_line_result sp_lines_next(struct sp_lines *lines, const char **text, size_t *length,
                                  const char **reason) {
    if (lines->end - lines->begin < WITH_END_MAX && lines->place != AT_END)
        fill(lines);
    *text = lines->text + lines->begin;
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
