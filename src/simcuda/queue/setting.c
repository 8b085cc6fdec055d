#include "simcuda/queue/setting.h"

#include <stdint.h>

#define LIMITS_KNOWN 10

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

// The values of a new context, as an H200 has them, and the largest ones. A limit with the range 0
// isn't supported: kernels of this device can't wait for kernels that they launch.
static const struct {
    size_t initial;
    size_t largest;
} limits[SIM_LIMITS] = {
    [CU_LIMIT_STACK_SIZE] = {KIB, 512 * KIB},
    [CU_LIMIT_PRINTF_FIFO_SIZE] = {33 * MIB / 4, SIZE_MAX},
    [CU_LIMIT_MALLOC_HEAP_SIZE] = {8 * MIB, SIZE_MAX},
    [CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH] = {0, 0},
    [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = {2048, SIZE_MAX},
    [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = {64, 128},
    [CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = {11520 * KIB, SIZE_MAX},
};

void sim_settings_begin(struct sim_settings *settings, unsigned flags) {
    *settings = (struct sim_settings){.flags = flags};
    for (size_t i = 0; i < SIM_LIMITS; i++)
        settings->limits[i] = limits[i].initial;
}

bool sim_settings_flags_are_valid(unsigned flags) {
    unsigned wait = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && !(wait & (wait - 1));
}

// As an H200 answers: limits of CUDA 13.0 that the device doesn't have, and no limits at all.
static CUresult check(CUlimit limit) {
    if ((unsigned)limit >= LIMITS_KNOWN)
        return CUDA_ERROR_INVALID_VALUE;
    bool is_supported = (unsigned)limit < SIM_LIMITS && limits[limit].largest > 0;
    return is_supported ? CUDA_SUCCESS : CUDA_ERROR_UNSUPPORTED_LIMIT;
}

CUresult sim_settings_get_limit(const struct sim_settings *settings, CUlimit limit, size_t *value) {
    // Only a context that shares the device with graphics has such memory, but an H200 tells it of
    // every one.
    bool is_of_graphics = limit == CU_LIMIT_SHMEM_SIZE;
    CUresult result = is_of_graphics ? CUDA_SUCCESS : check(limit);
    if (result == CUDA_SUCCESS)
        *value = is_of_graphics ? 0 : settings->limits[limit];
    return result;
}

CUresult sim_settings_set_limit(struct sim_settings *settings, CUlimit limit, size_t value) {
    CUresult result = check(limit);
    if (result == CUDA_SUCCESS && value > limits[limit].largest)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    settings->limits[limit] = value;
    return CUDA_SUCCESS;
}
