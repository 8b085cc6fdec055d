// The kernels as PTX, which the driver compiles for its device. The build makes the array
// (embed.cmake).
#ifndef STREAMPOOL_DEVHEAP_IMAGE_H
#define STREAMPOOL_DEVHEAP_IMAGE_H

extern const char sp_heap_image[]; // a string

#endif
