// A library that calls the driver while the process starts, before the driver's own library is
// ready.
#include "driver/abi.h"

#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT CUresult early_result(void);

static CUresult result = CUDA_ERROR_UNKNOWN;

CUresult early_result(void) {
    return result;
}

__attribute__((constructor)) static void call_early(void) {
    CUresult (*clamp)(void *, float, float) = 0;
    *(void **)&clamp = dlsym(RTLD_DEFAULT, "cuTexRefSetMipmapLevelClamp");
    if (clamp)
        result = clamp((void *)1, 0.5F, 12.25F);
}
