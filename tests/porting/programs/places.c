// Pools by the place of their memory, as CUDA 13.0 names them. streampool/cuda_compat.h has pools
// of devices alone and refuses the others, so this is for that header alone.
#include <streampool/streampool.h>

#include "check.h"

#if CUDART_VERSION >= 13000
static void print(const char *what, cudaError_t error) {
    printf("%s: %s: %s\n", what, cudaGetErrorName(error), poolGetLastErrorDetail());
    require(cudaGetLastError() == error && cudaGetLastError() == cudaSuccess, "  as last error");
}

int main(void) {
    const enum cudaMemAllocationType pinned = cudaMemAllocationTypePinned;
    struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
    struct cudaMemLocation host = {cudaMemLocationTypeHost, 0};
    cudaMemPool_t of_device = NULL;
    cudaMemPool_t pool = NULL;
    need_pools();
    CHECK(cudaDeviceGetDefaultMemPool(&of_device, 0));
    CHECK(cudaMemGetDefaultMemPool(&pool, &device, pinned));
    require(pool == of_device, "a device's default pool");
    CHECK(cudaMemSetMemPool(&device, pinned, of_device));
    CHECK(cudaMemGetMemPool(&pool, &device, pinned));
    require(pool == of_device, "a device's current pool");
    print("the host's default pool", cudaMemGetDefaultMemPool(&pool, &host, pinned));
    print("the host's current pool", cudaMemGetMemPool(&pool, &host, pinned));
    print("a pool for the host", cudaMemSetMemPool(&host, pinned, of_device));
    print("a pool of managed memory",
          cudaMemGetMemPool(&pool, &device, cudaMemAllocationTypeManaged));
    print("a pool of no place", cudaMemGetMemPool(&pool, NULL, pinned));
    return 0;
}
#else
int main(void) {
    puts("skipped: this toolkit is older than CUDA 13.0");
    return 77;
}
#endif
