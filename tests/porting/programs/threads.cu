// Threads that each work on a default stream of their own: built with --default-stream per-thread,
// where stream 0 is the calling thread's.
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"

static const int count = 4;
static const int rounds = 50;
static const int length = 100000;

__global__ void fill(int *vector, int size, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x)
        vector[i] = value;
}

static std::atomic<int> wrong{0};

static void work(int number) {
    std::vector<int> copy(length);
    CHECK(cudaSetDevice(0));
    for (int round = 0; round < rounds; round++) {
        int *vector = nullptr;
        int value = number * rounds + round;
        CHECK(cudaMallocAsync((void **)&vector, length * sizeof *vector, 0));
        fill<<<32, 256>>>(vector, length, value);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(copy.data(), vector, length * sizeof *vector, cudaMemcpyDeviceToHost,
                              0));
        CHECK(cudaFreeAsync(vector, 0));
        CHECK(cudaStreamSynchronize(0));
        for (int i = 0; i < length; i++)
            wrong += copy[i] != value;
    }
}

int main() {
    std::vector<std::thread> threads;
    need_pools();
    for (int number = 0; number < count; number++)
        threads.emplace_back(work, number);
    for (std::thread &thread : threads)
        thread.join();
    printf("wrong numbers of %d threads: %d\n", count, wrong.load());
    CHECK(cudaDeviceSynchronize());
    return wrong != 0;
}
