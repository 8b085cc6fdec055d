#include "stress/cancel_driver.h"

#include <pthread.h>

#include "driver/driver.h"
#include "support/device.h"

static const struct sp_driver *behind;

// X(name, parameters, arguments)
// clang-format off
#define CALLS(X) \
    X(cuMemCreate, (CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags), (handle, size, prop, flags)) \
    X(cuMemMap, (CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags), (address, size, offset, handle, flags)) \
    X(cuMemSetAccess, (CUdeviceptr address, size_t size, const CUmemAccessDesc *desc, size_t count), (address, size, desc, count)) \
    X(cuMemUnmap, (CUdeviceptr address, size_t size), (address, size)) \
    X(cuMemRelease, (CUmemGenericAllocationHandle handle), (handle)) \
    X(cuMemAlloc, (CUdeviceptr *address, size_t size), (address, size)) \
    X(cuMemFree, (CUdeviceptr address), (address)) \
    X(cuMemHostAlloc, (void **memory, size_t size, unsigned int flags), (memory, size, flags)) \
    X(cuMemFreeHost, (void *memory), (memory)) \
    X(cuMemHostRegister, (void *memory, size_t size, unsigned int flags), (memory, size, flags)) \
    X(cuMemHostUnregister, (void *memory), (memory)) \
    X(cuMemGetInfo, (size_t *free, size_t *total), (free, total)) \
    X(cuEventCreate, (CUevent *event, unsigned int flags), (event, flags)) \
    X(cuEventDestroy, (CUevent event), (event)) \
    X(cuEventSynchronize, (CUevent event), (event)) \
    X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned int flags), (stream, event, flags)) \
    X(cuStreamSynchronize, (CUstream stream), (stream)) \
    X(cuStreamDestroy, (CUstream stream), (stream)) \
    X(cuCtxSynchronize, (void), ())
// clang-format on

#define DEFINE(name, parameters, arguments)                                                        \
    static CUresult cancelled_##name parameters {                                                  \
        pthread_testcancel();                                                                      \
        return behind->name arguments;                                                             \
    }
CALLS(DEFINE)

void cancel_driver_install(void) {
    static struct sp_driver driver;
    behind = test_driver();
    driver = *behind;
#define PUT(name, parameters, arguments) driver.name = cancelled_##name;
    CALLS(PUT)
#undef PUT
    sp_driver = &driver;
}
