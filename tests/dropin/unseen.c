// A library that is linked with the driver. Loaded with RTLD_DEEPBIND it calls the driver directly.
#include "driver/abi.h"

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream);

__attribute__((visibility("default"))) void allocate_unseen(void);

void allocate_unseen(void) {
    CUdeviceptr address;
    cuMemAllocAsync(&address, 1024, 0);
}
