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
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, 0, SP_OTHER_CALL, (CUcontext *context, CUdevice device)) \
    X(cuCtxSetCurrent, cuCtxSetCurrent, 4000, 0, SP_OTHER_CALL, (CUcontext context)) \
    X(cuCtxGetCurrent, cuCtxGetCurrent, 4000, 0, SP_OTHER_CALL, (CUcontext *context)) \
    X(cuStreamCreate, cuStreamCreate, 2000, 0, SP_OTHER_CALL, (CUstream *stream, unsigned int flags)) \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010, 0, SP_OTHER_CALL, (CUstream stream, CUstreamCaptureMode mode)) \
    X(cuStreamEndCapture, cuStreamEndCapture, 10000, 0, SP_OTHER_CALL, (CUstream stream, CUgraph *graph)) \
    X(cuGraphDestroy, cuGraphDestroy, 10000, 0, SP_OTHER_CALL, (CUgraph graph)) \
    X(cuEventCreate, cuEventCreate, 2000, 0, SP_OTHER_CALL, (CUevent *event, unsigned int flags)) \
    X(cuMemAlloc, cuMemAlloc_v2, 3020, 0, SP_OTHER_CALL, (CUdeviceptr *address, size_t size)) \
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
