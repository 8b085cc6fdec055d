// Host memory that a device can touch: what cuMemHostAlloc gave out, and what the program had and
// registered by cuMemHostRegister. It belongs to a context and dies with it. The device's address
// of a byte is the host's, as under unified addressing on a system whose devices can all use host
// pointers.
//
// Each piece has an id that never comes back, though its address may: as on an H200, an allocation
// is given the address of the one of its size that was freed last, in whichever context that was.
//
//   pieces are sorted by address and disjoint
#ifndef STREAMPOOL_SIMCUDA_MEMORY_PINNED_H
#define STREAMPOOL_SIMCUDA_MEMORY_PINNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "driver/abi.h"
#include "simcuda/queue/history.h"

struct sim_context;

struct sim_pinned {
    uint64_t address;
    uint64_t size;
    const struct sim_context *context;
    uint64_t identity;
    unsigned flags; // as the call had them
    bool is_registered;
    bool is_of_library;
    struct sim_history history;
    void *block; // holds the bytes of one that was allocated
    struct sp_list link;
};

// OUT_OF_MEMORY when the host has no more.
CUresult sim_pinned_create(const struct sim_context *context, size_t size, unsigned flags,
                           void **memory);
// Frees an allocation. Reports an address that is none of an allocation.
CUresult sim_pinned_free(void *memory);
// HOST_MEMORY_ALREADY_REGISTERED where a byte is pinned already, INVALID_VALUE where the process
// has no memory in all of it.
CUresult sim_pinned_register(const struct sim_context *context, void *memory, size_t size,
                             unsigned flags);
// HOST_MEMORY_NOT_REGISTERED where no registered memory begins.
CUresult sim_pinned_unregister(void *memory);
void sim_pinned_free_all(const struct sim_context *context);

// Reports it when work that touches the piece, which is about to end, is pending, or not known by
// the host to be complete.
void sim_pinned_report_in_use(const struct sim_pinned *piece);

// Returns the piece that an address lies in; null when it lies in none.
struct sim_pinned *sim_pinned_at(uint64_t address);

// These count the allocations, those of them that are the library's; what is registered, and what
// of that is the library's.
uint64_t sim_pinned_count(void);
uint64_t sim_pinned_count_of_library(void);
uint64_t sim_pinned_count_of_registered(void);
uint64_t sim_pinned_count_of_librarys_registered(void);
void sim_pinned_reset(void);

#endif
