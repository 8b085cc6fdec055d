// A loop that allocates, works and frees in a stream's order. Its pool keeps the memory at each
// synchronise, by the release threshold, and gives it back when it is trimmed.
#include <stdint.h>

#include "check.h"

enum { ROUNDS = 10, BYTES = 8 << 20 };

static unsigned char *result;

static void work(cudaStream_t stream, int round) {
    void *first = NULL;
    void *second = NULL;
    CHECK(cudaMallocAsync(&first, BYTES, stream));
    CHECK(cudaMallocAsync(&second, BYTES, stream));
    CHECK(cudaMemsetAsync(first, round + 1, BYTES, stream));
    CHECK(cudaMemcpyAsync(second, first, BYTES, cudaMemcpyDeviceToDevice, stream));
    CHECK(cudaFreeAsync(first, stream));
    CHECK(cudaMemcpyAsync(result, second, BYTES, cudaMemcpyDeviceToHost, stream));
    CHECK(cudaFreeAsync(second, stream));
}

static int wrong_bytes(int round) {
    int wrong = 0;
    for (int i = 0; i < BYTES; i++)
        wrong += result[i] != round + 1;
    return wrong;
}

static unsigned long long figure(cudaMemPool_t pool, enum cudaMemPoolAttr attribute) {
    uint64_t value = 0;
    CHECK(cudaMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

int main(void) {
    cudaStream_t stream;
    cudaMemPool_t pool = NULL;
    uint64_t keep = UINT64_MAX;
    int wrong = 0;
    unsigned long long after_first = 0;
    need_pools();
    result = (unsigned char *)malloc(BYTES);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    for (int round = 0; round < ROUNDS; round++) {
        work(stream, round);
        CHECK(cudaStreamSynchronize(stream));
        wrong += wrong_bytes(round);
        if (round == 0)
            after_first = figure(pool, cudaMemPoolAttrReservedMemCurrent);
    }
    printf("wrong bytes: %d\n", wrong);
    printf("used: %llu\n", figure(pool, cudaMemPoolAttrUsedMemCurrent));
    printf("used at most: %llu\n", figure(pool, cudaMemPoolAttrUsedMemHigh));
    require(after_first >= 2ull * BYTES, "the memory is kept at a synchronise");
    require(figure(pool, cudaMemPoolAttrReservedMemHigh) == after_first,
            "the later rounds take no more");
    CHECK(cudaMemPoolTrimTo(pool, 0));
    printf("reserved once trimmed: %llu\n", figure(pool, cudaMemPoolAttrReservedMemCurrent));
    CHECK(cudaStreamDestroy(stream));
    free(result);
    return wrong != 0;
}
