// Kernels allocate and free: threads build lists of as many nodes as they need.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <new>
#include <streampool/heap.cuh>
#include <streampool/heap.h>

static void check(int error, const char *call) {
    if (error == 0)
        return;
    std::fprintf(stderr, "%s: error %d: %s\n", call, error, poolGetLastErrorDetail());
    std::exit(1);
}
#define CHECK(call) check(call, #call)

struct node {
    node *next;
    int number;
};

static __device__ node *lists[100000];
static __managed__ unsigned sum;

// Thread i makes a list of i % 100 nodes.
__global__ void build(pool_heap heap) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    node *first = nullptr;
    for (int number = 0; number < i % 100; number++)
        if (void *block = pool_heap_malloc(heap, sizeof(node)))
            first = new (block) node{first, number};
    lists[i] = first;
}

// Other threads of a later kernel sum up the numbers and free the nodes.
__global__ void consume(pool_heap heap) {
    int i = gridDim.x * blockDim.x - 1 - (blockIdx.x * blockDim.x + threadIdx.x);
    for (node *next, *each = lists[i]; each; each = next) {
        next = each->next;
        atomicAdd(&sum, each->number);
        pool_heap_free(heap, each);
    }
}

int main() {
    poolMemPool_t pool;
    poolHeap_t heap;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream)); // makes the context, too
    CHECK(poolDeviceGetDefaultMemPool(&pool, 0));
    CHECK(poolHeapCreate(&heap, pool, size_t(1) << 30)); // 1 GiB at most, an eighth at first
    build<<<1000, 100, 0, stream>>>(poolHeapDevice(heap));
    consume<<<1000, 100, 0, stream>>>(poolHeapDevice(heap));
    CHECK(poolHeapMaintain(heap, stream));    // grows it if it is nearly full
    CHECK(poolHeapTrim(heap, &stream, 1));    // what is free goes back to the pool
    CHECK(poolHeapDestroy(heap, &stream, 1)); // behind what the stream has to do
    CHECK(cudaStreamSynchronize(stream));
    std::printf("the numbers sum up to %u\n", sum);
    return sum == 161700000 ? 0 : 1;
}
