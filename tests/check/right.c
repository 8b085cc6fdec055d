// right: a program with no mistake. Three threads, "reader", "worker" and "writer", hand data to
// each other through device memory, in all the ways that order work: in one stream, by events
// between streams, by the default stream, by the host's waits, and by host functions. They use
// memory of cuMemAlloc, of cuMemFreeAsync's order, of streampool's pools and of the virtual memory
// calls, and one of them captures a stream meanwhile.
//
// It checks what it computes, ends with status 0, and prints nothing itself.
#include <pthread.h>
#include <stdbool.h>
#include <streampool/streampool.h>
#include <string.h>

#include "check/driver.h"

enum { ROUNDS = 40, WORDS = 1024, SIZE = WORDS * 4, STREAMS = 3 };

static CUcontext context;
static CUmodule module;

static void check_that(bool is_so, const char *what) {
    if (is_so)
        return;
    fprintf(stderr, "wrong: %s\n", what);
    exit(1);
}

#define CHECK(condition) check_that(condition, #condition)

static CUevent make_event(void) {
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

// What comes in the second stream runs after what is in the first one.
static void order(CUevent event, CUstream first, CUstream second) {
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
}

static void *pool_allocate(size_t size, CUstream stream) {
    void *memory;
    OK(poolMallocAsync(&memory, size, stream));
    return memory;
}

static CUdeviceptr address_of(void *memory) {
    return (CUdeviceptr)memory;
}

// ------------------------------------------------------------------------------------------------
// hand-over

// A place where one thread leaves something for another one: at most one thing at a time.
struct mailbox {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_full;
    struct parcel {
        void *memory;
        uint32_t seed;
        CUevent ready; // recorded behind the work that fills the memory
        CUstream stream;
    } parcel;
};

#define MAILBOX                                                                                    \
    { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER }

static struct mailbox to_worker = MAILBOX, to_writer = MAILBOX;

static void put(struct mailbox *box, struct parcel parcel) {
    pthread_mutex_lock(&box->lock);
    while (box->is_full)
        pthread_cond_wait(&box->changed, &box->lock);
    box->parcel = parcel;
    box->is_full = true;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
}

static struct parcel get(struct mailbox *box) {
    pthread_mutex_lock(&box->lock);
    while (!box->is_full)
        pthread_cond_wait(&box->changed, &box->lock);
    struct parcel parcel = box->parcel;
    box->is_full = false;
    pthread_cond_broadcast(&box->changed);
    pthread_mutex_unlock(&box->lock);
    return parcel;
}

static void begin_thread(const char *name) {
    OK(pthread_setname_np(pthread_self(), name));
    OK(cuCtxSetCurrent(context));
}

// -------------------------------------------------------------------------------------- the reader

// Makes data of its own in memory of a pool, and hands it on without waiting for it.
static void *read_data(void *argument) {
    (void)argument;
    begin_thread("reader");
    CUstream stream = make_stream();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct parcel parcel = {
            .memory = pool_allocate(SIZE, stream), .seed = i, .ready = make_event(), stream};
        fill(module, stream, address_of(parcel.memory), SIZE, i);
        OK(cuEventRecord(parcel.ready, stream));
        put(&to_worker, parcel);
    }
    return stream;
}

// -------------------------------------------------------------------------------------- the worker

struct worker {
    CUstream streams[STREAMS];
    CUevent events[STREAMS];
    CUdeviceptr errors; // of the kernel sp_check
    CUevent done;
};

static void begin_worker(struct worker *worker) {
    for (int i = 0; i < STREAMS; i++) {
        worker->streams[i] = make_stream();
        worker->events[i] = make_event();
    }
    worker->errors = allocate(8);
    worker->done = make_event();
    OK(cuMemsetD8Async(worker->errors, 0, 8, worker->streams[0]));
    for (int i = 1; i < STREAMS; i++)
        order(worker->events[0], worker->streams[0], worker->streams[i]);
}

// All of its streams look at the data at the same time: reads don't race.
static void look_at(struct worker *worker, const struct parcel *parcel) {
    for (int i = 0; i < STREAMS; i++) {
        OK(cuStreamWaitEvent(worker->streams[i], parcel->ready, 0));
        compare(module, worker->streams[i], address_of(parcel->memory), SIZE, parcel->seed,
                worker->errors);
    }
}

// Then one of them writes, behind the others.
static void change(struct worker *worker, struct parcel *parcel) {
    CUstream last = worker->streams[parcel->seed % STREAMS];
    for (int i = 0; i < STREAMS; i++) {
        if (worker->streams[i] != last)
            order(worker->events[i], worker->streams[i], last);
    }
    parcel->seed += 1000;
    fill(module, last, address_of(parcel->memory), SIZE, parcel->seed);
    OK(cuEventRecord(parcel->ready, last));
    parcel->stream = last;
}

// Memory that is freed in the order of a stream, and got again there, in its parts and whole.
static void use_scratch(const struct worker *worker, uint32_t round) {
    CUstream stream = worker->streams[round % STREAMS];
    void *halves[2], *whole = pool_allocate(SIZE, stream);
    fill(module, stream, address_of(whole), SIZE, round);
    OK(poolFreeAsync(whole, stream));
    for (int i = 0; i < 2; i++) {
        halves[i] = pool_allocate(SIZE / 2, stream);
        fill(module, stream, address_of(halves[i]), SIZE / 2, round);
    }
    compare(module, stream, address_of(halves[1]), SIZE / 2, round, worker->errors);
    OK(poolFreeAsync(halves[1], stream));
    OK(poolFreeAsync(halves[0], stream));
}

static void end_worker(struct worker *worker) {
    uint64_t errors = 1;
    for (int i = 0; i < STREAMS; i++) {
        OK(cuStreamSynchronize(worker->streams[i]));
        OK(cuStreamDestroy_v2(worker->streams[i]));
        OK(cuEventDestroy_v2(worker->events[i]));
    }
    OK(cuMemcpyDtoH_v2(&errors, worker->errors, sizeof errors));
    CHECK(errors == 0);
    OK(cuEventDestroy_v2(worker->done));
    OK(cuMemFree_v2(worker->errors));
}

static void *work(void *argument) {
    struct worker worker;
    (void)argument;
    begin_thread("worker");
    begin_worker(&worker);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct parcel parcel = get(&to_worker);
        look_at(&worker, &parcel);
        change(&worker, &parcel);
        use_scratch(&worker, i);
        put(&to_writer, parcel);
    }
    end_worker(&worker);
    return NULL;
}

// -------------------------------------------------------------------------------------- the writer

// Each round fetches the data in another way.
static void fetch_in_own_stream(const struct parcel *parcel, CUstream stream, uint32_t *words) {
    OK(cuStreamWaitEvent(stream, parcel->ready, 0));
    OK(cuMemcpyDtoHAsync_v2(words, address_of(parcel->memory), SIZE, stream));
    OK(cuStreamSynchronize(stream));
    OK(poolFreeAsync(parcel->memory, stream));
}

static void fetch_by_the_hosts_wait(const struct parcel *parcel, uint32_t *words) {
    OK(cuEventSynchronize(parcel->ready));
    OK(cuMemcpyDtoH_v2(words, address_of(parcel->memory), SIZE));
    OK(poolFree(parcel->memory));
}

static void fetch_by_asking(const struct parcel *parcel, uint32_t *words) {
    while (cuEventQuery(parcel->ready) == CUDA_ERROR_NOT_READY)
        continue;
    OK(cuMemcpyDtoH_v2(words, address_of(parcel->memory), SIZE));
    OK(poolFree(parcel->memory));
}

// Two streams read the memory, and it is freed behind both.
static void fetch_by_two_streams(const struct parcel *parcel, CUstream stream, CUstream other,
                                 uint32_t *words) {
    const CUstream both[] = {stream, other};
    for (int i = 0; i < 2; i++) {
        OK(cuStreamWaitEvent(both[i], parcel->ready, 0));
        OK(cuMemcpyDtoHAsync_v2(words + i * WORDS / 2,
                                address_of(parcel->memory) + (CUdeviceptr)i * SIZE / 2, SIZE / 2,
                                both[i]));
    }
    OK(poolFreeAsyncAfter(parcel->memory, both, 2));
    OK(cuStreamSynchronize(stream));
    OK(cuStreamSynchronize(other));
}

static void fetch(const struct parcel *parcel, CUstream stream, CUstream other, uint32_t *words) {
    if (parcel->seed % 4 == 0)
        fetch_in_own_stream(parcel, stream, words);
    else if (parcel->seed % 4 == 1)
        fetch_by_the_hosts_wait(parcel, words);
    else if (parcel->seed % 4 == 2)
        fetch_by_asking(parcel, words);
    else
        fetch_by_two_streams(parcel, stream, other, words);
}

static void *write_data(void *argument) {
    static uint32_t words[WORDS];
    (void)argument;
    begin_thread("writer");
    CUstream stream = make_stream(), other = make_stream();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct parcel parcel = get(&to_writer);
        fetch(&parcel, stream, other, words);
        for (uint32_t j = 0; j < WORDS; j++)
            CHECK(words[j] == parcel.seed + j);
        OK(cuEventDestroy_v2(parcel.ready));
    }
    OK(cuStreamSynchronize(stream));
    OK(cuStreamDestroy_v2(stream));
    OK(cuStreamDestroy_v2(other));
    return NULL;
}

// --------------------------------------------------------------------------------- the main thread

// A capture of two streams, of which nothing runs.
static void capture(void) {
    CUstream a = make_stream(), b = make_stream();
    CUevent fork = make_event(), join = make_event();
    CUdeviceptr memory = allocate(SIZE);
    CUgraph graph;
    OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    fill(module, a, memory, SIZE, 1);
    order(fork, a, b);
    fill(module, b, memory, SIZE, 2);
    order(join, b, a);
    OK(cuMemsetD8Async(memory, 0, SIZE, a));
    OK(cuStreamEndCapture(a, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuEventDestroy_v2(fork));
    OK(cuEventDestroy_v2(join));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuMemFree_v2(memory));
}

// The default stream and blocking streams run after each other by themselves.
static void use_the_default_stream(void) {
    CUstream a, b;
    CUdeviceptr memory = allocate(SIZE);
    uint32_t words[2] = {0};
    OK(cuStreamCreate(&a, CU_STREAM_DEFAULT));
    OK(cuStreamCreate(&b, CU_STREAM_DEFAULT));
    fill(module, a, memory, SIZE, 1);
    fill(module, NULL, memory, SIZE, 2);
    fill(module, b, memory, SIZE, 3);
    OK(cuMemcpyDtoH_v2(words, memory, sizeof words));
    CHECK(words[0] == 3 && words[1] == 4);
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
    OK(cuMemFree_v2(memory));
}

static void note(void *argument) {
    *(int *)argument += 1;
}

static void use_a_host_function(void) {
    CUstream stream = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    int count = 0;
    fill(module, stream, memory, SIZE, 1);
    OK(cuLaunchHostFunc(stream, note, &count));
    fill(module, stream, memory, SIZE, 2);
    OK(cuStreamSynchronize(stream));
    CHECK(count == 1);
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(memory));
}

// Memory of cuMemAlloc that is freed in the order of another stream than its user's.
static void free_in_order(void) {
    CUstream a = make_stream(), b = make_stream();
    CUevent event = make_event();
    for (uint32_t i = 0; i < 4; i++) {
        CUdeviceptr memory = allocate(SIZE + i);
        fill(module, a, memory, SIZE, i);
        order(event, a, b);
        OK(cuMemFreeAsync(memory, b));
    }
    OK(cuCtxSynchronize());
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

// The program's own mappings: extents come and go at one address, also where a pool's memory was.
static void map_and_unmap(void) {
    const size_t granule = (size_t)2 << 20;
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    const CUmemAccessDesc access = {prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUstream stream = make_stream();
    CUdeviceptr address;
    OK(cuMemAddressReserve(&address, 2 * granule, 0, 0, 0));
    for (uint32_t i = 0; i < 4; i++) {
        CUdeviceptr at = address + i % 2 * granule;
        CUmemGenericAllocationHandle handle;
        OK(cuMemCreate(&handle, granule, &prop, 0));
        OK(cuMemMap(at, granule, 0, handle, 0));
        OK(cuMemSetAccess(at, granule, &access, 1));
        fill(module, stream, at, granule, i);
        OK(cuStreamSynchronize(stream));
        OK(cuMemUnmap(at, granule));
        OK(cuMemRelease(handle));
    }
    OK(cuMemAddressFree(address, 2 * granule));
    OK(cuStreamDestroy_v2(stream));
}

// A pool of its own, that gives its memory back while it lives.
static void use_a_pool_of_ones_own(void) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0}};
    CUstream stream = make_stream();
    poolMemPool_t pool;
    void *blocks[8];
    OK(poolMemPoolCreate(&pool, &props));
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < 8; i++) {
            size_t size = ((size_t)1 << 20) * (i + 1 + round);
            OK(poolMallocFromPoolAsync(&blocks[i], size, pool, stream));
            OK(cuMemsetD8Async(address_of(blocks[i]), (unsigned char)i, size, stream));
        }
        for (size_t i = 0; i < 8; i++)
            OK(poolFreeAsync(blocks[(i * 3) % 8], stream));
        OK(cuStreamSynchronize(stream));
        OK(poolMemPoolTrimTo(pool, round << 20));
    }
    OK(poolMemPoolDestroy(pool));
    OK(cuStreamDestroy_v2(stream));
}

// Host memory that copies read and write is left alone until they are complete.
static void copy_there_and_back(void) {
    CUstream stream = make_stream();
    CUdeviceptr memory = allocate(SIZE);
    void *host;
    OK(cuMemHostAlloc(&host, SIZE, 0));
    uint32_t *words = host;
    for (uint32_t round = 0; round < 3; round++) {
        for (uint32_t i = 0; i < WORDS; i++)
            words[i] = round * i;
        OK(cuMemcpyHtoDAsync_v2(memory, words, SIZE, stream));
        OK(cuStreamSynchronize(stream));
        memset(words, 0, SIZE);
        OK(cuMemcpyDtoHAsync_v2(words, memory, SIZE, stream));
        OK(cuStreamSynchronize(stream));
        CHECK(words[WORDS - 1] == round * (WORDS - 1));
    }
    OK(cuMemFreeHost(host));
    OK(cuMemFree_v2(memory));
    OK(cuStreamDestroy_v2(stream));
}

int main(void) {
    void *(*const functions[])(void *) = {read_data, work, write_data};
    pthread_t threads[3];
    void *last;
    module = start();
    OK(cuCtxGetCurrent(&context));
    for (size_t i = 0; i < 3; i++)
        OK(pthread_create(&threads[i], NULL, functions[i], NULL));
    capture();
    use_a_host_function();
    free_in_order();
    map_and_unmap();
    use_a_pool_of_ones_own();
    copy_there_and_back();
    for (size_t i = 0; i < 3; i++) {
        OK(pthread_join(threads[i], &last));
        if (last)
            OK(cuStreamDestroy_v2(last));
    }
    use_the_default_stream();
    OK(cuModuleUnload(module));
    OK(cuDevicePrimaryCtxRelease(0));
    return 0;
}
