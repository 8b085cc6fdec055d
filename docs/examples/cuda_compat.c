// A program that uses CUDA's own pools. It knows nothing of streampool: two options of the
// compiler, -include streampool/cuda_compat.h and -lstreampool, make it use the pools of
// streampool.
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 10, BYTES = 8 << 20, VALUE = 7 };

static void check(cudaError_t error, const char *call) {
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}

#define CHECK(call) check(call, #call)

static void work(void *on_host, cudaStream_t stream) {
    void *block = NULL;
    CHECK(cudaMallocAsync(&block, BYTES, stream));
    CHECK(cudaMemsetAsync(block, VALUE, BYTES, stream));
    CHECK(cudaMemcpyAsync(on_host, block, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(block, stream));
    CHECK(cudaStreamSynchronize(stream));
}

int main(void) {
    unsigned char *on_host = (unsigned char *)malloc(BYTES);
    unsigned long long keep = ~0ull, used = 0;
    cudaStream_t stream;
    cudaMemPool_t pool;
    int right = 0;
    CHECK(cudaSetDevice(0));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    for (int i = 0; i < ROUNDS; i++)
        work(on_host, stream);
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &used));
    CHECK(cudaStreamDestroy(stream));

    for (int i = 0; i < BYTES; i++)
        right += on_host[i] == VALUE;
    printf("%d of %d bytes are as written, %llu MiB were used at most\n", right, BYTES, used >> 20);
    free(on_host);
    return right == BYTES ? 0 : 1;
}
