// The driver's calls, found by one of the ways in which programs find them:
//
//   linked    the program is linked with libcuda.so.1 (its own build, with WAY_LINKED)
//   dlsym     dlopen and dlsym, by the exported names
//   ask1      dlsym of cuGetProcAddress, which is then asked (the form of CUDA 11.3)
//   ask2      dlsym of cuGetProcAddress_v2, which is then asked (the form of CUDA 12.0)
//   runtime   as the CUDA runtime does: everything of a list is asked for at once
#ifndef DROPIN_WAYS_H
#define DROPIN_WAYS_H

#include "dropin/table.h"

// Calls that programs make beside those of the drop-in's table, in the same form.
// clang-format off
#define OTHER_CALLS(X) \
    X(cuInit, cuInit, 2000, 0, SP_OTHER_CALL, (unsigned int flags)) \
    X(cuDriverGetVersion, cuDriverGetVersion, 2020, 0, SP_OTHER_CALL, (int *version)) \
    X(cuCtxGetCurrent, cuCtxGetCurrent, 4000, 0, SP_OTHER_CALL, (CUcontext *context)) \
    X(cuCtxCreate, cuCtxCreate_v2, 3020, 0, SP_OTHER_CALL, (CUcontext *context, unsigned int flags, CUdevice device)) \
    X(cuCtxSetCurrent, cuCtxSetCurrent, 4000, 0, SP_OTHER_CALL, (CUcontext context)) \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000, 0, SP_OTHER_CALL, (CUcontext *context)) \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000, 0, SP_OTHER_CALL, (CUcontext context)) \
    X(cuDeviceGetCount, cuDeviceGetCount, 2000, 0, SP_OTHER_CALL, (int *count)) \
    X(cuGraphDestroy, cuGraphDestroy, 10000, 0, SP_OTHER_CALL, (CUgraph graph)) \
    X(cuEventCreate, cuEventCreate, 2000, 0, SP_OTHER_CALL, (CUevent *event, unsigned int flags)) \
    X(cuMemAddressReserve, cuMemAddressReserve, 10020, 0, SP_OTHER_CALL, (CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags)) \
    X(cuMemMap, cuMemMap, 10020, 0, SP_OTHER_CALL, (CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)) \
    X(cuMemRelease, cuMemRelease, 10020, 0, SP_OTHER_CALL, (CUmemGenericAllocationHandle handle)) \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync_v2, 12020, 0, SP_OTHER_CALL, (CUdeviceptr address, size_t size, CUmemLocation location, unsigned int flags, CUstream stream)) \
    X(cuMemAdvise, cuMemAdvise_v2, 12020, 0, SP_OTHER_CALL, (CUdeviceptr address, size_t size, CUmem_advise advice, CUmemLocation location)) \
    X(cuMemGetInfo, cuMemGetInfo_v2, 3020, 0, SP_OTHER_CALL, (size_t *free, size_t *total)) \
    X(cuCtxGetFlags, cuCtxGetFlags, 7000, 0, SP_OTHER_CALL, (unsigned int *flags)) \
    X(cuCtxSetFlags, cuCtxSetFlags, 12010, 0, SP_OTHER_CALL, (unsigned int flags)) \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020, 0, SP_OTHER_CALL, (void *to, CUdeviceptr from, size_t size)) \
    X(cuMemsetD8Async, cuMemsetD8Async, 3020, 0, SP_OTHER_CALL, (CUdeviceptr address, unsigned char value, size_t count, CUstream stream))
// clang-format on

#define ALL_CALLS(X) SP_DROPIN_TABLE(X) OTHER_CALLS(X)

struct calls {
#define FIELD(name, symbol, version, flags, kind, parameters) CUresult(*symbol) parameters;
    ALL_CALLS(FIELD)
#undef FIELD
};

// Null where the driver has none.
extern struct calls cu;

// Fills `cu`. `list` is the list of the way `runtime`: a name, a version and flags in each line.
void find_calls(const char *way, const char *list);

#endif
