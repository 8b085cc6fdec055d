#include "simcuda/image/packed.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

// -------------------------------------------------------------------------------------------- LZ4

// A block is a row of sequences: bytes to be copied as they are, then a match, which repeats bytes
// that were written before. The last sequence has no match.
struct block {
    const unsigned char *from;
    const unsigned char *from_end;
    unsigned char *begin;
    unsigned char *to;
    unsigned char *to_end;
};

#define SHORTEST_MATCH 4

// A length of 15 goes on in the bytes behind, up to one that is not 255.
static bool read_length(struct block *block, size_t *length) {
    unsigned char more = 255;
    if (*length < 15)
        return true;
    while (more == 255) {
        if (block->from == block->from_end)
            return false;
        more = *block->from++;
        *length += more;
    }
    return true;
}

static bool copy_literals(struct block *block, size_t length) {
    if (length > (size_t)(block->from_end - block->from) ||
        length > (size_t)(block->to_end - block->to))
        return false;
    memcpy(block->to, block->from, length);
    block->from += length;
    block->to += length;
    return true;
}

// The match may reach into what it writes itself, so it is copied byte by byte.
static bool copy_match(struct block *block, size_t length) {
    if (block->from_end - block->from < 2)
        return false;
    size_t distance = block->from[0] | (size_t)block->from[1] << 8;
    block->from += 2;
    if (!read_length(block, &length))
        return false;
    length += SHORTEST_MATCH;
    if (distance == 0 || distance > (size_t)(block->to - block->begin) ||
        length > (size_t)(block->to_end - block->to))
        return false;
    for (; length > 0; length--, block->to++)
        *block->to = *(block->to - distance);
    return true;
}

static bool unpack_lz4(const void *from, size_t from_size, void *to, size_t to_size) {
    struct block block = {.from = from, .begin = to, .to = to};
    block.from_end = block.from + from_size;
    block.to_end = block.to + to_size;
    while (block.from < block.from_end) {
        unsigned char token = *block.from++;
        size_t literals = token >> 4;
        if (!read_length(&block, &literals) || !copy_literals(&block, literals))
            return false;
        if (block.from < block.from_end && !copy_match(&block, token & 15))
            return false;
    }
    return block.to == block.to_end;
}

// -------------------------------------------------------------------------------------- Zstandard

typedef size_t (*zstd_decompress)(void *to, size_t to_size, const void *from, size_t from_size);

// It is looked for once, and stays loaded.
static zstd_decompress find_zstd(void) {
    static bool was_looked_for;
    static void *library;
    static zstd_decompress function;
    if (was_looked_for)
        return function;
    was_looked_for = true;
    library = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "ZSTD_decompress") : NULL;
    memcpy(&function, &symbol, sizeof(function));
    return function;
}

// It returns the number of bytes that it wrote, or an error, which is larger than any such number.
static bool unpack_zstd(const void *from, size_t from_size, void *to, size_t to_size) {
    zstd_decompress function = find_zstd();
    return function && function(to, to_size, from, from_size) == to_size;
}

// ------------------------------------------------------------------------------------------- both

bool sim_image_packed_is_known(enum sim_packing packing) {
    return packing != SIM_PACKING_ZSTD || find_zstd() != NULL;
}

bool sim_image_packed_unpack(enum sim_packing packing, const void *from, size_t from_size, void *to,
                             size_t to_size) {
    switch (packing) {
    case SIM_PACKING_NONE:
        return false;
    case SIM_PACKING_LZ4:
        return unpack_lz4(from, from_size, to, to_size);
    case SIM_PACKING_ZSTD:
        return unpack_zstd(from, from_size, to, to_size);
    }
    return false;
}
