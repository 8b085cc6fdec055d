// right: a program with no mistake. Three threads, "reader", "worker" and "writer", hand data to
// each other through device memory, in all the ways that order work: in one stream, by events
// between streams, by words, by the default stream, by the host's waits, and by host functions.
// They use memory of cuMemAlloc, of cuMemFreeAsync's order, of streampool's pools and of the
// virtual memory calls, and copy from and to pinned and pageable memory.
//
// It checks what it computes, ends with status 0, and prints nothing itself.
#include <pthread.h>
#include <stdbool.h>
#include <streampool/streampool.h>
#include <string.h>

#include "check/driver.h"

enum { ROUNDS = 40, WORDS = 1024, SIZE = WORDS * 4, STREAMS = 3, ROWS = 16, ROW = SIZE / ROWS };

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

// Makes what comes in the second stream run after what is in the first one.
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

// Words that follow each other, as sp_fill writes them.
static void write_words(uint32_t *words, uint32_t seed) {
    for (uint32_t i = 0; i < WORDS; i++)
        words[i] = seed + i;
}

static bool are_words(const uint32_t *words, uint32_t count, uint32_t seed) {
    uint32_t i = 0;
    while (i < count && words[i] == seed + i)
        i++;
    return i == count;
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

// Copies data of its own to memory of a pool, and hands that on without waiting for it. The host
// writes one half of its words while the other one is copied.
static void *read_data(void *argument) {
    static uint32_t halves[2][WORDS];
    (void)argument;
    begin_thread("reader");
    CUstream stream = make_stream();
    CUevent copied[] = {make_event(), make_event()};
    OK(cuMemHostRegister_v2(halves, sizeof halves, 0));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct parcel parcel = {
            .memory = pool_allocate(SIZE, stream), .seed = i, .ready = make_event(), stream};
        OK(cuEventSynchronize(copied[i % 2]));
        write_words(halves[i % 2], i);
        OK(cuMemcpyHtoDAsync_v2(address_of(parcel.memory), halves[i % 2], SIZE, stream));
        OK(cuEventRecord(copied[i % 2], stream));
        OK(cuEventRecord(parcel.ready, stream));
        put(&to_worker, parcel);
    }
    OK(cuStreamSynchronize(stream));
    OK(cuEventDestroy_v2(copied[0]));
    OK(cuEventDestroy_v2(copied[1]));
    OK(cuMemHostUnregister(halves));
    return stream;
}

// -------------------------------------------------------------------------------------- the worker

struct worker {
    CUstream streams[STREAMS];
    CUevent events[STREAMS];
    CUdeviceptr errors; // of the kernel sp_check
};

static void begin_worker(struct worker *worker) {
    for (int i = 0; i < STREAMS; i++) {
        worker->streams[i] = make_stream();
        worker->events[i] = make_event();
    }
    worker->errors = allocate(8);
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

// The data goes to other memory, and the old is freed in a stream that only knows of the copy.
static void move(const struct worker *worker, struct parcel *parcel) {
    CUstream next = worker->streams[(parcel->seed + 1) % STREAMS];
    void *old = parcel->memory;
    parcel->memory = pool_allocate(SIZE, parcel->stream);
    OK(cuMemcpyDtoDAsync_v2(address_of(parcel->memory), address_of(old), SIZE, parcel->stream));
    order(parcel->ready, parcel->stream, next);
    OK(poolFreeAsync(old, next));
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
        move(&worker, &parcel);
        use_scratch(&worker, i);
        put(&to_writer, parcel);
    }
    end_worker(&worker);
    return NULL;
}

// -------------------------------------------------------------------------------------- the writer

struct writer {
    CUstream stream, other;
    CUdeviceptr word; // the stream writes it, and the other one waits for it
    uint32_t *words;  // what is fetched, in memory of either kind
};

struct question {
    const uint32_t *words;
    uint32_t seed;
    bool is_so;
};

static void answer(void *argument) {
    struct question *question = argument;
    question->is_so = are_words(question->words, WORDS, question->seed);
}

// A host function looks at the words behind the copy that brings them.
static void fetch_in_own_stream(const struct writer *writer, const struct parcel *parcel) {
    struct question question = {.words = writer->words, .seed = parcel->seed};
    OK(cuStreamWaitEvent(writer->stream, parcel->ready, 0));
    OK(cuMemcpyDtoHAsync_v2(writer->words, address_of(parcel->memory), SIZE, writer->stream));
    OK(cuLaunchHostFunc(writer->stream, answer, &question));
    OK(poolFreeAsync(parcel->memory, writer->stream));
    OK(cuStreamSynchronize(writer->stream));
    CHECK(question.is_so);
}

static void fetch_by_the_hosts_wait(const struct writer *writer, const struct parcel *parcel) {
    OK(cuEventSynchronize(parcel->ready));
    OK(cuMemcpyDtoH_v2(writer->words, address_of(parcel->memory), SIZE));
    OK(poolFree(parcel->memory));
}

static void fetch_by_asking(const struct writer *writer, const struct parcel *parcel) {
    while (cuEventQuery(parcel->ready) == CUDA_ERROR_NOT_READY)
        continue;
    OK(cuMemcpyDtoH_v2(writer->words, address_of(parcel->memory), SIZE));
    OK(poolFree(parcel->memory));
}

// Copies columns of rows that follow each other in host memory.
static void fetch_rows(void *to, CUdeviceptr from, size_t pitch, size_t width, CUstream stream) {
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = from,
                                .srcPitch = pitch,
                                .dstMemoryType = CU_MEMORYTYPE_HOST,
                                .dstHost = to,
                                .dstPitch = ROW,
                                .WidthInBytes = width,
                                .Height = ROWS};
    OK(cuMemcpy2DAsync_v2(&copy, stream));
}

// Each of two streams reads a half of every row, and the memory is freed behind both.
static void fetch_by_two_streams(const struct writer *writer, const struct parcel *parcel) {
    const CUstream both[] = {writer->stream, writer->other};
    for (uint32_t i = 0; i < 2; i++) {
        OK(cuStreamWaitEvent(both[i], parcel->ready, 0));
        fetch_rows((char *)writer->words + i * ROW / 2, address_of(parcel->memory) + i * ROW / 2,
                   ROW, ROW / 2, both[i]);
    }
    OK(poolFreeAsyncAfter(parcel->memory, both, 2));
    OK(cuStreamSynchronize(writer->stream));
    OK(cuStreamSynchronize(writer->other));
}

// The other stream, in which the memory is freed, and the host know of the copy by the word alone.
static void fetch_behind_a_word(const struct writer *writer, const struct parcel *parcel) {
    OK(cuStreamWaitEvent(writer->stream, parcel->ready, 0));
    OK(cuMemcpyDtoHAsync_v2(writer->words, address_of(parcel->memory), SIZE, writer->stream));
    OK(cuStreamWriteValue32(writer->stream, writer->word, parcel->seed, 0));
    OK(cuStreamWaitValue32(writer->other, writer->word, parcel->seed, CU_STREAM_WAIT_VALUE_EQ));
    OK(poolFreeAsync(parcel->memory, writer->other));
    OK(cuStreamSynchronize(writer->other));
}

// Rounds fetch the data in different ways, to pinned and to pageable memory in turn.
static void *write_data(void *argument) {
    static void (*const ways[])(const struct writer *writer, const struct parcel *parcel) = {
        fetch_in_own_stream, fetch_by_the_hosts_wait, fetch_by_asking, fetch_by_two_streams,
        fetch_behind_a_word};
    static uint32_t pageable[WORDS];
    void *pinned;
    (void)argument;
    begin_thread("writer");
    OK(cuMemHostAlloc(&pinned, SIZE + sizeof pageable[0], 0));
    memset(pinned, 0, SIZE + sizeof pageable[0]);
    struct writer writer = {make_stream(), make_stream(), address_of(pinned) + SIZE, NULL};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        struct parcel parcel = get(&to_writer);
        writer.words = i % 2 ? pinned : pageable;
        ways[i / 2 % 5](&writer, &parcel);
        CHECK(are_words(writer.words, WORDS, parcel.seed));
        OK(cuEventDestroy_v2(parcel.ready));
    }
    OK(cuStreamDestroy_v2(writer.stream));
    OK(cuStreamDestroy_v2(writer.other));
    OK(cuMemFreeHost(pinned));
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

// What these pools keep until the end is the library's.
static void use_pools_of_the_host(void) {
    const struct poolMemPoolProps props[] = {
        {.allocType = poolMemAllocationTypePinned, .location = {poolMemLocationTypeHost, 0}},
        {.allocType = poolMemAllocationTypePinned,
         .location = {poolMemLocationTypeHost, 0},
         .usage = poolMemPoolUsageStaging},
        {.allocType = poolMemAllocationTypeManaged},
    };
    enum { BYTES = 1 << 20 };
    CUstream stream = make_stream();
    CUdeviceptr device;
    OK(cuMemAlloc_v2(&device, BYTES));
    for (size_t i = 0; i < sizeof props / sizeof props[0]; i++) {
        poolMemPool_t pool;
        void *buffer;
        uint64_t keep = UINT64_MAX;
        OK(poolMemPoolCreate(&pool, &props[i]));
        OK(poolMemPoolSetAttribute(pool, poolMemPoolAttrReleaseThreshold, &keep));
        for (int round = 0; round < 3; round++) {
            OK(poolMallocFromPool(&buffer, BYTES, pool));
            memset(buffer, round, BYTES);
            OK(cuMemcpyHtoDAsync_v2(device, buffer, BYTES, stream));
            OK(poolFreeAsync(buffer, stream));
        }
        OK(cuStreamSynchronize(stream));
    }
    OK(cuMemFree_v2(device));
    OK(cuStreamDestroy_v2(stream));
}

// The last free gives the memory of a pool that was destroyed back, by the same call.
static void free_behind_the_end_of_a_pool(void) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypeManaged};
    poolMemPool_t pool;
    void *block;
    OK(poolMemPoolCreate(&pool, &props));
    OK(poolMallocFromPool(&block, SIZE, pool));
    OK(poolFree(block));
    OK(poolMallocFromPool(&block, SIZE, pool));
    OK(poolMemPoolDestroy(pool));
    OK(poolFree(block));
}

// Rows go to memory with a pitch of its own, and come back.
static void copy_rows(void) {
    static uint32_t words[WORDS];
    CUstream stream = make_stream();
    CUdeviceptr memory;
    size_t pitch;
    OK(cuMemAllocPitch_v2(&memory, &pitch, ROW, ROWS, 4));
    const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                .srcHost = words,
                                .srcPitch = ROW,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = memory,
                                .dstPitch = pitch,
                                .WidthInBytes = ROW,
                                .Height = ROWS};
    write_words(words, 1);
    OK(cuMemcpy2DAsync_v2(&copy, stream));
    memset(words, 0, SIZE); // the call has taken what it copies from pageable memory
    fetch_rows(words, memory, pitch, ROW, stream);
    CHECK(are_words(words, WORDS, 1));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemFree_v2(memory));
}

// Two streams use one piece of memory in turn, and a word says whose turn it is.
static void take_turns(void) {
    static uint32_t words[1 + ROUNDS];
    CUstream a = make_stream(), b = make_stream();
    CUdeviceptr memory = allocate(SIZE), turn = address_of(words);
    OK(cuMemHostRegister_v2(words, sizeof words, 0));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        OK(cuStreamWaitValue32(a, turn, 2 * i, CU_STREAM_WAIT_VALUE_EQ));
        fill(module, a, memory, SIZE, i);
        OK(cuStreamWriteValue32(a, turn, 2 * i + 1, 0));
        OK(cuStreamWaitValue32(b, turn, 2 * i + 1, CU_STREAM_WAIT_VALUE_EQ));
        OK(cuMemcpyDtoHAsync_v2(&words[1 + i], memory, sizeof words[0], b));
        OK(cuStreamWriteValue32(b, turn, 2 * i + 2, 0));
    }
    OK(cuMemFreeAsync(memory, b));
    OK(cuStreamSynchronize(b));
    CHECK(are_words(&words[1], ROUNDS, 0));
    OK(cuMemHostUnregister(words));
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamDestroy_v2(b));
}

// A pipeline with two buffers: while one is computed, the other one is filled or fetched.
struct pipeline {
    CUstream up, compute, down;
    CUevent events[2];
    uint32_t *words; // of both on their way up, then on their way down
    void *memory;
};

// The kernel writes a half of the words.
static void add_work(const struct pipeline *pipeline, uint32_t seed, uint32_t buffer) {
    uint32_t *in = pipeline->words + buffer * WORDS, *out = in + 2 * WORDS;
    CUdeviceptr memory = address_of(pipeline->memory) + (CUdeviceptr)buffer * SIZE;
    write_words(in, seed);
    OK(cuMemcpyHtoDAsync_v2(memory, in, SIZE, pipeline->up));
    order(pipeline->events[buffer], pipeline->up, pipeline->compute);
    fill(module, pipeline->compute, memory, SIZE / 2, 2 * seed);
    order(pipeline->events[buffer], pipeline->compute, pipeline->down);
    OK(cuMemcpyDtoHAsync_v2(out, memory, SIZE, pipeline->down));
    OK(cuEventRecord(pipeline->events[buffer], pipeline->down));
}

static void await_work(const struct pipeline *pipeline, uint32_t seed, uint32_t buffer) {
    const uint32_t *out = pipeline->words + (2 + buffer) * WORDS, half = WORDS / 2;
    OK(cuEventSynchronize(pipeline->events[buffer]));
    CHECK(are_words(out, half, 2 * seed) && are_words(out + half, half, seed + half));
}

static void run_pipeline(void) {
    CUstream up = make_stream();
    void *words, *memory = pool_allocate(2 * (size_t)SIZE, up);
    OK(cuMemAllocHost_v2(&words, 4 * (size_t)SIZE));
    const struct pipeline pipeline = {
        up, make_stream(), make_stream(), {make_event(), make_event()}, words, memory};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (i >= 2)
            await_work(&pipeline, i - 2, i % 2);
        add_work(&pipeline, i, i % 2);
    }
    OK(poolFreeAsync(memory, pipeline.down));
    await_work(&pipeline, ROUNDS - 2, 0);
    await_work(&pipeline, ROUNDS - 1, 1);
    OK(cuMemFreeHost(words));
    OK(cuEventDestroy_v2(pipeline.events[0]));
    OK(cuEventDestroy_v2(pipeline.events[1]));
    OK(cuStreamDestroy_v2(up));
    OK(cuStreamDestroy_v2(pipeline.compute));
    OK(cuStreamDestroy_v2(pipeline.down));
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
    free_in_order();
    map_and_unmap();
    use_a_pool_of_ones_own();
    use_pools_of_the_host();
    free_behind_the_end_of_a_pool();
    copy_rows();
    take_turns();
    run_pipeline();
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
