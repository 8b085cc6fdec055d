// A cache is, with numbers in the machine's order:
//
//   header     "glibc-ld.so.cache1.1", the number of entries, and what isn't used here
//   entries    flags, and where its name and its path are, counted from the header
//   texts      each ends with a zero
//
// An older form may stand in front, with a header and entries of its own; the texts are shared.
#include "dropin/forward/cache.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OLD_MAGIC "ld.so-1.7.0"
#define MAGIC     "glibc-ld.so.cache1.1"

// The flags of a library for glibc on x86-64.
#define FLAGS 0x0303

struct header {
    char magic[sizeof MAGIC - 1];
    uint32_t count;
    uint32_t unused[6];
};

struct entry {
    int32_t flags;
    uint32_t name;
    uint32_t path;
    uint32_t unused;
    uint64_t hardware;
};

struct old_header {
    char magic[sizeof OLD_MAGIC - 1];
    uint32_t count;
};

enum { OLD_ENTRY_SIZE = 12, ALIGNMENT = 8, MOST_BYTES = 64 << 20 };

struct bytes {
    char *start;
    size_t size;
};

static struct bytes read_file(const char *path) {
    struct bytes bytes = {NULL, 0};
    FILE *file = fopen(path, "rbe");
    if (!file)
        return bytes;
    if (fseek(file, 0, SEEK_END) == 0) {
        long size = ftell(file);
        if (size > 0 && size <= MOST_BYTES)
            bytes.start = malloc((size_t)size);
        if (bytes.start && fseek(file, 0, SEEK_SET) == 0)
            bytes.size = fread(bytes.start, 1, (size_t)size, file);
    }
    fclose(file);
    return bytes;
}

// Where the header is: at the start, or behind the older form.
static size_t find_header(struct bytes bytes) {
    struct old_header old;
    if (bytes.size < sizeof old)
        return 0;
    memcpy(&old, bytes.start, sizeof old);
    if (memcmp(old.magic, OLD_MAGIC, sizeof old.magic) != 0)
        return 0;
    size_t end = sizeof old + (size_t)old.count * OLD_ENTRY_SIZE;
    return (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

// The text at an offset, or null where the file has no end of it.
static const char *text_at(struct bytes bytes, size_t offset) {
    if (offset >= bytes.size || !memchr(bytes.start + offset, 0, bytes.size - offset))
        return NULL;
    return bytes.start + offset;
}

static bool visit_entries(struct bytes bytes, const char *name, bool (*visit)(const char *path)) {
    struct header header;
    struct entry entry;
    size_t start = find_header(bytes);
    if (start > bytes.size || bytes.size - start < sizeof header)
        return false;
    bytes.start += start;
    bytes.size -= start;
    memcpy(&header, bytes.start, sizeof header);
    if (memcmp(header.magic, MAGIC, sizeof header.magic) != 0 ||
        header.count > (bytes.size - sizeof header) / sizeof entry)
        return false;
    for (uint32_t i = 0; i < header.count; i++) {
        memcpy(&entry, bytes.start + sizeof header + i * sizeof entry, sizeof entry);
        const char *found = text_at(bytes, entry.name), *path = text_at(bytes, entry.path);
        if (entry.flags == FLAGS && found && path && strcmp(found, name) == 0 && visit(path))
            return true;
    }
    return false;
}

bool sp_cache_visit(const char *file, const char *name, bool (*visit)(const char *path)) {
    struct bytes bytes = read_file(file);
    bool result = visit_entries(bytes, name, visit);
    free(bytes.start);
    return result;
}
