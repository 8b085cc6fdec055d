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

// Where in the file the next byte lies. Of nothing there comes no more.
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

static bool stream_begins(const z_stream *stream) {
    return stream->avail_in >= 2 && stream->next_in[0] == 0x1f && stream->next_in[1] == 0x8b;
}

static void look_at_begin(struct sp_unpack *unpack) {
    if (have_input(unpack, 2))
        unpack->place = stream_begins(&unpack->stream) ? IN_STREAM : IN_PLAIN_TEXT;
}

static void look_behind_stream(struct sp_unpack *unpack) {
    if (!have_input(unpack, 2))
        return;
    if (unpack->stream.avail_in == 0) {
        end(unpack, NULL);
    } else if (stream_begins(&unpack->stream)) {
        inflateReset(&unpack->stream);
        unpack->place = IN_STREAM;
    } else {
        end(unpack, "what stands behind the gzip stream is no gzip stream");
    }
}

static void copy(struct sp_unpack *unpack) {
    z_stream *stream = &unpack->stream;
    if (!have_input(unpack, 1))
        return;
    if (stream->avail_in == 0)
        end(unpack, NULL);
    uInt length = stream->avail_in < stream->avail_out ? stream->avail_in : stream->avail_out;
    memcpy(stream->next_out, stream->next_in, length);
    stream->next_in += length;
    stream->avail_in -= length;
    stream->next_out += length;
    stream->avail_out -= length;
}

static void inflate_some(struct sp_unpack *unpack) {
    if (!have_input(unpack, 1))
        return;
    if (unpack->stream.avail_in == 0) {
        end(unpack, "the gzip stream is cut off");
        return;
    }
    switch (inflate(&unpack->stream, Z_NO_FLUSH)) {
    case Z_OK:
        break;
    case Z_STREAM_END:
        unpack->place = BEHIND_STREAM;
        break;
    case Z_MEM_ERROR:
        end(unpack, strerror(ENOMEM));
        break;
    default:
        end(unpack, "the gzip stream is corrupt here or behind");
        break;
    }
}

static void go_on(struct sp_unpack *unpack) {
    switch (unpack->place) {
    case AT_BEGIN:
        look_at_begin(unpack);
        break;
    case IN_PLAIN_TEXT:
        copy(unpack);
        break;
    case IN_STREAM:
        inflate_some(unpack);
        break;
    case BEHIND_STREAM:
        look_behind_stream(unpack);
        break;
    case AT_END:
        break;
    }
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
