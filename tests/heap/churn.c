#include "heap/churn.h"

#include "heap/contents.h"
#include "random/numbers.h"
#include "support/check.h"

size_t churn_size(uint64_t number, uint64_t most) {
    uint32_t powers = ph_highest64(most);
    uint64_t size = 1 + (number >> 8) % (UINT64_C(2) << number % powers);
    return size < most ? size : most;
}

static uint64_t key_of(const void *block) {
    return (uint64_t)(uintptr_t)block;
}

static void take(struct churn *churn, uint32_t thread, uint32_t i, size_t bytes) {
    void *block = pool_heap_malloc(churn->bed->heap, bytes);
    REQUIRE(block != NULL || churn->may_fail);
    churn->block[thread][i].address = block;
    churn->block[thread][i].bytes = bytes;
    if (block == NULL)
        return;
    REQUIRE(pool_heap_usable_size(churn->bed->heap, block) >= bytes);
    contents_write(block, bytes, key_of(block));
}

static void give(struct churn *churn, uint32_t thread, uint32_t i) {
    void *block = churn->block[thread][i].address;
    size_t bytes = churn->block[thread][i].bytes;
    REQUIRE(contents_hold(block, bytes, bytes, key_of(block)));
    churn->block[thread][i].address = NULL;
    pool_heap_free(churn->bed->heap, block);
}

static void change(struct churn *churn, uint32_t thread, uint32_t i, size_t bytes) {
    void *block = churn->block[thread][i].address;
    uint64_t key = key_of(block);
    size_t had = churn->block[thread][i].bytes;
    void *moved = pool_heap_realloc(churn->bed->heap, block, bytes);
    REQUIRE(moved != NULL || churn->may_fail);
    if (moved == NULL)
        return;
    REQUIRE(contents_hold(moved, had < bytes ? had : bytes, had, key));
    contents_write(moved, bytes, key_of(moved));
    churn->block[thread][i].address = moved;
    churn->block[thread][i].bytes = bytes;
}

void churn_kernel(void *argument, uint32_t thread) {
    struct churn *churn = argument;
    struct numbers numbers = {churn->seed * 100 + thread};
    uint64_t operations = 1 + numbers_below(&numbers, churn->operations);
    REQUIRE(thread < CHURN_THREADS_MOST);
    for (uint64_t n = 0; n < operations; n++) {
        uint32_t i = (uint32_t)numbers_below(&numbers, CHURN_BLOCKS);
        size_t bytes = churn_size(numbers_next(&numbers), churn->bytes_most);
        if (churn->block[thread][i].address == NULL)
            take(churn, thread, i, bytes);
        else if (numbers_once_in(&numbers, 4))
            change(churn, thread, i, bytes);
        else
            give(churn, thread, i);
    }
}

void churn_end(struct churn *churn) {
    for (uint32_t thread = 0; thread < CHURN_THREADS_MOST; thread++) {
        for (uint32_t i = 0; i < CHURN_BLOCKS; i++) {
            if (churn->block[thread][i].address != NULL)
                give(churn, thread, i);
        }
    }
}
