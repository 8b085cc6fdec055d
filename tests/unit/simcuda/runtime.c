// A program of the CUDA runtime that copies there and back, and says which call failed.
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define DO(call)                                                                                   \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            printf("%s: %s\n", #call, cudaGetErrorName(error));                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

int main(void) {
    cudaStream_t stream;
    cudaEvent_t event;
    void *memory, *host;
    DO(cudaMalloc(&memory, 1 << 20));
    DO(cudaMallocHost(&host, 1 << 20));
    DO(cudaStreamCreate(&stream));
    DO(cudaEventCreate(&event));
    DO(cudaMemsetAsync(memory, 7, 1 << 20, stream));
    DO(cudaMemcpyAsync(host, memory, 1 << 20, cudaMemcpyDeviceToHost, stream));
    DO(cudaEventRecord(event, stream));
    DO(cudaEventSynchronize(event));
    return ((const char *)host)[100] == 7 ? 0 : 2;
}
