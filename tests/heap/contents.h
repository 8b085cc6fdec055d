// What tests write into blocks, so that a block that was given to two is found out.
#ifndef STREAMPOOL_TESTS_HEAP_CONTENTS_H
#define STREAMPOOL_TESTS_HEAP_CONTENTS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "random/numbers.h"

// Where a block is written: everywhere, or in large ones at some 64 places, and at the last byte.
static inline size_t contents_next(size_t at, size_t bytes) {
    size_t next = at + (bytes <= 256 ? 1 : bytes / 64 | 1);
    return next < bytes || at == bytes - 1 ? next : bytes - 1;
}

static inline unsigned char contents_at(uint64_t key, size_t at) {
    struct numbers numbers = {key + at / 8};
    return (unsigned char)(numbers_next(&numbers) >> at % 8 * 8);
}

static inline void contents_write(void *block, size_t bytes, uint64_t key) {
    for (size_t at = 0; at < bytes; at = contents_next(at, bytes))
        ((unsigned char *)block)[at] = contents_at(key, at);
}

// Whether the first `bytes` of a block that was written with `written` bytes are still there.
static inline int contents_hold(const void *block, size_t bytes, size_t written, uint64_t key) {
    for (size_t at = 0; at < bytes; at = contents_next(at, written)) {
        if (((const unsigned char *)block)[at] != contents_at(key, at))
            return 0;
    }
    return 1;
}

#endif
