// Random mallocs and frees against a ledger: contents, figures, and no two blocks at one byte.
#include "mam/fixture.h"

#include <stdlib.h>

#include "mam/blocks.h"

enum { PLACES = 600, STEPS = 6000, SEEDS = 6 };

struct ledger {
    poolMam_t mam;
    size_t most; // bytes of a block
    uint64_t random;
    uint64_t used;
    uint64_t refused;
    struct block blocks[PLACES];
};

static void step(struct ledger *ledger, uint64_t number) {
    struct block *block = &ledger->blocks[blocks_random(&ledger->random) % PLACES];
    if (block->pointer) {
        ledger->used -= block->size;
        blocks_free(ledger->mam, block);
        return;
    }
    size_t size = blocks_size(&ledger->random, ledger->most);
    if (blocks_allocate(ledger->mam, block, size, number * 0x9e3779b97f4a7c15))
        ledger->used += size;
    else
        ledger->refused++;
}

// The blocks sorted by address don't overlap.
static int compare(const void *left, const void *right) {
    const struct block *a = left, *b = right;
    return (a->pointer > b->pointer) - (a->pointer < b->pointer);
}

static void check_apart(const struct ledger *ledger) {
    static struct block sorted[PLACES];
    for (int i = 0; i < PLACES; i++)
        sorted[i] = ledger->blocks[i];
    qsort(sorted, PLACES, sizeof *sorted, compare);
    for (int i = 1; i < PLACES; i++)
        if (sorted[i - 1].pointer)
            assert_true((uintptr_t)sorted[i - 1].pointer + sorted[i - 1].size <=
                        (uintptr_t)sorted[i].pointer);
}

static void check(const struct ledger *ledger) {
    poolMemPool_t pool = mam_pool(ledger->mam);
    assert_int_equal(fixture_used(pool), ledger->used);
    assert_true(fixture_reserved(pool) >= ledger->used);
    for (int i = 0; i < PLACES; i++)
        if (ledger->blocks[i].pointer)
            blocks_check(&ledger->blocks[i]);
    check_apart(ledger);
    fixture_check(pool);
}

static void play(struct ledger *ledger) {
    for (uint64_t i = 1; i <= STEPS; i++) {
        step(ledger, i);
        if (i % (STEPS / 4) == 0)
            check(ledger);
    }
    for (int i = 0; i < PLACES; i++)
        if (ledger->blocks[i].pointer)
            blocks_free(ledger->mam, &ledger->blocks[i]);
    ledger->used = 0;
    check(ledger);
}

// With the whole of the chunk as the last block, which is there again at the end.
static void random_calls_do_what_a_ledger_says(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct ledger *ledger = calloc(1, sizeof *ledger);
        assert_non_null(ledger);
        ledger->mam = mam_of(MIB(512), seed % 2 ? poolMamFixed : poolMamDefault);
        ledger->random = seed;
        ledger->most = MIB(1) << (seed - 1);
        play(ledger);
        assert_true(seed != 5 || ledger->refused > 0);
        assert_true(seed % 2 || ledger->refused == 0);
        mam_free(ledger->mam, mam_malloc(ledger->mam, MIB(512)));
        mam_destroy(ledger->mam);
        mam_device_is_empty(0);
        free(ledger);
    }
}

static int setup(void **state) {
    (void)state;
    return fixture_begin("memory=64G");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(random_calls_do_what_a_ledger_says, setup,
                                        fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
