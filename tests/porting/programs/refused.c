// What streampool/cuda_compat.h refuses: sharing with other processes. With CUDA's own pools some
// of it succeeds, so this is for that header alone.
#include <streampool/streampool.h>
#include <string.h>

#include "check.h"

static void print(const char *what, cudaError_t error) {
    printf("%s: %s: %s\n", what, cudaGetErrorName(error), poolGetLastErrorDetail());
    require(cudaGetLastError() == error && cudaGetLastError() == cudaSuccess, "  as last error");
}

static int attribute(enum cudaDeviceAttr attr) {
    int value = -1;
    CHECK(cudaDeviceGetAttribute(&value, attr, 0));
    return value;
}

static cudaMemPool_t exportable(void) {
    struct cudaMemPoolProps props;
    cudaMemPool_t pool = NULL;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static void share(void) {
    const enum cudaMemAllocationHandleType type = cudaMemHandleTypePosixFileDescriptor;
    struct cudaMemPoolPtrExportData data;
    void *block = NULL;
    int file = -1;
    cudaMemPool_t pool = exportable();
    CHECK(cudaMallocFromPoolAsync(&block, 1 << 20, pool, NULL));
    memset(&data, 0, sizeof data);
    print("export a pool", cudaMemPoolExportToShareableHandle(&file, pool, type, 0));
    print("export a pointer", cudaMemPoolExportPointer(&data, block));
    print("import a pool", cudaMemPoolImportFromShareableHandle(&pool, &file, type, 0));
    print("import a pointer", cudaMemPoolImportPointer(&block, pool, &data));
    CHECK(cudaFreeAsync(block, NULL));
    CHECK(cudaMemPoolDestroy(pool));
}

// The attributes of pools of the host stand here by their numbers, as older toolkits lack the
// names.
int main(void) {
    need_pools();
    printf("pools: %d\n", attribute(cudaDevAttrMemoryPoolsSupported));
    printf("kinds of handle: %d\n", attribute(cudaDevAttrMemoryPoolSupportedHandleTypes));
    printf("pools of NUMA nodes: %d\n", attribute((enum cudaDeviceAttr)142));
    printf("pools of the host: %d\n", attribute((enum cudaDeviceAttr)144));
    share();
    return 0;
}
