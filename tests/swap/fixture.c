#include "swap/fixture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64]; // "": none was made

int swap_begin(const char *settings) {
    unsetenv("STREAMPOOL_SWAP_DIR");
    return copy_begin(settings);
}

int swap_setup(void **state) {
    (void)state;
    return swap_begin(NULL);
}

void swap_use_folder(void) {
    strcpy(folder, "/tmp/streampool-swap-test-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(setenv("STREAMPOOL_SWAP_DIR", folder, 1), 0);
}

const char *swap_folder(void) {
    return folder;
}

int swap_teardown(void **state) {
    poolMemPool_t pool = fixture_pool(), host = NULL;
    unsetenv("STREAMPOOL_SWAP_DIR");
    simcudaFailClear();
    swap_paused(pool, ""); // drops what was saved of pools that are gone
    copy_good(poolMemPoolDestroy(pool));
    copy_good(poolSwapSetHostLimit(UINT64_MAX));
    copy_good(poolSwapGetHostPool(&host));
    assert_int_equal(fixture_used(host), 0);
    copy_good(poolMemPoolDestroy(host));
    if (folder[0] != '\0')
        assert_int_equal(rmdir(folder), 0);
    folder[0] = '\0';
    return copy_teardown(state);
}

struct swap_block swap_block(poolMemPool_t pool, size_t size, uint64_t seed, CUstream stream) {
    struct swap_block block = {fixture_malloc(pool, size, stream), size, seed};
    unsigned char *bytes = copy_host(size);
    copy_fill(bytes, size, seed);
    copy_poke((uintptr_t)block.pointer, bytes, size);
    free(bytes);
    return block;
}

void swap_free(struct swap_block *block, CUstream stream) {
    fixture_free(block->pointer, stream);
    block->pointer = NULL;
}

bool swap_is_intact_from(const struct swap_block *block, size_t from, size_t to) {
    unsigned char *now = copy_host(block->size), *before = copy_host(block->size);
    copy_fill(before, block->size, block->seed);
    copy_peek(now + from, (uintptr_t)block->pointer + from, to - from);
    bool is_intact = memcmp(now + from, before + from, to - from) == 0;
    free(now);
    free(before);
    return is_intact;
}

bool swap_is_intact(const struct swap_block *block) {
    return swap_is_intact_from(block, 0, block->size);
}

bool swap_has_memory(const struct swap_block *block) {
    unsigned char first, last;
    return simcudaPeek(&first, (uintptr_t)block->pointer, 1) == CUDA_SUCCESS &&
           simcudaPeek(&last, (uintptr_t)block->pointer + block->size - 1, 1) == CUDA_SUCCESS;
}

poolMemPool_t swap_tagged(poolMemPool_t pool, const char *tag) {
    poolMemPool_t tagged = NULL;
    copy_good(poolMemPoolGetTagged(pool, tag, &tagged));
    assert_non_null(tagged);
    return tagged;
}

struct poolMemPoolPaused swap_pause(poolMemPool_t pool, const char *tag,
                                    enum poolPauseLevel level) {
    struct poolMemPoolPaused paused = {0};
    copy_good(poolMemPoolPause(pool, tag, level, NULL, 0, &paused));
    return paused;
}

void swap_resume(poolMemPool_t pool, const char *tag) {
    copy_good(poolMemPoolResume(pool, tag));
}

struct poolMemPoolPaused swap_paused(poolMemPool_t pool, const char *tag) {
    struct poolMemPoolPaused paused = {0};
    copy_good(poolMemPoolGetPaused(pool, tag, &paused));
    return paused;
}

uint64_t swap_in_host(void) {
    poolMemPool_t host = NULL;
    copy_good(poolSwapGetHostPool(&host));
    return fixture_used(host);
}
