// Memory that one stream has freed goes to another stream, and the pool says by which rule.
#include "start.h"

enum { BYTES = 32 << 20 };

static const enum poolMemPoolAttr rules[] = {
    poolMemPoolStatReuseSameStream,    poolMemPoolStatReuseComplete,    poolMemPoolStatReuseOrdered,
    poolMemPoolStatReuseFoundComplete, poolMemPoolStatReuseMadeOrdered, poolMemPoolStatGrowths,
};
enum { RULES = sizeof rules / sizeof *rules };

// Each allocation counts once: under the rule by which it got its memory, or as a growth.
static void *allocate(poolMemPool_t pool, CUstream stream, const char *when) {
    uint64_t before[RULES];
    void *block;
    for (int i = 0; i < RULES; i++)
        before[i] = figure(pool, rules[i]);
    CHECK(poolMallocFromPoolAsync(&block, BYTES, pool, stream));
    for (int i = 0; i < RULES; i++)
        if (figure(pool, rules[i]) > before[i])
            printf("%-45s %s\n", when, poolMemPoolGetStatisticName(rules[i]));
    CHECK(cuMemsetD8Async((CUdeviceptr)block, 1, BYTES, stream));
    return block;
}

int main(void) {
    int on = 1;
    uint64_t keep = UINT64_MAX;
    CUevent event;
    open_device();
    CUstream a = open_stream(CU_STREAM_NON_BLOCKING);
    CUstream b = open_stream(CU_STREAM_NON_BLOCKING);
    poolMemPool_t pool = open_pool();
    // By default b also takes memory that it finds complete. Deterministic turns that off, so this
    // prints the same on every device.
    CHECK(poolMemPoolSetAttribute(pool, poolMemPoolAttrDeterministic, &on));
    CHECK(poolMemPoolSetAttribute(pool, poolMemPoolAttrReleaseThreshold, &keep));
    CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));

    void *first = allocate(pool, a, "a new pool has nothing:");
    CHECK(poolFreeAsync(first, a));
    first = allocate(pool, a, "a takes what it has freed:");
    CHECK(poolFreeAsync(first, a));
    void *second = allocate(pool, b, "b can't take it, as a may still use it:");
    CHECK(poolEventRecord(event, a));
    CHECK(poolStreamWaitEvent(b, event, 0)); // b's work from here on runs after a's free
    void *third = allocate(pool, b, "b takes it after an event of a's:");
    CHECK(poolFreeAsync(second, b));
    CHECK(poolFreeAsync(third, b));
    CHECK(poolStreamSynchronize(b));
    void *fourth = allocate(pool, a, "a takes b's after a synchronise of b:");
    CHECK(poolFreeAsync(fourth, a));
    printf("b got the memory that a freed: %s\n", third == first ? "yes" : "no");

    CHECK(poolEventDestroy(event));
    CHECK(poolStreamDestroy(a));
    CHECK(poolStreamDestroy(b));
    CHECK(poolMemPoolDestroy(pool));
    return third == first ? 0 : 1;
}
