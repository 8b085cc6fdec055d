// These functions read an image of any kind from where programs have it: in memory, where nothing
// says how long it is, or in a file.
#ifndef STREAMPOOL_SIMCUDA_IMAGE_LOAD_H
#define STREAMPOOL_SIMCUDA_IMAGE_LOAD_H

#include "driver/abi.h"
#include "simcuda/image/image.h"

// Reads an image of so many bytes. On an error the image is empty. INVALID_IMAGE, INVALID_PTX and
// NO_BINARY_FOR_GPU as the readers say.
CUresult sim_image_load(struct sim_image *image, const void *bytes, size_t size);
// Reads an image at an address, or that to which a wrapper there points, as nvcc puts it into a
// program. Nothing beyond the readable memory that begins there is looked at.
CUresult sim_image_load_memory(struct sim_image *image, const void *address);
// Reads an image in a file. FILE_NOT_FOUND when it can't be read.
CUresult sim_image_load_file(struct sim_image *image, const char *path);

#endif
