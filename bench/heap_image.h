// The kernels of heap_kernels.cu as PTX, which the build embeds where there is nvcc.
#ifndef STREAMPOOL_BENCH_HEAP_IMAGE_H
#define STREAMPOOL_BENCH_HEAP_IMAGE_H

extern const char sp_bench_heap_image[]; // a string

#endif
