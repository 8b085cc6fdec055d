// A slab has handles: it is an array that is reserved whole and filled from the front, whose
// elements are never moved or given back to the host, so a handle can be checked without a lock
// even when its object is gone.
//
// A handle is no address. It is a number that depends on the element's index alone, so that a
// program that sorts or hashes handles does the same in every run, wherever the host puts memory.
//
// The element that was freed last is handed out first, as the driver does with streams. An element
// begins with its identity:
//
//   identity == 0 exactly while the element is free; it is set last and cleared first, and never
//   repeats
#ifndef STREAMPOOL_SIMCUDA_COMMON_SLAB_H
#define STREAMPOOL_SIMCUDA_COMMON_SLAB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_slab_element {
    _Atomic uint64_t identity;
    struct sim_slab_element *next_free;
};

struct sim_slab {
    char *base;
    uintptr_t first_handle;
    size_t stride;
    size_t capacity;
    size_t used; // elements that were ever handed out
    size_t live;
    struct sim_slab_element *free;
};

// The kinds of handle. Their numbers lie far apart, and where no address of a device is.
enum sim_slab_kind {
    SIM_SLAB_OF_CONTEXTS,
    SIM_SLAB_OF_STREAMS,
    SIM_SLAB_OF_EVENTS,
    SIM_SLAB_OF_FUNCTIONS
};

// Makes an empty slab. False when the host has no memory left.
bool sim_slab_init(struct sim_slab *slab, enum sim_slab_kind kind, size_t stride, size_t capacity);
// Frees every element; the storage stays.
void sim_slab_clear(struct sim_slab *slab);

// Takes a free element with its contents as they were left, identity still 0; null when all are in
// use. The caller fills it and then publishes it.
void *sim_slab_take(struct sim_slab *slab);
void sim_slab_publish(void *element, uint64_t identity);
void sim_slab_give(struct sim_slab *slab, void *element);

static inline uintptr_t sim_slab_handle(const struct sim_slab *slab, const void *element) {
    return slab->first_handle + (uintptr_t)element - (uintptr_t)slab->base;
}

// Returns the live element behind a handle, null for anything else. Safe without a lock.
static inline void *sim_slab_find(const struct sim_slab *slab, uintptr_t handle) {
    uintptr_t offset = handle - slab->first_handle;
    if (offset >= slab->stride * slab->capacity || offset % slab->stride != 0)
        return NULL;
    struct sim_slab_element *element = (struct sim_slab_element *)(void *)(slab->base + offset);
    return atomic_load_explicit(&element->identity, memory_order_acquire) ? element : NULL;
}

// Returns the element with this index, null where it is free.
static inline void *sim_slab_at(const struct sim_slab *slab, size_t index) {
    return sim_slab_find(slab, slab->first_handle + index * slab->stride);
}

// Returns whether the handle is that of an element that was ever handed out, live or not.
static inline bool sim_slab_knows(const struct sim_slab *slab, uintptr_t handle) {
    uintptr_t offset = handle - slab->first_handle;
    return offset < slab->stride * slab->used && offset % slab->stride == 0;
}

#endif
