// Programs that are drawn: pools and tags, blocks of all sizes, pauses of all kinds and frees
// between them, against a model of every byte. One thread, and many at a time.
#include "swap/fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "random/numbers.h"

enum { SEEDS = 10, STEPS = 250, POOLS = 4, BLOCKS = 40, THREADS = 3, ROUNDS = 40 };

static const char *const tags[POOLS] = {"", "weights", "cache", "scratch"};

// Where a thread of its own draws, cmocka can't fail the test.
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, poolGetLastErrorDetail());  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define GOOD(call) NEED((call) == poolSuccess)

// Bytes that are lost lie in one range, from the first to the last that was discarded.
struct block {
    unsigned char *pointer; // null: none
    unsigned char *model;
    size_t size, pool, lost_from, lost_to;
};

struct program {
    struct numbers numbers;
    CUstream stream;
    poolMemPool_t pools[POOLS];
    int levels[POOLS];
    bool is_bounded; // the host's limit, with no folder
    struct block blocks[BLOCKS];
};

static uint64_t draw(struct program *program, uint64_t below) {
    return numbers_below(&program->numbers, below);
}

static void write_block(struct program *program, struct block *block) {
    copy_fill(block->model, block->size, numbers_next(&program->numbers));
    NEED(simcudaPoke((uintptr_t)block->pointer, block->model, block->size) == 0);
    block->lost_from = block->lost_to = 0;
}

static void allocate(struct program *program, struct block *block) {
    void *pointer = NULL;
    size_t most = (size_t)1 << draw(program, 23);
    block->size = 1 + draw(program, most);
    block->pool = draw(program, POOLS);
    poolError_t error = poolMallocFromPoolAsync(&pointer, block->size, program->pools[block->pool],
                                                program->stream);
    NEED(error == (program->levels[block->pool] ? poolErrorIllegalState : poolSuccess));
    if (error != poolSuccess)
        return;
    block->pointer = pointer;
    block->model = malloc(block->size);
    NEED(block->model);
    write_block(program, block);
}

static void give_back(struct program *program, struct block *block) {
    GOOD(poolFreeAsync(block->pointer, program->stream));
    free(block->model);
    block->pointer = NULL;
}

static void lose(struct block *block, size_t from, size_t to) {
    if (block->lost_from == block->lost_to)
        block->lost_from = from;
    block->lost_from = from < block->lost_from ? from : block->lost_from;
    block->lost_to = to > block->lost_to ? to : block->lost_to;
}

static void check_block(const struct program *program, const struct block *block) {
    unsigned char *now = malloc(block->size);
    NEED(now);
    int result = simcudaPeek(now, (uintptr_t)block->pointer, block->size);
    if (!program->levels[block->pool]) {
        NEED(result == CUDA_SUCCESS);
        NEED(memcmp(now, block->model, block->lost_from) == 0);
        NEED(memcmp(now + block->lost_to, block->model + block->lost_to,
                    block->size - block->lost_to) == 0);
    }
    free(now);
}

static void check_all(const struct program *program) {
    struct poolMemPoolPaused paused;
    size_t count = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        if (program->blocks[i].pointer)
            check_block(program, &program->blocks[i]);
    }
    for (size_t i = 0; i < POOLS; i++)
        count += program->levels[i] != 0;
    GOOD(poolMemPoolGetPaused(program->pools[0], NULL, &paused));
    NEED(paused.pools == count && paused.stayedBytes == 0);
    if (count == 0)
        NEED(paused.hostBytes + paused.fileBytes + paused.discardedBytes == 0);
}

// ----------------------------------------------------------------------------- pauses and resumes

// All pools, or one of them by its tag.
static bool is_named(size_t named, size_t pool) {
    return named == POOLS || named == pool;
}

// Parts of blocks, which aren't noted as lost until the pause succeeds.
static size_t draw_unwanted(struct program *program, struct poolMemRange *ranges, size_t *of) {
    size_t count = 0;
    for (size_t i = 0; i < BLOCKS; i++) {
        const struct block *block = &program->blocks[i];
        if (!block->pointer || draw(program, 8) > 0)
            continue;
        size_t from = draw(program, block->size), to = from + draw(program, block->size - from + 1);
        of[count] = i;
        ranges[count++] = (struct poolMemRange){block->pointer + from, to - from};
    }
    return count;
}

static void note_pause(struct program *program, size_t named, int level,
                       const struct poolMemRange *ranges, const size_t *of, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct block *block = &program->blocks[of[i]];
        size_t from = (size_t)((unsigned char *)ranges[i].ptr - block->pointer);
        if (is_named(named, block->pool) && !program->levels[block->pool] && ranges[i].size > 0)
            lose(block, from, from + ranges[i].size);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        struct block *block = &program->blocks[i];
        if (block->pointer && is_named(named, block->pool) && level == poolPauseDiscard)
            lose(block, 0, block->size);
    }
    for (size_t i = 0; i < POOLS; i++) {
        if (is_named(named, i) && program->levels[i] < level)
            program->levels[i] = level;
    }
}

static void pause_some(struct program *program) {
    struct poolMemRange ranges[BLOCKS];
    size_t of[BLOCKS], named = draw(program, POOLS + 2);
    named = named < POOLS ? named : POOLS;
    int level = draw(program, 4) == 0 ? poolPauseDiscard : poolPauseSave;
    size_t count = draw_unwanted(program, ranges, of);
    poolError_t error = poolMemPoolPause(program->pools[0], named == POOLS ? NULL : tags[named],
                                         (enum poolPauseLevel)level, ranges, count, NULL);
    NEED(error == poolSuccess || (error == poolErrorMemoryAllocation && program->is_bounded));
    if (error == poolSuccess)
        note_pause(program, named, level, ranges, of, count);
}

static void resume_some(struct program *program) {
    size_t named = draw(program, POOLS + 2);
    named = named < POOLS ? named : POOLS;
    GOOD(poolMemPoolResume(program->pools[0], named == POOLS ? NULL : tags[named]));
    for (size_t i = 0; i < POOLS; i++) {
        if (is_named(named, i))
            program->levels[i] = 0;
    }
}

static void step(struct program *program) {
    struct block *block = &program->blocks[draw(program, BLOCKS)];
    switch (draw(program, 12)) {
    case 0:
    case 1:
        pause_some(program);
        break;
    case 2:
    case 3:
        resume_some(program);
        break;
    case 4:
        GOOD(poolStreamSynchronize(program->stream));
        break;
    case 5:
        check_all(program);
        break;
    case 6:
        if (block->pointer && !program->levels[block->pool])
            write_block(program, block);
        break;
    default:
        if (block->pointer)
            give_back(program, block);
        else
            allocate(program, block);
    }
}

static void open_program(struct program *program, uint64_t seed) {
    memset(program, 0, sizeof *program);
    program->numbers.state = seed;
    program->stream = simulated_stream();
    program->pools[0] = fixture_pool();
    for (size_t i = 1; i < POOLS; i++)
        program->pools[i] = swap_tagged(program->pools[0], tags[i]);
}

static void close_program(struct program *program) {
    GOOD(poolMemPoolResume(program->pools[0], NULL));
    memset(program->levels, 0, sizeof program->levels);
    check_all(program);
    for (size_t i = 0; i < BLOCKS; i++) {
        if (program->blocks[i].pointer)
            give_back(program, &program->blocks[i]);
    }
    GOOD(poolMemPoolDestroyTagged(program->pools[0], NULL));
    GOOD(poolMemPoolDestroy(program->pools[0]));
}

static void play(uint64_t seeds_from) {
    static struct program program;
    for (uint64_t seed = seeds_from; seed < seeds_from + SEEDS; seed++) {
        open_program(&program, seed);
        for (int i = 0; i < STEPS; i++)
            step(&program);
        close_program(&program);
    }
}

static void one_thread_with_room_in_the_host(void **state) {
    (void)state;
    play(100);
}

static void one_thread_with_a_file(void **state) {
    (void)state;
    swap_use_folder();
    copy_good(poolSwapSetHostLimit(MIB(5) + 4321));
    play(200);
}

static void one_thread_with_little_room(void **state) {
    static struct program program;
    (void)state;
    copy_good(poolSwapSetHostLimit(MIB(5)));
    for (uint64_t seed = 300; seed < 300 + SEEDS; seed++) {
        open_program(&program, seed);
        program.is_bounded = true;
        for (int i = 0; i < STEPS; i++)
            step(&program);
        close_program(&program);
    }
}

// ----------------------------------------------------------------------------------------- threads

// Each thread has a tag of its own, and blocks there. Another one pauses and resumes all of them,
// while it has the lock alone; a thread looks at its blocks with the lock shared.
static struct {
    poolMemPool_t pool;
    pthread_rwlock_t lock;
    atomic_bool is_over;
} shared = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static void *pause_own(void *number) {
    char tag[16];
    poolMemPool_t tagged = NULL;
    struct program program = {.numbers = {(uintptr_t)number}};
    snprintf(tag, sizeof tag, "tag %u", (unsigned)(uintptr_t)number);
    NEED(sp_driver->cuCtxSetCurrent(simulated_context()) == CUDA_SUCCESS);
    NEED(sp_driver->cuStreamCreate(&program.stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
    GOOD(poolMemPoolGetTagged(shared.pool, tag, &tagged));
    for (size_t i = 0; i < POOLS; i++)
        program.pools[i] = tagged;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_rwlock_rdlock(&shared.lock);
        GOOD(poolMemPoolResume(shared.pool, tag));
        struct block *block = &program.blocks[draw(&program, BLOCKS)];
        if (block->pointer)
            give_back(&program, block);
        else
            allocate(&program, block);
        for (size_t at = 0; at < BLOCKS; at++) {
            if (program.blocks[at].pointer)
                check_block(&program, &program.blocks[at]);
        }
        GOOD(poolMemPoolPause(shared.pool, tag, poolPauseSave, NULL, 0, NULL));
        pthread_rwlock_unlock(&shared.lock);
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (program.blocks[i].pointer)
            give_back(&program, &program.blocks[i]);
    }
    return NULL;
}

static void *pause_all(void *unused) {
    NEED(sp_driver->cuCtxSetCurrent(simulated_context()) == CUDA_SUCCESS);
    while (!atomic_load(&shared.is_over)) {
        pthread_rwlock_wrlock(&shared.lock);
        GOOD(poolMemPoolPause(shared.pool, NULL, poolPauseSave, NULL, 0, NULL));
        GOOD(poolMemPoolResume(shared.pool, NULL));
        pthread_rwlock_unlock(&shared.lock);
    }
    return unused;
}

static void *ask_all(void *unused) {
    poolMemPool_t tagged = NULL;
    struct poolMemPoolPaused paused;
    while (!atomic_load(&shared.is_over)) {
        GOOD(poolMemPoolGetPaused(shared.pool, NULL, &paused));
        GOOD(poolMemPoolGetTagged(shared.pool, "asked", &tagged));
        GOOD(poolMemPoolDestroyTagged(shared.pool, "asked"));
    }
    return unused;
}

static void threads_pause_beside_each_other(void **state) {
    (void)state;
    pthread_t threads[THREADS], all, ask;
    shared.pool = fixture_pool();
    atomic_store(&shared.is_over, false);
    assert_int_equal(pthread_create(&all, NULL, pause_all, NULL), 0);
    assert_int_equal(pthread_create(&ask, NULL, ask_all, NULL), 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, pause_own, (void *)(i + 1)), 0);
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    atomic_store(&shared.is_over, true);
    assert_int_equal(pthread_join(all, NULL), 0);
    assert_int_equal(pthread_join(ask, NULL), 0);
    swap_resume(shared.pool, NULL);
    copy_good(poolMemPoolDestroyTagged(shared.pool, NULL));
    copy_good(poolMemPoolDestroy(shared.pool));
}

// Each pause finds a pool of the host, whichever thread has destroyed the last one.
static void *destroy_host_pools(void *unused) {
    while (!atomic_load(&shared.is_over)) {
        poolMemPool_t host = NULL;
        GOOD(poolSwapGetHostPool(&host));
        GOOD(poolMemPoolDestroy(host));
    }
    return unused;
}

static void the_host_pool_is_destroyed_meanwhile(void **state) {
    (void)state;
    pthread_t destroyer;
    poolMemPool_t pool = fixture_pool();
    struct swap_block block = swap_block(pool, MIB(5), 1, simulated_stream());
    atomic_store(&shared.is_over, false);
    assert_int_equal(pthread_create(&destroyer, NULL, destroy_host_pools, NULL), 0);
    for (int i = 0; i < ROUNDS; i++) {
        swap_pause(pool, NULL, poolPauseSave);
        swap_resume(pool, NULL);
        assert_true(swap_is_intact(&block));
    }
    atomic_store(&shared.is_over, true);
    assert_int_equal(pthread_join(destroyer, NULL), 0);
    swap_free(&block, simulated_stream());
    copy_good(poolMemPoolDestroy(pool));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, swap_setup, swap_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(one_thread_with_room_in_the_host),     TEST(one_thread_with_a_file),
        TEST(one_thread_with_little_room),          TEST(threads_pause_beside_each_other),
        TEST(the_host_pool_is_destroyed_meanwhile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
