// Programs that are drawn: copies of all forms, sizes and kinds of memory, in streams that are held
// and ordered at times, against a model of the device's memory. One thread, and many at a time.
#include "copy/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "copy/crew.h"
#include "random/numbers.h"

enum { SEEDS = 12, STEPS = 150, UNDER_WAY = 6, THREADS = 4 };
#define BYTES ((size_t)1 << 21)

struct under_way {
    poolCopyCompletion_t completion; // null: none
    unsigned char *host;             // pageable memory of the copy
    size_t bytes;
    unsigned char *expected; // of a copy to the host; null: to the device
};

struct program {
    struct numbers numbers;
    CUstream stream;
    CUdeviceptr device;
    unsigned char *model; // what the device's memory is once the stream is through
    unsigned char *pinned;
    int file;
    struct copy_hold hold;
    bool is_held;
    struct under_way under_way[UNDER_WAY];
};

static uint64_t draw(struct program *program, uint64_t below) {
    return numbers_below(&program->numbers, below);
}

static size_t a_size(struct program *program) {
    size_t most = (size_t)1 << draw(program, 22);
    return 1 + draw(program, most < BYTES ? most : BYTES);
}

// Where a thread of its own draws, cmocka can't fail the test.
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, poolGetLastErrorDetail());  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define GOOD(call) NEED((call) == poolSuccess)

// ------------------------------------------------------------------------------------------- holds

static void hold(struct program *program) {
    if (program->is_held)
        return;
    __atomic_store_n(program->hold.at, 0, __ATOMIC_RELEASE);
    NEED(sp_driver->cuStreamWaitValue32(program->stream, program->hold.word, 1,
                                        CU_STREAM_WAIT_VALUE_GEQ) == CUDA_SUCCESS);
    program->is_held = true;
}

static void let_go(struct program *program) {
    if (program->is_held)
        copy_let_go(&program->hold);
    program->is_held = false;
}

// Of the driver's, or of the library's.
static void synchronise(struct program *program) {
    let_go(program);
    if (draw(program, 2))
        NEED(sp_driver->cuStreamSynchronize(program->stream) == CUDA_SUCCESS);
    else
        GOOD(poolStreamSynchronize(program->stream));
    sp_crew_order(); // for the thread sanitizer, which doesn't see the device
}

// -------------------------------------------------------------------------------- copies that wait

// A call without a completion may wait for the stream.
static void to_device(struct program *program) {
    size_t bytes = a_size(program), at = draw(program, BYTES - bytes + 1), skew = draw(program, 64);
    unsigned char *from = copy_host(bytes + skew);
    let_go(program);
    copy_fill(from + skew, bytes, draw(program, 1 << 20));
    memcpy(program->model + at, from + skew, bytes);
    GOOD(poolCopyToDeviceAsync(copy_pointer(program->device + at), from + skew, bytes,
                               program->stream));
    memset(from, 0x77, bytes + skew);
    free(from);
}

static void to_host(struct program *program) {
    size_t bytes = a_size(program), at = draw(program, BYTES - bytes + 1), skew = draw(program, 64);
    unsigned char *to = copy_host(bytes + skew + 1);
    let_go(program);
    GOOD(
        poolCopyToHostAsync(to + skew, copy_pointer(program->device + at), bytes, program->stream));
    NEED(memcmp(to + skew, program->model + at, bytes) == 0);
    NEED(to[bytes + skew] == 0xee && (skew == 0 || to[skew - 1] == 0xee));
    free(to);
}

static void rows(struct program *program) {
    size_t width = 1 + draw(program, draw(program, 2) ? 300 : 100000);
    size_t of_host = width + draw(program, 50), of_device = width + draw(program, 50);
    size_t larger = of_host > of_device ? of_host : of_device, most = BYTES / larger;
    size_t height = 1 + draw(program, most < 1000 ? most : 1000);
    unsigned char *host = copy_host(of_host * height);
    let_go(program);
    copy_fill(host, of_host * height, width);
    GOOD(poolCopyToDevice2DAsync(copy_pointer(program->device), of_device, host, of_host, width,
                                 height, program->stream));
    for (size_t row = 0; row < height; row++)
        memcpy(program->model + row * of_device, host + row * of_host, width);
    memset(host, 0x55, of_host * height);
    GOOD(poolCopyToHost2DAsync(host, of_host, copy_pointer(program->device), of_device, width,
                               height, program->stream));
    for (size_t row = 0; row < height; row++)
        NEED(memcmp(host + row * of_host, program->model + row * of_device, width) == 0);
    free(host);
}

static void pinned(struct program *program) {
    size_t bytes = a_size(program), at = draw(program, BYTES - bytes + 1);
    let_go(program);
    copy_fill(program->pinned, bytes, draw(program, 1 << 20));
    memcpy(program->model + at, program->pinned, bytes);
    GOOD(poolCopyToDeviceAsync(copy_pointer(program->device + at), program->pinned, bytes,
                               program->stream));
    synchronise(program);
}

// Pieces side by side, each of pinned or of pageable memory, one way or the other.
static void pieces(struct program *program) {
    enum { PIECES = 40 };
    void *to[PIECES];
    const void *from[PIECES];
    size_t sizes[PIECES], at = 0;
    unsigned char *host = copy_host(BYTES);
    bool in = draw(program, 2);
    let_go(program);
    copy_fill(host, BYTES, draw(program, 1 << 20));
    memcpy(program->pinned, host, BYTES);
    for (size_t i = 0; i < PIECES; i++) {
        unsigned char *side = draw(program, 2) ? host : program->pinned;
        sizes[i] = draw(program, BYTES / PIECES);
        void *device = copy_pointer(program->device + at);
        to[i] = in ? device : side + at;
        from[i] = in ? side + at : device;
        if (in)
            memcpy(program->model + at, host + at, sizes[i]);
        at += sizes[i] + draw(program, 100) % (1 + BYTES / PIECES - sizes[i]);
    }
    GOOD(poolCopyBatchAsync(to, from, sizes, PIECES, program->stream));
    synchronise(program);
    for (size_t i = 0; i < PIECES && !in; i++) {
        size_t offset = (uintptr_t)from[i] - program->device;
        NEED(memcmp(to[i], program->model + offset, sizes[i]) == 0);
    }
    free(host);
}

static void file(struct program *program) {
    size_t bytes = a_size(program), at = draw(program, BYTES - bytes + 1);
    size_t offset = draw(program, 2) ? 4096 * draw(program, 10) : draw(program, 10000);
    void *device = copy_pointer(program->device + at);
    unsigned char *seen = copy_host(bytes);
    let_go(program);
    GOOD(poolDeviceToFileAsync(program->file, offset, device, bytes, program->stream));
    NEED(pread(program->file, seen, bytes, (off_t)offset) == (ssize_t)bytes);
    NEED(memcmp(seen, program->model + at, bytes) == 0);
    copy_fill(seen, bytes, draw(program, 1 << 20));
    NEED(pwrite(program->file, seen, bytes, (off_t)offset) == (ssize_t)bytes);
    memcpy(program->model + at, seen, bytes);
    GOOD(poolFileToDeviceAsync(device, program->file, offset, bytes, program->stream));
    free(seen);
}

// The next block may be the same memory, or another stream's: behind the copies it is free.
static void allocate_anew(struct program *program) {
    void *block = NULL;
    GOOD(poolFreeAsync(copy_pointer(program->device), program->stream));
    GOOD(poolMallocAsync(&block, BYTES, program->stream));
    program->device = (uintptr_t)block;
    memset(program->model, 0x21, BYTES);
    NEED(sp_driver->cuMemsetD8Async(program->device, 0x21, BYTES, program->stream) == CUDA_SUCCESS);
}

static void clear(struct program *program) {
    size_t bytes = a_size(program), at = draw(program, BYTES - bytes + 1);
    unsigned char byte = (unsigned char)draw(program, 256);
    memset(program->model + at, byte, bytes);
    NEED(sp_driver->cuMemsetD8Async(program->device + at, byte, bytes, program->stream) ==
         CUDA_SUCCESS);
}

// ---------------------------------------------------------------------------------- copies at once

// The host's part is done: the source may be changed, and the bytes are there.
static void end(struct under_way *copy) {
    GOOD(poolCopyCompletionQuery(copy->completion));
    NEED(!copy->expected || memcmp(copy->host, copy->expected, copy->bytes) == 0);
    GOOD(poolCopyCompletionDestroy(copy->completion));
    memset(copy->host, 0x99, copy->bytes);
    free(copy->host);
    free(copy->expected);
    *copy = (struct under_way){.completion = NULL};
}

static void await(struct program *program) {
    struct under_way *copy = &program->under_way[draw(program, UNDER_WAY)];
    if (!copy->completion)
        return;
    let_go(program);
    GOOD(poolCopyCompletionSynchronize(copy->completion));
    end(copy);
}

static void ask(struct program *program) {
    struct under_way *copy = &program->under_way[draw(program, UNDER_WAY)];
    poolError_t error =
        copy->completion ? poolCopyCompletionQuery(copy->completion) : poolErrorNotReady;
    NEED(error == poolSuccess || error == poolErrorNotReady);
    if (error == poolSuccess)
        end(copy);
}

static void at_once(struct program *program) {
    struct under_way *copy = &program->under_way[draw(program, UNDER_WAY)];
    size_t bytes = a_size(program), at = draw(program, BYTES - bytes + 1);
    void *device = copy_pointer(program->device + at);
    if (copy->completion)
        return;
    copy->bytes = bytes;
    copy->host = copy_host(bytes);
    if (draw(program, 2)) {
        copy_fill(copy->host, bytes, draw(program, 1 << 20));
        memcpy(program->model + at, copy->host, bytes);
        GOOD(poolCopyToDeviceAsyncWithCompletion(device, copy->host, bytes, program->stream,
                                                 &copy->completion));
    } else {
        copy->expected = copy_host(bytes);
        memcpy(copy->expected, program->model + at, bytes);
        GOOD(poolCopyToHostAsyncWithCompletion(copy->host, device, bytes, program->stream,
                                               &copy->completion));
    }
}

static void rows_at_once(struct program *program) {
    struct under_way *copy = &program->under_way[draw(program, UNDER_WAY)];
    size_t width = 1 + draw(program, draw(program, 2) ? 300 : 100000);
    size_t of_host = width + draw(program, 50), of_device = width + draw(program, 50);
    size_t larger = of_host > of_device ? of_host : of_device, most = BYTES / larger;
    size_t height = 1 + draw(program, most < 1000 ? most : 1000);
    void *device = copy_pointer(program->device);
    if (copy->completion)
        return;
    copy->bytes = of_host * height;
    copy->host = copy_host(copy->bytes);
    if (draw(program, 2)) {
        copy_fill(copy->host, copy->bytes, draw(program, 1 << 20));
        for (size_t row = 0; row < height; row++)
            memcpy(program->model + row * of_device, copy->host + row * of_host, width);
        GOOD(poolCopyToDevice2DAsyncWithCompletion(device, of_device, copy->host, of_host, width,
                                                   height, program->stream, &copy->completion));
    } else {
        copy->expected = copy_host(copy->bytes);
        for (size_t row = 0; row < height; row++)
            memcpy(copy->expected + row * of_host, program->model + row * of_device, width);
        GOOD(poolCopyToHost2DAsyncWithCompletion(copy->host, of_host, device, of_device, width,
                                                 height, program->stream, &copy->completion));
    }
}

static void set(struct program *program) {
    const struct poolCopySettings settings = {(unsigned)draw(program, 4), // 0: as is chosen
                                              2 + (unsigned)draw(program, 4),
                                              KIB(64) << draw(program, 6)};
    GOOD(poolCopySetSettings(&settings));
}

// ------------------------------------------------------------------------------------- the program

static void step(struct program *program) {
    static void (*const steps[])(struct program * program) = {
        to_device, to_host, rows,    pinned,  pieces,       file,        allocate_anew,
        clear,     at_once, at_once, at_once, rows_at_once, at_once,     await,
        ask,       ask,     hold,    hold,    set,          synchronise,
    };
    steps[draw(program, sizeof steps / sizeof steps[0])](program);
}

static void open_program(struct program *program, uint64_t seed) {
    *program = (struct program){.numbers = {seed}};
    program->stream = simulated_stream();
    void *block = NULL;
    GOOD(poolMallocAsync(&block, BYTES, program->stream));
    copy_finish(program->stream);
    program->device = (uintptr_t)block;
    char path[] = "/tmp/streampool-copy-XXXXXX";
    program->file = mkstemp(path);
    NEED(program->file >= 0 && unlink(path) == 0);
    program->pinned = copy_pinned(BYTES);
    program->model = copy_host(BYTES);
    program->hold.at = copy_pinned(64);
    program->hold.word = (uintptr_t)program->hold.at;
    copy_poke(program->device, program->model, BYTES);
}

static void play(struct program *program) {
    for (int i = 0; i < STEPS; i++)
        step(program);
    synchronise(program);
    for (int i = 0; i < UNDER_WAY; i++) {
        if (program->under_way[i].completion)
            end(&program->under_way[i]);
    }
}

static void close_program(struct program *program) {
    unsigned char *seen = copy_host(BYTES);
    copy_peek(seen, program->device, BYTES);
    assert_memory_equal(seen, program->model, BYTES);
    GOOD(poolFreeAsync(copy_pointer(program->device), program->stream));
    copy_finish(program->stream);
    close(program->file);
    free(seen);
    free(program->model);
}

static void one_thread_copies(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct program program;
        open_program(&program, seed);
        play(&program);
        close_program(&program);
    }
}

static void *play_in_thread(void *program) {
    NEED(sp_driver->cuCtxSetCurrent(simulated_context()) == CUDA_SUCCESS);
    play(program);
    return NULL;
}

static void many_threads_copy(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    static struct program programs[THREADS];
    for (uint64_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < THREADS; i++)
            open_program(&programs[i], 100 + round * THREADS + i);
        for (size_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, play_in_thread, &programs[i]), 0);
        for (size_t i = 0; i < THREADS; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        for (size_t i = 0; i < THREADS; i++)
            close_program(&programs[i]);
    }
}

// Small copies at once whose completions are asked by several threads, and destroyed meanwhile.
static _Atomic(poolCopyCompletion_t) shared;

static void *ask_often(void *over) {
    while (!atomic_load((atomic_bool *)over)) {
        poolError_t error = poolCopyCompletionQuery(atomic_load(&shared));
        NEED(error == poolSuccess || error == poolErrorNotReady || error == poolErrorInvalidValue);
    }
    return NULL;
}

static void *copy_often(void *unused) {
    enum { COPIES = 400 };
    struct program program = {.numbers = {(uintptr_t)&program}};
    unsigned char *from = copy_host(100000), *to = copy_host(100000);
    CUdeviceptr device = 0;
    NEED(sp_driver->cuCtxSetCurrent(simulated_context()) == CUDA_SUCCESS);
    NEED(sp_driver->cuStreamCreate(&program.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    NEED(sp_driver->cuMemAlloc(&device, 100000) == CUDA_SUCCESS);
    for (int i = 0; i < COPIES; i++) {
        poolCopyCompletion_t completion = NULL;
        size_t bytes = 1 + draw(&program, 100000);
        GOOD(i % 2 ? poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), from, bytes,
                                                         program.stream, &completion)
                   : poolCopyToHostAsyncWithCompletion(to, copy_pointer(device), bytes,
                                                       program.stream, &completion));
        atomic_store(&shared, completion);
        if (draw(&program, 2))
            GOOD(poolCopyCompletionSynchronize(completion));
        GOOD(poolCopyCompletionDestroy(completion));
        if (i % 50 == 0)
            NEED(sp_driver->cuStreamSynchronize(program.stream) == CUDA_SUCCESS);
    }
    NEED(sp_driver->cuStreamSynchronize(program.stream) == CUDA_SUCCESS);
    sp_crew_order();
    NEED(sp_driver->cuMemFree(device) == CUDA_SUCCESS);
    free(from);
    free(to);
    return unused;
}

static void copy_beside(void *(*other)(void *over)) {
    pthread_t threads[THREADS], beside;
    atomic_bool over = false;
    assert_int_equal(pthread_create(&beside, NULL, other, &over), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, copy_often, NULL), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    atomic_store(&over, true);
    assert_int_equal(pthread_join(beside, NULL), 0);
}

static void completions_are_asked_and_destroyed_by_many_threads(void **state) {
    (void)state;
    copy_beside(ask_often);
}

// Each copy finds a pool, whichever thread has destroyed the last one, and when.
static void *destroy_pools(void *over) {
    while (!atomic_load((atomic_bool *)over)) {
        poolMemPool_t pool = NULL;
        GOOD(poolCopyGetPool(&pool));
        GOOD(poolMemPoolDestroy(pool));
    }
    return NULL;
}

static void the_pool_of_chunks_is_destroyed_while_threads_copy(void **state) {
    (void)state;
    copy_beside(destroy_pools);
}

// A thread that was asked to end copies to the end, and ends behind the call.
static void *copy_and_end(void *program) {
    NEED(sp_driver->cuCtxSetCurrent(simulated_context()) == CUDA_SUCCESS);
    pthread_cancel(pthread_self());
    to_device(program);
    to_host(program);
    at_once(program);
    await(program);
    pthread_testcancel();
    return NULL;
}

static void threads_that_are_asked_to_end_copy_first(void **state) {
    (void)state;
    static struct program program;
    pthread_t thread;
    void *result = NULL;
    open_program(&program, 77);
    for (int i = 0; i < 40; i++) {
        assert_int_equal(pthread_create(&thread, NULL, copy_and_end, &program), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, PTHREAD_CANCELED);
    }
    play(&program);
    close_program(&program);
}

static int setup_seeded(void **state) {
    (void)state;
    return copy_begin("completion=seeded,seed=5,delay=100000");
}

static int setup_latest(void **state) {
    (void)state;
    return copy_begin("completion=latest");
}

#define TEST(name, setup)                                                                          \
    { #name ", " #setup, name, setup, copy_teardown, NULL }

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(one_thread_copies, copy_setup),
        TEST(one_thread_copies, setup_seeded),
        TEST(one_thread_copies, setup_latest),
        TEST(many_threads_copy, copy_setup),
        TEST(many_threads_copy, setup_seeded),
        TEST(completions_are_asked_and_destroyed_by_many_threads, copy_setup),
        TEST(the_pool_of_chunks_is_destroyed_while_threads_copy, copy_setup),
        TEST(threads_that_are_asked_to_end_copy_first, copy_setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
