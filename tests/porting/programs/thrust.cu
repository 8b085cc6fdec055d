// A library of headers in the same file: what Thrust and CUB allocate, free and synchronise by is
// compiled with the program.
#include <cub/util_allocator.cuh>
#include <thrust/device_vector.h>
#include <thrust/sequence.h>

#include "check.h"

int main() {
    need_pools();
    thrust::device_vector<int> numbers(1000);
    thrust::sequence(numbers.begin(), numbers.end());
    printf("last number: %d\n", (int)numbers.back());

    cub::CachingDeviceAllocator allocator;
    void *memory = nullptr;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(allocator.DeviceAllocate(&memory, 1 << 20, stream));
    CHECK(allocator.DeviceFree(memory));
    CHECK(cudaStreamDestroy(stream));
    CHECK(cudaDeviceSynchronize());
    printf("last error: %d\n", (int)cudaGetLastError());
    return 0;
}
