// Pools by the place of their memory, as CUDA 13.0 names them: those of a device, of the host and
// of one of its NUMA nodes, and of managed memory.
#include <string.h>

#include "check.h"

#if CUDART_VERSION >= 13000
enum { BYTES = 1 << 20, VALUE = 42 };

static const enum cudaMemAllocationType pinned = cudaMemAllocationTypePinned;
static const enum cudaMemAllocationType managed = cudaMemAllocationTypeManaged;
static struct cudaMemLocation device = {cudaMemLocationTypeDevice, 0};
static struct cudaMemLocation host = {cudaMemLocationTypeHost, 0};

static void find_defaults(void) {
    struct cudaMemLocation nowhere = {cudaMemLocationTypeInvalid, 0};
    struct cudaMemLocation missing = {cudaMemLocationTypeHostNuma, 99};
    struct cudaMemLocation current = {cudaMemLocationTypeHostNumaCurrent, 0};
    cudaMemPool_t of_device = NULL, of_host = NULL, pool = NULL;
    CHECK(cudaDeviceGetDefaultMemPool(&of_device, 0));
    CHECK(cudaMemGetDefaultMemPool(&pool, &device, pinned));
    require(pool == of_device, "a device's default pool");
    CHECK(cudaMemSetMemPool(&device, pinned, of_device));
    CHECK(cudaMemGetMemPool(&pool, &device, pinned));
    require(pool == of_device, "a device's current pool");
    CHECK(cudaMemGetDefaultMemPool(&of_host, &host, pinned));
    CHECK(cudaMemGetMemPool(&pool, &host, pinned));
    require(of_host != of_device && pool == of_host, "the host's default pool is its current one");
    cudaError_t error = cudaMemGetDefaultMemPool(&pool, &device, managed);
    require(error == cudaErrorNotSupported || (error == cudaSuccess && pool != of_device),
            "that of managed memory is another, if there is one");
    error = cudaMemGetDefaultMemPool(&pool, &nowhere, pinned);
    require(error == cudaErrorInvalidValue, "pinned memory is somewhere");
    error = cudaMemGetDefaultMemPool(&pool, &missing, pinned);
    require(error == cudaErrorInvalidValue, "a node that is missing has none");
    error = cudaMemGetDefaultMemPool(&pool, &current, pinned);
    require(error == cudaErrorNotSupported, "the current node has none");
    error = cudaMemSetMemPool(&host, pinned, of_device);
    require(error == cudaErrorInvalidValue, "a pool of a device is none for the host");
}

static cudaMemPool_t create(enum cudaMemLocationType type) {
    struct cudaMemPoolProps props;
    cudaMemPool_t pool = NULL;
    memset(&props, 0, sizeof props);
    props.allocType = pinned;
    props.location.type = type;
    CHECK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static enum cudaMemAccessFlags access_of(cudaMemPool_t pool, struct cudaMemLocation *location) {
    enum cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
    CHECK(cudaMemPoolGetAccess(&flags, pool, location));
    return flags;
}

// The host writes to memory of the pool, which is copied to the device and back.
static void use(cudaMemPool_t pool) {
    struct cudaMemAccessDesc desc = {{cudaMemLocationTypeDevice, 0},
                                     cudaMemAccessFlagsProtReadWrite};
    static unsigned char copy[BYTES];
    unsigned char *block = NULL;
    void *on_device = NULL;
    require(access_of(pool, &host) == cudaMemAccessFlagsProtReadWrite, "the host has access");
    require(access_of(pool, &device) == cudaMemAccessFlagsProtNone, "the device has none at first");
    CHECK(cudaMemPoolSetAccess(pool, &desc, 1));
    require(access_of(pool, &device) == cudaMemAccessFlagsProtReadWrite, "the device has it now");
    CHECK(cudaMallocFromPoolAsync((void **)&block, BYTES, pool, NULL));
    CHECK(cudaMalloc(&on_device, BYTES));
    CHECK(cudaStreamSynchronize(NULL));
    memset(block, VALUE, BYTES);
    CHECK(cudaMemcpyAsync(on_device, block, BYTES, cudaMemcpyHostToDevice, NULL));
    CHECK(cudaFreeAsync(block, NULL));
    CHECK(cudaMemcpyAsync(copy, on_device, BYTES, cudaMemcpyDeviceToHost, NULL));
    CHECK(cudaStreamSynchronize(NULL));
    require(copy[0] == VALUE && copy[BYTES - 1] == VALUE, "the bytes came to the device");
    CHECK(cudaFree(on_device));
}

int main(void) {
    cudaMemPool_t before = NULL, pool = NULL;
    need_pools();
    find_defaults();
    CHECK(cudaMemGetMemPool(&before, &host, pinned));
    cudaMemPool_t of_host = create(cudaMemLocationTypeHost);
    use(of_host);
    CHECK(cudaMemSetMemPool(&host, pinned, of_host));
    CHECK(cudaMemGetMemPool(&pool, &host, pinned));
    require(pool == of_host, "a pool is the host's current one");
    CHECK(cudaMemSetMemPool(&host, pinned, before));
    CHECK(cudaMemGetMemPool(&pool, &host, pinned));
    require(pool == before, "the default pool is it again");
    CHECK(cudaMemPoolDestroy(of_host));
    cudaMemPool_t of_node = create(cudaMemLocationTypeHostNuma);
    use(of_node);
    CHECK(cudaMemPoolDestroy(of_node));
    return 0;
}
#else
int main(void) {
    puts("skipped: this toolkit is older than CUDA 13.0");
    return 77;
}
#endif
