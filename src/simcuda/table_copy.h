// Copies, sets, pinned memory and what a stream does to a word of memory: entry points of a part of
// table.h.
#ifndef STREAMPOOL_SIMCUDA_TABLE_COPY_H
#define STREAMPOOL_SIMCUDA_TABLE_COPY_H

// clang-format off
#define SIM_TABLE_COPY(X) \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020, (CUdeviceptr to, const void *from, size_t size, CUstream stream)) \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, (void *to, CUdeviceptr from, size_t size, CUstream stream))
// clang-format on

#endif
