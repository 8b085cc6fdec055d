// A pool of the program's own: its properties, who may access its memory, how it becomes the one
// that a device allocates from, and its end.
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { BYTES = 4 << 20 };

static cudaMemPool_t create(size_t max_size) {
    struct cudaMemPoolProps props;
    cudaMemPool_t pool = NULL;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypeNone;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
#if CUDART_VERSION >= 12030
    props.maxSize = max_size;
#else
    (void)max_size;
#endif
    CHECK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static enum cudaMemAccessFlags access_of(cudaMemPool_t pool, int device) {
    struct cudaMemLocation location;
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    location.type = cudaMemLocationTypeDevice;
    location.id = device;
    CHECK(cudaMemPoolGetAccess(&flags, pool, &location));
    return flags;
}

// Lets each other device that can reach device 0 use the pool's memory.
static int give_access(cudaMemPool_t pool) {
    int devices = 0;
    int as_asked = 1;
    CHECK(cudaGetDeviceCount(&devices));
    for (int device = 1; device < devices; device++) {
        struct cudaMemAccessDesc desc;
        int can = 0;
        CHECK(cudaDeviceCanAccessPeer(&can, device, 0));
        if (!can)
            continue;
        memset(&desc, 0, sizeof desc);
        desc.location.type = cudaMemLocationTypeDevice;
        desc.location.id = device;
        desc.flags = cudaMemAccessFlagsProtReadWrite;
        as_asked = as_asked && access_of(pool, device) == cudaMemAccessFlagsProtNone;
        CHECK(cudaMemPoolSetAccess(pool, &desc, 1));
        as_asked = as_asked && access_of(pool, device) == cudaMemAccessFlagsProtReadWrite;
    }
    return as_asked;
}

static uint64_t used(cudaMemPool_t pool) {
    uint64_t bytes = 0;
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &bytes));
    return bytes;
}

int main(void) {
    cudaMemPool_t current = NULL;
    cudaMemPool_t standard = NULL;
    cudaStream_t stream;
    void *named = NULL;
    void *implied = NULL;
    void *from_runtime = NULL;
    need_pools();
    cudaMemPool_t pool = create((size_t)64 << 20);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceGetDefaultMemPool(&standard, 0));
    CHECK(cudaDeviceGetMemPool(&current, 0));
    require(current == standard, "a device begins with its default pool");
    require(access_of(pool, 0) == cudaMemAccessFlagsProtReadWrite, "device 0 uses its memory");
    require(give_access(pool), "other devices may when they are given access");

    CHECK(cudaMallocFromPoolAsync(&named, BYTES, pool, stream));
    CHECK(cudaDeviceSetMemPool(0, pool));
    CHECK(cudaMallocAsync(&implied, BYTES, stream));
    printf("used: %llu\n", (unsigned long long)used(pool));
    CHECK(cudaMalloc(&from_runtime, BYTES));
    CHECK(cudaMemsetAsync(from_runtime, 1, BYTES, stream));
    CHECK(cudaFreeAsync(from_runtime, stream));
    CHECK(cudaFreeAsync(named, stream));
    CHECK(cudaStreamSynchronize(stream));
    printf("used: %llu\n", (unsigned long long)used(pool));
    CHECK(cudaFree(implied));
    CHECK(cudaMalloc(&from_runtime, BYTES));
    CHECK(cudaFree(from_runtime));

    CHECK(cudaMemPoolDestroy(pool));
    CHECK(cudaDeviceGetMemPool(&current, 0));
    require(current == standard, "the default pool is current again");
    CHECK(cudaStreamDestroy(stream));
    return 0;
}
