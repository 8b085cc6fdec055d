#include "cli/trace/source.h"

#include "cli/trace/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_directory(int descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
}

bool sp_source_open(struct sp_source *source, const char *path, const char **reason) {
    *source = (struct sp_source){.offset = 0};
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
    source->buffer = malloc(SP_SOURCE_PEEK_MAX);
    if (!source->buffer)
        goto close_descriptor;
    source->file = sp_unpack_open(descriptor);
    if (!source->file)
        goto free_buffer;
    return true;

free_buffer:
    free(source->buffer);
close_descriptor:
    close(descriptor);
    return false;
}

void sp_source_close(struct sp_source *source) {
    sp_unpack_close(source->file);
    free(source->buffer);
}

static void fill(struct sp_source *source) {
    memmove(source->buffer, source->buffer + source->begin, source->end - source->begin);
    source->end -= source->begin;
    source->begin = 0;
    size_t room = SP_SOURCE_PEEK_MAX - source->end;
    size_t got =
        sp_unpack_read(source->file, (char *)source->buffer + source->end, room, &source->trouble);
    source->exhausted = got < room;
    source->end += got;
}

size_t sp_source_peek(struct sp_source *source, size_t wanted, const unsigned char **bytes) {
    if (source->end - source->begin < wanted && !source->exhausted)
        fill(source);
    *bytes = source->buffer + source->begin;
    return source->end - source->begin;
}

static void advance(struct sp_source *source, size_t count) {
    source->begin += count;
    source->offset += count;
}

bool sp_source_take(struct sp_source *source, void *bytes, size_t count) {
    const unsigned char *next;
    if (sp_source_peek(source, count, &next) < count)
        return sp_source_skip(source, count);
    memcpy(bytes, next, count);
    advance(source, count);
    return true;
}

bool sp_source_skip(struct sp_source *source, uint64_t count) {
    while (count > 0) {
        const unsigned char *next;
        size_t available = sp_source_peek(source, 1, &next);
        if (available == 0)
            return false;
        size_t part = count < available ? (size_t)count : available;
        advance(source, part);
        count -= part;
    }
    return true;
}

const char *sp_source_reason(const struct sp_source *source) {
    return source->trouble ? source->trouble : "the file is cut off";
}
