// These functions find what a kernel's parameters point to. If nobody tells what a kernel touches,
// each block that a parameter points into counts as touched, as far as the kernel may touch it.
#ifndef STREAMPOOL_SIMCUDA_MEMORY_POINTED_H
#define STREAMPOOL_SIMCUDA_MEMORY_POINTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_job;

struct sim_pointed {
    uint64_t address;
    uint64_t size;
    bool is_writable; // by the device
};

// Finds the block that an address lies in: one that is watched (block.h), live or freed, or else an
// allocation or a mapping of the program, if the device can read it, or pinned memory. Where blocks
// are not watched memory of the library's pools is none: to take a whole extent for one would make
// others' blocks touched.
bool sim_pointed_find(uint64_t address, int device, struct sim_pointed *pointed);

// Adds the blocks that the words of some bytes point into to what the job touches, each one once:
// read, and written if the device can write it. Returns the sum of those blocks so far, beginning
// with `count`.
size_t sim_pointed_touch(struct sim_job *job, const void *bytes, size_t size, int device,
                         size_t count);

#endif
