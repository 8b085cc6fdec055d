// When memory that one stream has freed goes to another: the policies of a pool, an event between
// the streams, and a synchronise. Work in the first stream is pending until the program lets it go.
#include <semaphore.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

enum { BYTES = 32 << 20 };

static sem_t go;

static void CUDART_CB hold(void *unused) {
    (void)unused;
    while (sem_wait(&go) != 0)
        ;
}

static void set(cudaMemPool_t pool, enum cudaMemPoolAttr policy, int value) {
    CHECK(cudaMemPoolSetAttribute(pool, policy, &value));
}

static int get(cudaMemPool_t pool, enum cudaMemPoolAttr policy) {
    int value = -1;
    CHECK(cudaMemPoolGetAttribute(pool, policy, &value));
    return value;
}

static void print_policies(cudaMemPool_t pool) {
    printf("event dependencies %d, opportunistic %d, internal dependencies %d\n",
           get(pool, cudaMemPoolReuseFollowEventDependencies),
           get(pool, cudaMemPoolReuseAllowOpportunistic),
           get(pool, cudaMemPoolReuseAllowInternalDependencies));
}

static cudaMemPool_t create(void) {
    struct cudaMemPoolProps props;
    cudaMemPool_t pool = NULL;
    uint64_t keep = UINT64_MAX;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &props));
    CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    print_policies(pool);
    set(pool, cudaMemPoolReuseFollowEventDependencies, 0);
    set(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    set(pool, cudaMemPoolReuseAllowInternalDependencies, 0);
    print_policies(pool);
    return pool;
}

static void *allocate(cudaMemPool_t pool, cudaStream_t stream) {
    void *block = NULL;
    CHECK(cudaMallocFromPoolAsync(&block, BYTES, pool, stream));
    return block;
}

int main(void) {
    cudaStream_t a, b;
    cudaEvent_t event;
    need_pools();
    sem_init(&go, 0, 0);
    cudaMemPool_t pool = create();
    CHECK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));

    set(pool, cudaMemPoolReuseFollowEventDependencies, 1);
    void *block = allocate(pool, a);
    CHECK(cudaLaunchHostFunc(a, hold, NULL));
    CHECK(cudaFreeAsync(block, a));
    require(allocate(pool, a) == block, "the stream that freed it takes it again");
    CHECK(cudaFreeAsync(block, a));
    CHECK(cudaEventRecord(event, a));
    require(cudaStreamQuery(a) == cudaErrorNotReady, "its work is pending");
    require(cudaEventQuery(event) == cudaErrorNotReady, "so is the event behind it");
    void *another = allocate(pool, b);
    require(another != block, "another stream doesn't take it meanwhile");
    CHECK(cudaStreamWaitEvent(b, event, 0));
    void *ordered = allocate(pool, b);
    require(ordered == block, "behind an event it does");
    CHECK(cudaFreeAsync(ordered, b));
    sem_post(&go);

    set(pool, cudaMemPoolReuseFollowEventDependencies, 0);
    CHECK(cudaStreamSynchronize(b));
    void *synchronized = allocate(pool, a);
    require(synchronized == block, "so does any stream behind a synchronise");
    CHECK(cudaFreeAsync(synchronized, a));
    CHECK(cudaFreeAsync(another, b));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventDestroy(event));
    CHECK(cudaStreamDestroy(a));
    CHECK(cudaStreamDestroy(b));
    CHECK(cudaMemPoolDestroy(pool));
    return 0;
}
