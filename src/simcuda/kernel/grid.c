#include "simcuda/kernel/grid.h"

#include "base/number.h"

#define MULTIPROCESSOR_THREADS 2048
#define MULTIPROCESSOR_BLOCKS  32
#define MULTIPROCESSOR_SHARED  ((uint64_t)228 << 10)
#define BLOCK_OVERHEAD         ((uint64_t)1 << 10) // shared memory that the system takes of a block
#define SHARED_UNIT            128

static const unsigned int most_blocks[3] = {0x7FFFFFFF, 65535, 65535};
static const unsigned int most_threads[3] = {1024, 1024, 64};

static bool is_within(const unsigned int size[3], const unsigned int most[3]) {
    for (int i = 0; i < 3; i++) {
        if (size[i] == 0 || size[i] > most[i])
            return false;
    }
    return true;
}

static uint64_t threads_of(const struct sim_grid *grid) {
    return (uint64_t)grid->block[0] * grid->block[1] * grid->block[2];
}

int sim_grid_blocks(uint64_t threads, uint64_t shared) {
    if (threads == 0 || threads > SIM_GRID_BLOCK_THREADS || shared > SIM_GRID_SHARED_MOST)
        return 0;
    uint64_t by_threads = MULTIPROCESSOR_THREADS / sp_round_up(threads, SIM_GRID_WARP);
    uint64_t by_shared =
        MULTIPROCESSOR_SHARED / (sp_round_up(shared, SHARED_UNIT) + BLOCK_OVERHEAD);
    return (int)sp_min(sp_min(by_threads, by_shared), MULTIPROCESSOR_BLOCKS);
}

// Each of the three is below 2^31, so the product of two has room.
static bool runs_at_a_time(const struct sim_grid *grid, int multiprocessors) {
    uint64_t room =
        (uint64_t)multiprocessors * (uint64_t)sim_grid_blocks(threads_of(grid), grid->shared);
    uint64_t plane = (uint64_t)grid->grid[0] * grid->grid[1];
    return plane <= room && plane * grid->grid[2] <= room;
}

// Tells whether the grid can be cut into its clusters, of so many blocks at most.
static bool has_whole_clusters(const struct sim_grid *grid, uint32_t most) {
    uint64_t blocks = 1;
    for (int i = 0; i < 3; i++) {
        blocks *= grid->cluster[i];
        if (grid->grid[i] % grid->cluster[i] != 0 || blocks > most)
            return false;
    }
    return true;
}

static CUresult check_cluster(const struct sim_grid *grid, uint32_t most) {
    const unsigned int *cluster = grid->cluster;
    if (!cluster[0] && !cluster[1] && !cluster[2])
        return CUDA_SUCCESS;
    if (!cluster[0] || !cluster[1] || !cluster[2])
        return CUDA_ERROR_INVALID_VALUE;
    return has_whole_clusters(grid, most) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

CUresult sim_grid_check(const struct sim_grid *grid, const struct sim_grid_limits *limits) {
    if (!is_within(grid->grid, most_blocks) || !is_within(grid->block, most_threads) ||
        threads_of(grid) > limits->threads || grid->shared > limits->shared)
        return CUDA_ERROR_INVALID_VALUE;
    if (grid->is_cooperative && !runs_at_a_time(grid, limits->multiprocessors))
        return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
    return check_cluster(grid, limits->cluster);
}

CUresult sim_grid_shared_for(int blocks, uint64_t threads, size_t *shared) {
    if (blocks <= 0 || blocks > sim_grid_blocks(threads, 0))
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t each = MULTIPROCESSOR_SHARED / (uint64_t)blocks - BLOCK_OVERHEAD;
    *shared = (size_t)sp_min(sp_round_down(each, SHARED_UNIT), SIM_GRID_SHARED_MOST);
    return CUDA_SUCCESS;
}
