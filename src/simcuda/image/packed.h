// Compressed parts of a fatbin: blocks of LZ4, as `nvcc --compress-mode=speed` writes and all nvcc
// before CUDA 12.8 did, and frames of Zstandard, which newer ones write. For these the system's
// libzstd.so.1 is loaded, if there is one.
#ifndef STREAMPOOL_SIMCUDA_IMAGE_PACKED_H
#define STREAMPOOL_SIMCUDA_IMAGE_PACKED_H

#include <stdbool.h>
#include <stddef.h>

enum sim_packing { SIM_PACKING_NONE, SIM_PACKING_LZ4, SIM_PACKING_ZSTD };

// Returns whether parts packed so can be unpacked here.
bool sim_image_packed_is_known(enum sim_packing packing);

// Unpacks a part to exactly `to_size` bytes. False when it isn't packed so, or is damaged.
bool sim_image_packed_unpack(enum sim_packing packing, const void *from, size_t from_size, void *to,
                             size_t to_size);

#endif
