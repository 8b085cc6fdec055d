// The reader of fatbins. A fatbin holds the same kernels several times, as PTX and as cubins of
// several architectures, of which a driver takes the one that suits its device. Here no code runs,
// so all of them are read, and of kernels with the same name the first one counts.
#ifndef STREAMPOOL_SIMCUDA_IMAGE_FATBIN_H
#define STREAMPOOL_SIMCUDA_IMAGE_FATBIN_H

#include "driver/abi.h"
#include "simcuda/image/image.h"

// Says whether bytes begin as a fatbin does.
bool sim_image_fatbin_is(const void *bytes, size_t size);

// Adds the kernels of all parts that can be read. INVALID_IMAGE when the fatbin or all of its parts
// are damaged, NO_BINARY_FOR_GPU when it has none; then it says on standard error if the reason is
// that they are compressed in a way that isn't known here.
CUresult sim_image_fatbin_read(struct sim_image *image, const void *bytes, size_t size);

#endif
