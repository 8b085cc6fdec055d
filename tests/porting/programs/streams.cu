// Two streams hand buffers on: one makes a vector, the other adds it up and frees it, and an event
// says when the vector is there. The program waits for neither before the end.
#include <vector>

#include "check.h"

static const int length = 1 << 20;
static const int rounds = 20;

__global__ void fill(int *vector, int count, int value) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        vector[i] = value + i % 7;
}

__global__ void add_up(const int *vector, int count, unsigned long long *sum) {
    unsigned long long part = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
        part += vector[i];
    atomicAdd(sum, part);
}

static unsigned long long expected(int value) {
    unsigned long long sum = 0;
    for (int i = 0; i < length; i++)
        sum += value + i % 7;
    return sum;
}

struct pair {
    cudaStream_t maker;
    cudaStream_t adder;
    cudaEvent_t made;
};

static void hand_on(const pair &streams, int value, unsigned long long *sum) {
    int *vector = nullptr;
    CHECK(cudaMallocAsync((void **)&vector, length * sizeof *vector, streams.maker));
    fill<<<64, 256, 0, streams.maker>>>(vector, length, value);
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(streams.made, streams.maker));
    CHECK(cudaStreamWaitEvent(streams.adder, streams.made, 0));
    add_up<<<64, 256, 0, streams.adder>>>(vector, length, sum);
    CHECK(cudaGetLastError());
    CHECK(cudaFreeAsync(vector, streams.adder));
}

int main() {
    pair streams;
    unsigned long long *sums = nullptr;
    std::vector<unsigned long long> found(rounds);
    int wrong = 0;
    need_pools();
    CHECK(cudaStreamCreateWithFlags(&streams.maker, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&streams.adder, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&streams.made, cudaEventDisableTiming));
    CHECK(cudaMallocAsync((void **)&sums, rounds * sizeof *sums, streams.adder));
    CHECK(cudaMemsetAsync(sums, 0, rounds * sizeof *sums, streams.adder));
    for (int round = 0; round < rounds; round++)
        hand_on(streams, round, sums + round);
    CHECK(cudaMemcpyAsync(found.data(), sums, rounds * sizeof *sums, cudaMemcpyDeviceToHost,
                          streams.adder));
    CHECK(cudaFreeAsync(sums, streams.adder));
    CHECK(cudaEventRecord(streams.made, streams.adder));
    CHECK(cudaEventSynchronize(streams.made));
    for (int round = 0; round < rounds; round++)
        wrong += found[round] != expected(round);
    printf("wrong sums: %d of %d\n", wrong, rounds);
    CHECK(cudaEventDestroy(streams.made));
    CHECK(cudaStreamDestroy(streams.maker));
    CHECK(cudaStreamDestroy(streams.adder));
    return wrong != 0;
}
