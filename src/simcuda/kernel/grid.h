// The shape of a launch, and what of it a device of compute capability 9.0 (an H200) accepts and
// has room for. The limits are those that NVIDIA documents for it.
//
// The kernels here have no code, so of registers and static shared memory they use as much as
// leaves the most blocks: a multiprocessor is full when it has no more warps, places for blocks, or
// dynamic shared memory.
#ifndef STREAMPOOL_SIMCUDA_KERNEL_GRID_H
#define STREAMPOOL_SIMCUDA_KERNEL_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/abi.h"

#define SIM_GRID_BLOCK_THREADS   1024
#define SIM_GRID_WARP            32
#define SIM_GRID_SHARED_DEFAULT  ((uint32_t)48 << 10)  // bytes of a block
#define SIM_GRID_SHARED_MOST     ((uint32_t)227 << 10) // if a program asks for it
#define SIM_GRID_CLUSTER_DEFAULT 8                     // blocks
#define SIM_GRID_CLUSTER_MOST    16                    // likewise
#define SIM_GRID_REGISTERS       32                    // of a thread, as cuFuncGetAttribute tells

struct sim_grid {
    unsigned int grid[3];    // in blocks
    unsigned int block[3];   // in threads
    unsigned int shared;     // dynamic bytes of a block
    unsigned int cluster[3]; // in blocks; all 0: there are no clusters
    bool is_cooperative;     // all blocks have to run at a time
};

// These are the most that a kernel and its device allow.
struct sim_grid_limits {
    uint32_t threads;    // of a block
    uint32_t shared;     // dynamic bytes of a block
    uint32_t cluster;    // blocks of one
    int multiprocessors; // of the device
};

// INVALID_VALUE when the device or the kernel doesn't accept the shape, INVALID_CLUSTER_SIZE when a
// cluster has too many blocks or the grid no whole number of them, COOPERATIVE_LAUNCH_TOO_LARGE
// when blocks that have to run at a time have no room.
CUresult sim_grid_check(const struct sim_grid *grid, const struct sim_grid_limits *limits);

// Returns how many blocks a multiprocessor has room for at a time; 0 when it has none for one.
int sim_grid_blocks(uint64_t threads, uint64_t shared);

// Returns the most dynamic shared memory that each of so many blocks on a multiprocessor can have.
// INVALID_VALUE when it has no room for so many blocks.
CUresult sim_grid_shared_for(int blocks, uint64_t threads, size_t *shared);

#endif
