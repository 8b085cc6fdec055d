// Random calls, each compared with a ledger. With one lane each answer is known: a request is
// refused only where the book has nothing for it. With several warps contents and the book are
// checked after each round.
//
//   kernel_heap_random_test [--seed N] [--seeds N] [--operations N]
//
// Seeds N, N + 1, ... are run; a failure names its seed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "heap/churn.h"
#include "heap/contents.h"
#include "random/numbers.h"
#include "support/check.h"

enum { BLOCKS = 600, SLABS_MOST = 200, SHIFT = POOL_HEAP_SHIFT_MIN };
#define SLAB (UINT64_C(1) << SHIFT)

struct block {
    char *address;
    size_t bytes;
    uint64_t key;
};

static struct ledger {
    struct bed bed;
    struct numbers numbers;
    uint32_t slabs;
    struct block block[BLOCKS];
    uint32_t count;
    char *freed; // lately
    uint64_t failures;
    bool closes;   // slabs too
    uint64_t home; // of the slabs, at first
} ledger;

static uint32_t below(uint64_t bound) {
    return (uint32_t)numbers_below(&ledger.numbers, bound);
}

static uint32_t state_of(uint32_t slab) {
    return ledger.bed.book->slab[slab].state;
}

// Whether there are so many free slabs side by side.
static bool has_row(uint64_t slabs) {
    uint64_t row = 0;
    for (uint32_t i = 0; i < ledger.slabs; i++) {
        const struct ph_slab *slab = &ledger.bed.book->slab[i];
        if (ph_tag(state_of(i)) != POOL_HEAP_FREE)
            row = 0;
        else
            row = row != 0 && slab[-1].base + SLAB == slab->base ? row + 1 : 1;
        if (row == slabs)
            return true;
    }
    return false;
}

static bool has_block(uint32_t cls) {
    for (uint32_t i = 0; i < ledger.slabs; i++) {
        uint32_t state = state_of(i);
        if (ph_tag(state) == POOL_HEAP_FIRST + cls &&
            (state & POOL_HEAP_COUNT_MASK) < ledger.bed.book->cls[cls].blocks)
            return true;
    }
    return has_row(1);
}

static bool has_room(size_t bytes) {
    uint32_t cls = ph_class_of(bytes);
    return cls < ledger.bed.book->classes ? has_block(cls) : has_row((bytes - 1) / SLAB + 1);
}

static size_t draw_size(void) {
    return churn_size(numbers_next(&ledger.numbers), below(8) == 0 ? 6 * SLAB : 5000);
}

static void check_apart(const struct block *block) {
    for (uint32_t i = 0; i < ledger.count; i++) {
        const struct block *other = &ledger.block[i];
        REQUIRE(block == other || block->address + block->bytes <= other->address ||
                other->address + other->bytes <= block->address);
    }
}

static void take(void) {
    struct block *block = &ledger.block[ledger.count];
    if (ledger.count == BLOCKS)
        return;
    block->bytes = draw_size();
    block->key = numbers_next(&ledger.numbers);
    bool room = has_room(block->bytes);
    block->address = pool_heap_malloc(ledger.bed.heap, block->bytes);
    REQUIRE_EQUAL(block->address != NULL, room);
    ledger.failures += !room;
    if (!room)
        return;
    contents_write(block->address, block->bytes, block->key);
    check_apart(block);
    ledger.count++;
}

static void give(void) {
    if (ledger.count == 0)
        return;
    struct block *block = &ledger.block[below(ledger.count)];
    REQUIRE(contents_hold(block->address, block->bytes, block->bytes, block->key));
    pool_heap_free(ledger.bed.heap, block->address);
    ledger.freed = block->address;
    *block = ledger.block[--ledger.count];
}

static void change(void) {
    if (ledger.count == 0)
        return;
    struct block *block = &ledger.block[below(ledger.count)];
    size_t bytes = draw_size(), had = block->bytes;
    size_t usable = pool_heap_usable_size(ledger.bed.heap, block->address);
    bool stays = bytes <= usable && (bytes > usable / 2 || usable <= 32);
    bool room = stays || has_room(bytes);
    REQUIRE(usable >= had);
    char *moved = pool_heap_realloc(ledger.bed.heap, block->address, bytes);
    REQUIRE_EQUAL(moved != NULL, room || bytes <= usable);
    REQUIRE_EQUAL(moved == block->address, stays || (!room && bytes <= usable));
    ledger.failures += !room;
    if (moved == NULL)
        return;
    REQUIRE(contents_hold(moved, had < bytes ? had : bytes, had, block->key));
    block->address = moved;
    block->bytes = bytes;
    contents_write(moved, bytes, block->key);
    check_apart(block);
}

// True if a live block begins there.
static bool is_live(const char *address) {
    for (uint32_t i = 0; i < ledger.count; i++) {
        if (ledger.block[i].address == address)
            return true;
    }
    return false;
}

static void err(void) {
    struct ph_book *book = ledger.bed.book;
    uint64_t errors = book->foreign_frees + book->double_frees;
    char *address = below(2) == 0 && ledger.count != 0
                        ? ledger.block[below(ledger.count)].address + 8
                        : ledger.freed;
    if (address == NULL || is_live(address))
        return;
    pool_heap_free(ledger.bed.heap, address);
    REQUIRE_EQUAL(book->foreign_frees + book->double_frees, errors + 1);
}

static void close_and_admit(void) {
    uint32_t first = below(ledger.slabs), count = 1 + below(ledger.slabs - first);
    bool all_free = true;
    for (uint32_t i = first; i < first + count; i++)
        all_free &= ph_tag(state_of(i)) == POOL_HEAP_FREE;
    REQUIRE_EQUAL((uint64_t)ph_close(ledger.bed.book, first, count), all_free);
    uint64_t home = below(2) == 0 ? ledger.home : (ledger.slabs + 2) * SLAB;
    if (all_free)
        bed_admit(&ledger.bed, first, count, home + first * SLAB);
}

static void act(void) {
    uint32_t lot = below(100), many = ledger.count > BLOCKS / 2;
    if (lot < 45)
        (many ? give : take)();
    else if (lot < 75)
        (many ? take : give)();
    else if (lot < 90)
        change();
    else if (lot < 97)
        err();
    else if (ledger.closes)
        close_and_admit();
}

static uint64_t all_failures(const struct ph_book *book) {
    uint64_t failures = 0;
    for (uint32_t i = 0; i <= POOL_HEAP_CLASSES; i++)
        failures += book->failures[i];
    return failures;
}

static void keep_the_ledger(uint64_t seed, uint64_t operations) {
    memset(&ledger, 0, sizeof ledger);
    ledger.numbers.state = seed;
    ledger.slabs = 1 + below(below(2) == 0 ? 12 : SLABS_MOST);
    ledger.closes = below(2) == 0;
    ledger.home = 512 * (uint64_t)below(129);
    bed_open(&ledger.bed, ledger.slabs * SLAB, 2 * ledger.slabs + 2);
    bed_admit(&ledger.bed, 0, ledger.slabs, ledger.home);
    for (uint64_t n = 0; n < operations; n++) {
        test_set_subject("ledger, seed %llu, operation %llu", (unsigned long long)seed,
                         (unsigned long long)n);
        act();
        if (n % 64 == 0)
            bed_check(&ledger.bed);
    }
    REQUIRE_EQUAL(all_failures(ledger.bed.book), ledger.failures);
    while (ledger.count != 0)
        give();
    bed_check_empty(&ledger.bed, ledger.slabs);
    bed_shut(&ledger.bed);
}

static void churn_in_warps(uint64_t seed) {
    static struct churn churn;
    struct numbers numbers = {seed};
    struct bed bed;
    uint32_t slabs = 1 + (uint32_t)numbers_below(&numbers, 6);
    uint32_t most = numbers_once_in(&numbers, 2) ? slabs : 1024;
    bed_open_full(&bed, most * SLAB, slabs, numbers_below(&numbers, 128) * 512);
    churn = (struct churn){.bed = &bed, .operations = 60, .may_fail = true};
    for (uint32_t round = 0; round < 3; round++) {
        test_set_subject("warps, seed %llu, round %u", (unsigned long long)seed, round);
        uint32_t lanes = 1u << numbers_below(&numbers, 4);
        churn.seed = seed * 10 + round;
        churn.bytes_most = numbers_once_in(&numbers, 2) ? 2 * SLAB : SLAB / 2;
        struct warps warps = {.way = seed % 2 == 0 ? WARPS_FREE : WARPS_STEPPED,
                              .warps = 1 + (uint32_t)numbers_below(&numbers, 16 / lanes),
                              .lanes = lanes,
                              .seed = churn.seed,
                              .kernel = churn_kernel,
                              .argument = &churn};
        warps_run(&warps);
        bed_check(&bed);
    }
    churn_end(&churn);
    REQUIRE_EQUAL(bed.book->foreign_frees + bed.book->double_frees, 0);
    bed_check_empty(&bed, slabs);
    bed_shut(&bed);
}

static uint64_t option(int argc, char **argv, const char *name, uint64_t value) {
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], name) == 0)
            value = strtoull(argv[i + 1], NULL, 10);
    }
    return value;
}

int main(int argc, char **argv) {
    uint64_t first = option(argc, argv, "--seed", 1), seeds = option(argc, argv, "--seeds", 12);
    uint64_t operations = option(argc, argv, "--operations", 3000);
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        keep_the_ledger(seed, operations);
        churn_in_warps(seed);
    }
    printf("%llu seeds\n", (unsigned long long)seeds);
    return 0;
}
