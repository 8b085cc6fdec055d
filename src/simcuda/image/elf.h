// The reader of cubins, which are ELF files for 64 bits. A kernel is a function symbol with the
// mark of an entry; the attributes of the section ".nv.info.NAME" tell its parameters.
#ifndef STREAMPOOL_SIMCUDA_IMAGE_ELF_H
#define STREAMPOOL_SIMCUDA_IMAGE_ELF_H

#include "driver/abi.h"
#include "simcuda/image/image.h"

// Says whether bytes begin as an ELF file does.
bool sim_image_elf_is(const void *bytes, size_t size);

// Adds the kernels of a cubin. INVALID_IMAGE when it is none; kernels may have been added then.
CUresult sim_image_elf_read(struct sim_image *image, const void *bytes, size_t size);

#endif
