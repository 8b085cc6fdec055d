// A libcuda.so.1 that ends each process which loads it: as good as a real driver that nobody may
// touch. A program is linked with its functions.
#include "driver/abi.h"

#include <stdio.h>
#include <stdlib.h>

#define EXPORT(name)                                                                               \
    __attribute__((visibility("default"))) CUresult name(void);                                    \
    CUresult name(void) {                                                                          \
        abort();                                                                                   \
    }
EXPORT(cuInit)
EXPORT(cuDevicePrimaryCtxRetain)
EXPORT(cuCtxSetCurrent)
EXPORT(cuMemAllocAsync)
EXPORT(cuMemFreeAsync)
EXPORT(cuStreamCreate)
EXPORT(cuStreamSynchronize)

__attribute__((constructor)) static void begin(void) {
    fputs("the real driver was touched\n", stderr);
    abort();
}
