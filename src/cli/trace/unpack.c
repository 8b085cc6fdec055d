// By zlib's inflate and not by its gzread, which ends at what stands behind a gzip stream and
// doesn't say so.
#include "cli/trace/unpack.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { INPUT_BUFFER = 64 * 1024, GZIP_ONLY = 16 };

// Where in the file the next byte lies. A stream may follow at the beginning, and behind another.
enum place { AT_BEGIN, IN_PLAIN_TEXT, IN_STREAM, BEHIND_STREAM, AT_END };

struct sp_unpack {
    int descriptor;
    enum place place;
    const char *trouble; // at the end: why it came before its time
    z_stream stream;     // its input is what was read of the file and not used yet
    unsigned char input[INPUT_BUFFER];
};

struct sp_unpack *sp_unpack_open(int descriptor) {
    struct sp_unpack *unpack = calloc(1, sizeof *unpack);
    if (!unpack || inflateInit2(&unpack->stream, GZIP_ONLY + MAX_WBITS) != Z_OK) {
        free(unpack);
        return NULL;
    }
    unpack->descriptor = descriptor;
    unpack->stream.next_in = unpack->input;
    return unpack;
}

void sp_unpack_close(struct sp_unpack *unpack) {
    inflateEnd(&unpack->stream);
    close(unpack->descriptor);
    free(unpack);
}

static void end(struct sp_unpack *unpack, const char *trouble) {
    unpack->place = AT_END;
    unpack->trouble = trouble;
}

// Reads until there are so many bytes of input, or the file ends. False when it can't be read.
static bool have_input(struct sp_unpack *unpack, size_t wanted) {
    z_stream *stream = &unpack->stream;
    if (stream->avail_in >= wanted)
        return true;
    memmove(unpack->input, stream->next_in, stream->avail_in);
    stream->next_in = unpack->input;
    while (stream->avail_in < wanted) {
        ssize_t got = read(unpack->descriptor, unpack->input + stream->avail_in,
                           INPUT_BUFFER - stream->avail_in);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            end(unpack, strerror(errno));
        if (got <= 0)
            return got == 0;
        stream->avail_in += (uInt)got;
    }
    return true;
}

static void look(struct sp_unpack *unpack) {
    z_stream *stream = &unpack->stream;
    if (stream->avail_in >= 2 && stream->next_in[0] == 0x1f && stream->next_in[1] == 0x8b) {
        inflateReset(stream);
        unpack->place = IN_STREAM;
    } else if (unpack->place == AT_BEGIN) {
        unpack->place = IN_PLAIN_TEXT;
    } else {
        end(unpack, "what stands behind the gzip stream is no gzip stream");
    }
}

static void copy(z_stream *stream) {
    uInt length = stream->avail_in < stream->avail_out ? stream->avail_in : stream->avail_out;
    memcpy(stream->next_out, stream->next_in, length);
    stream->next_in += length;
    stream->avail_in -= length;
    stream->next_out += length;
    stream->avail_out -= length;
}

static void inflate_some(struct sp_unpack *unpack) {
    int result = inflate(&unpack->stream, Z_NO_FLUSH);
    if (result == Z_STREAM_END)
        unpack->place = BEHIND_STREAM;
    else if (result != Z_OK)
        end(unpack,
            result == Z_MEM_ERROR ? strerror(ENOMEM) : "the gzip stream is corrupt here or behind");
}

static void go_on(struct sp_unpack *unpack) {
    bool between = unpack->place == AT_BEGIN || unpack->place == BEHIND_STREAM;
    if (!have_input(unpack, between ? 2 : 1))
        return;
    if (unpack->stream.avail_in == 0)
        end(unpack, unpack->place == IN_STREAM ? "the gzip stream is cut off" : NULL);
    else if (between)
        look(unpack);
    else if (unpack->place == IN_STREAM)
        inflate_some(unpack);
    else
        copy(&unpack->stream);
}

size_t sp_unpack_read(struct sp_unpack *unpack, char *buffer, size_t capacity,
                      const char **trouble) {
    z_stream *stream = &unpack->stream;
    stream->next_out = (unsigned char *)buffer;
    stream->avail_out = (uInt)capacity;
    while (stream->avail_out > 0 && unpack->place != AT_END)
        go_on(unpack);
    *trouble = unpack->trouble;
    return capacity - stream->avail_out;
}
