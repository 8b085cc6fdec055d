// Tells what memory is: known to the driver, pinned or managed, or neither.
#ifndef STREAMPOOL_COPY_MEMORY_H
#define STREAMPOOL_COPY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

// True when the driver knows the first and the last of so many bytes.
bool sp_memory_is_known(const void *memory, size_t bytes);

// True where the device may copy to and from bytes by itself: they lie in one block of a pool, or
// in one piece that the driver has pinned or manages.
bool sp_memory_is_direct(const void *memory, size_t bytes);

// The block of a pool, or the piece of pinned or managed memory or of a device's, that bytes lie
// in.
struct sp_range {
    const char *begin, *end;
    bool is_for_kernels; // those of the current context may read and write it
};

// Finds it for so many bytes. False where they aren't all in one: if the first one is in one, that
// is found all the same.
bool sp_memory_find_range(const void *memory, size_t bytes, struct sp_range *range);

// True for a device's own memory, which the host's threads can't touch.
bool sp_memory_is_of_device(const void *memory);

#endif
