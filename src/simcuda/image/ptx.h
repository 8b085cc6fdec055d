// The reader of PTX text: the entries outside of all braces, their parameters, and the largest
// block that they are compiled for.
#ifndef STREAMPOOL_SIMCUDA_IMAGE_PTX_H
#define STREAMPOOL_SIMCUDA_IMAGE_PTX_H

#include "driver/abi.h"
#include "simcuda/image/image.h"

// Adds the entries of a text, which ends at its first null byte or after `size` bytes.
// INVALID_IMAGE when it is no PTX, INVALID_PTX when an entry can't be understood; entries before it
// may have been added.
CUresult sim_image_ptx_read(struct sim_image *image, const char *text, size_t size);

#endif
