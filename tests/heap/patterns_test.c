// What programs do with a heap inside kernels, by the public survey of such allocators: allocation,
// mixed sizes, scaling, fragmentation, out of memory, graphs, work that makes work; and what is
// special here: frees by others, frees by many at once, and trim beside running threads. Each runs
// with the lanes free and stepped, by several seeds, and leaves an empty heap.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <stdbool.h>

#include "heap/churn.h"
#include "heap/contents.h"
#include "random/numbers.h"
#include "support/check.h"

#define SLAB UINT64_C(65536)

enum { SEEDS = 4, THREADS = 12 };

struct scene {
    struct bed bed;
    uint64_t seed;
    struct warps warps;
};

static struct scene scene;

static void run(void (*kernel)(void *argument, uint32_t thread), void *argument) {
    scene.warps.kernel = kernel;
    scene.warps.argument = argument;
    warps_run(&scene.warps);
}

// Plays with a heap of so many slabs.
static void play(void (*act)(void), uint32_t warps, uint32_t lanes, uint32_t slabs) {
    for (uint32_t i = 0; i < 2 * SEEDS; i++) {
        enum warps_way way = i % 2 == 0 ? WARPS_FREE : WARPS_STEPPED;
        scene.seed = i / 2 + 1;
        scene.warps =
            (struct warps){.way = way, .warps = warps, .lanes = lanes, .seed = scene.seed};
        uint32_t most = scene.seed % 2 == 0 ? slabs : 1024; // a large book has groups of processors
        bed_open_full(&scene.bed, most * SLAB, slabs, scene.seed % 2 * 33280);
        test_set_subject("%s seed %u", way == WARPS_FREE ? "free" : "stepped",
                         (unsigned)scene.seed);
        act();
        bed_check_empty(&scene.bed, slabs);
        bed_shut(&scene.bed);
    }
}

static void *take(size_t bytes) {
    void *block = pool_heap_malloc(scene.bed.heap, bytes);
    if (block != NULL)
        contents_write(block, bytes, (uint64_t)(uintptr_t)block);
    return block;
}

static void *take_some(size_t bytes) {
    void *block = take(bytes);
    REQUIRE(block != NULL);
    return block;
}

static void give(void *block, size_t bytes) {
    REQUIRE(contents_hold(block, bytes, bytes, (uint64_t)(uintptr_t)block));
    pool_heap_free(scene.bed.heap, block);
}

static void allocate(void *argument, uint32_t thread) {
    (void)argument, (void)thread;
    static const size_t sizes[] = {16, 64, 100, 1024, 8192};
    for (uint32_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        void *block[6];
        for (uint32_t j = 0; j < 6; j++)
            block[j] = take_some(sizes[i]);
        for (uint32_t j = 0; j < 6; j++)
            give(block[j], sizes[i]);
    }
}

static void allocate_all(void) {
    run(allocate, NULL);
}

static void threads_allocate_and_free_blocks_of_one_size(void **state) {
    (void)state;
    play(allocate_all, 1, 8, 64);
    play(allocate_all, 3, 4, 64);
    play(allocate_all, 6, 1, 64);
}

// Free lanes may be stopped by the system in the middle of a search, and be overtaken.
static bool none_is_overtaken(void) {
    return scene.warps.way == WARPS_STEPPED;
}

enum { FILLERS = 20, FILLED = 25, FILL_BYTES = 96 };
static char *filled[FILLERS][FILLED];

static void fill(void *argument, uint32_t thread) {
    (void)argument;
    for (uint32_t i = 0; i < FILLED; i++)
        filled[thread][i] = take_some(FILL_BYTES);
}

static void fill_a_slab(void) {
    run(fill, NULL);
    char *least = filled[0][0], *most = least;
    for (uint32_t i = 1; i < FILLERS * FILLED; i++) {
        char *block = filled[i / FILLED][i % FILLED];
        least = block < least ? block : least;
        most = block > most ? block : most;
    }
    if (none_is_overtaken())
        REQUIRE_EQUAL((uint64_t)(most - least), (FILLERS * FILLED - 1) * FILL_BYTES);
    for (uint32_t i = 0; i < FILLERS * FILLED; i++)
        give(filled[i / FILLED][i % FILLED], FILL_BYTES);
}

// However many blocks each request is for.
static void a_slab_that_nobody_has_freed_in_is_filled_from_its_beginning(void **state) {
    (void)state;
    play(fill_a_slab, 4, 5, 8);
    play(fill_a_slab, 20, 1, 8);
}

enum { KEPT = 8, KEEPERS = 32 };
static void *kept[KEEPERS][KEPT];

static void keep(void *argument, uint32_t thread) {
    (void)argument;
    for (uint32_t i = 0; i < KEPT; i++)
        kept[thread][i] = take_some(SLAB / 2);
}

static void keep_and_count(void) {
    run(keep, NULL);
    uint32_t used = scene.bed.book->present - bed_count(&scene.bed, POOL_HEAP_FREE);
    REQUIRE(!none_is_overtaken() || used <= KEEPERS * KEPT / 2 + scene.bed.book->spread);
    for (uint32_t i = 0; i < KEEPERS * KEPT; i++)
        give(kept[i / KEPT][i % KEPT], SLAB / 2);
}

static void threads_that_wait_for_a_slab_open_none_of_their_own(void **state) {
    (void)state;
    play(keep_and_count, KEEPERS, 1, 256);
    play(keep_and_count, KEEPERS / 4, 4, 256);
}

static struct churn churn;

static void churn_all(uint32_t operations, uint64_t bytes_most, bool may_fail) {
    churn = (struct churn){.bed = &scene.bed,
                           .seed = scene.seed,
                           .operations = operations,
                           .bytes_most = bytes_most,
                           .may_fail = may_fail};
    run(churn_kernel, &churn);
    bed_check(&scene.bed);
    churn_end(&churn);
    REQUIRE_EQUAL(scene.bed.book->foreign_frees + scene.bed.book->double_frees, 0);
}

static void mix(void) {
    churn_all(60, 4 * SLAB, false);
}

static void threads_mix_sizes_and_keep_some(void **state) {
    (void)state;
    play(mix, 3, 4, 1024);
}

static void churn_in_two_slabs(void) {
    churn_all(80, SLAB, true);
}

static void no_slab_is_lost_where_slabs_change_classes_all_the_time(void **state) {
    (void)state;
    play(churn_in_two_slabs, 3, 4, 2);
    play(churn_in_two_slabs, 8, 1, 1);
}

static void break_up(void *argument, uint32_t thread) {
    (void)argument, (void)thread;
    enum { BLOCKS = 12 };
    void *small[BLOCKS], *large[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++)
        small[i] = take_some(256);
    for (uint32_t i = 0; i < BLOCKS; i += 2)
        give(small[i], 256);
    for (uint32_t i = 0; i < BLOCKS; i++)
        large[i] = take_some(i % 4 == 0 ? SLAB + 1 : 700);
    for (uint32_t i = 1; i < BLOCKS; i += 2)
        give(small[i], 256);
    for (uint32_t i = 0; i < BLOCKS; i++)
        give(large[i], i % 4 == 0 ? SLAB + 1 : 700);
}

static void break_up_all(void) {
    run(break_up, NULL);
}

static void holes_between_blocks_are_used_and_close_again(void **state) {
    (void)state;
    play(break_up_all, 3, 4, 256);
}

// Blocks by the thread that took them.
enum { FULL_SLABS = 3, FULL_BYTES = 1000, FULL_MOST = FULL_SLABS * 65536 / 1024 };
static void *taken[THREADS][FULL_MOST + 1];

static void take_until_null(void *argument, uint32_t thread) {
    (void)argument;
    uint32_t i = 0;
    while (i < FULL_MOST && (taken[thread][i] = take(FULL_BYTES)) != NULL)
        i++;
    taken[thread][i] = NULL;
}

static void give_what_the_next_took(void *argument, uint32_t thread) {
    (void)argument;
    void **block = taken[(thread + 1) % THREADS];
    for (uint32_t i = 0; block[i] != NULL; i++)
        give(block[i], FULL_BYTES);
}

static void exhaust(void) {
    for (uint32_t round = 0; round < 2; round++) {
        run(take_until_null, NULL);
        bed_check(&scene.bed);
        uint64_t had = bed_taken(&scene.bed, ph_class_of(FULL_BYTES)), left = 0;
        void *rest[FULL_MOST + 1];
        while ((rest[left] = take(FULL_BYTES)) != NULL)
            left++;
        REQUIRE_EQUAL(had + left, FULL_MOST);
        REQUIRE(scene.bed.book->failures[ph_class_of(FULL_BYTES)] != 0);
        run(give_what_the_next_took, NULL);
        for (uint64_t i = 0; i < left; i++)
            give(rest[i], FULL_BYTES);
        bed_check_empty(&scene.bed, FULL_SLABS);
    }
}

static void a_heap_that_ran_out_of_memory_recovers_every_byte(void **state) {
    (void)state;
    play(exhaust, 3, 4, FULL_SLABS);
}

// Each thread keeps to its share of a heap that has no byte more: slabs are full and have one block
// to spare all the time. A request may be refused while others are in the middle of a call.
enum { SHARE_MOST = 8 };

static void *held[THREADS][SHARE_MOST];

static void keep_to_share(void *argument, uint32_t thread) {
    size_t bytes = *(size_t *)argument;
    uint32_t share = (uint32_t)(FULL_SLABS * SLAB / bytes / THREADS);
    struct numbers numbers = {scene.seed * 1000 + bytes + thread};
    for (uint64_t n = numbers_below(&numbers, 60); n != 0; n--) {
        void **block = &held[thread][numbers_below(&numbers, share)];
        if (*block == NULL) {
            *block = take(bytes);
        } else {
            give(*block, bytes);
            *block = NULL;
        }
    }
}

static void keep_to_shares(void) {
    for (size_t bytes = 2048; bytes <= 16384; bytes *= 2) {
        for (uint32_t round = 0; round < 3; round++) {
            scene.warps.seed = scene.seed * 10 + round;
            run(keep_to_share, &bytes);
            bed_check(&scene.bed);
        }
        for (uint32_t i = 0; i < THREADS * SHARE_MOST; i++) {
            if (held[i / SHARE_MOST][i % SHARE_MOST] != NULL)
                give(held[i / SHARE_MOST][i % SHARE_MOST], bytes);
            held[i / SHARE_MOST][i % SHARE_MOST] = NULL;
        }
        bed_check_empty(&scene.bed, FULL_SLABS);
    }
}

static void every_block_to_spare_stays_findable_at_the_brim(void **state) {
    (void)state;
    play(keep_to_shares, 3, 4, FULL_SLABS);
}

// Each thread takes the runs that it can get and gives them back, while others do.
static void take_runs(void *argument, uint32_t thread) {
    (void)argument;
    for (uint32_t i = 0; i < 12; i++) {
        size_t bytes = (thread % 3 == 0 ? 66 : thread % 3 == 1 ? 1 : 1 + i % 5) * SLAB;
        void *block = take(bytes);
        if (block != NULL)
            give(block, bytes);
    }
}

static void take_runs_all(void) {
    run(take_runs, NULL);
}

static void threads_contend_for_runs_of_slabs(void **state) {
    (void)state;
    play(take_runs_all, 3, 4, 9);
    play(take_runs_all, 3, 4, 70); // 66 lie across words of a set
}

// A graph: the neighbours of each vertex are a block, which grows.
enum { VERTICES = 36 };
static struct vertex {
    uint32_t *neighbour;
    uint32_t count, room;
} vertices[VERTICES];

static void add_edge(uint32_t v) {
    struct vertex *vertex = &vertices[v];
    if (vertex->count == vertex->room) {
        uint32_t room = vertex->room == 0 ? 2 : 2 * vertex->room;
        vertex->neighbour =
            pool_heap_realloc(scene.bed.heap, vertex->neighbour, room * sizeof(uint32_t));
        REQUIRE(vertex->neighbour != NULL);
        vertex->room = room;
    }
    vertex->neighbour[vertex->count] = v * 1000 + vertex->count;
    vertex->count++;
}

static void drop_edges(uint32_t v) {
    struct vertex *vertex = &vertices[v];
    for (uint32_t i = 0; i < vertex->count; i++)
        REQUIRE(vertex->neighbour[i] == v * 1000 + i);
    pool_heap_free(scene.bed.heap, vertex->neighbour);
    *vertex = (struct vertex){0};
}

// In each round another thread has the vertex.
static void change_graph(void *argument, uint32_t thread) {
    uint32_t round = *(uint32_t *)argument;
    struct numbers numbers = {scene.seed * 1000 + round * 100 + thread};
    for (uint32_t v = (thread + round) % THREADS; v < VERTICES; v += THREADS) {
        if (numbers_once_in(&numbers, 4))
            drop_edges(v);
        for (uint64_t edges = numbers_below(&numbers, 30); edges != 0; edges--)
            add_edge(v);
    }
}

static void build_graph(void) {
    for (uint32_t round = 0; round < 4; round++) {
        run(change_graph, &round);
        bed_check(&scene.bed);
    }
    for (uint32_t v = 0; v < VERTICES; v++)
        drop_edges(v);
}

static void a_graph_is_built_and_changed(void **state) {
    (void)state;
    play(build_graph, 3, 4, 64);
}

// Items of work in some slots: who puts one in does the one that was there.
struct item {
    size_t bytes;
    unsigned char contents[];
};
static _Atomic(struct item *) slots[8];

static void do_item(struct item *item) {
    if (item == NULL)
        return;
    uint64_t key = (uint64_t)(uintptr_t)item;
    REQUIRE(contents_hold(item->contents, item->bytes, item->bytes, key));
    pool_heap_free(scene.bed.heap, item);
}

static void make_work(void *argument, uint32_t thread) {
    (void)argument;
    struct numbers numbers = {scene.seed * 1000 + thread};
    for (uint32_t i = 0; i < 40; i++) {
        size_t bytes = churn_size(numbers_next(&numbers), 3000);
        struct item *item = pool_heap_malloc(scene.bed.heap, sizeof *item + bytes);
        REQUIRE(item != NULL);
        item->bytes = bytes;
        contents_write(item->contents, bytes, (uint64_t)(uintptr_t)item);
        do_item(atomic_exchange(&slots[numbers_below(&numbers, 8)], item));
    }
}

static void work(void) {
    run(make_work, NULL);
    for (uint32_t i = 0; i < 8; i++)
        do_item(atomic_exchange(&slots[i], NULL));
}

static void threads_free_the_blocks_of_others(void **state) {
    (void)state;
    play(work, 3, 4, 64);
}

static void *shared[20];

static void give_shared(void *argument, uint32_t thread) {
    (void)argument, (void)thread;
    for (uint32_t i = 0; i < 20; i++)
        pool_heap_free(scene.bed.heap, shared[i]);
}

static void free_at_once(void) {
    for (uint32_t i = 0; i < 20; i++)
        shared[i] = take_some(i < 16 ? 100 : (i - 15) * SLAB);
    run(give_shared, NULL);
    REQUIRE_EQUAL(scene.bed.book->double_frees, 20 * (THREADS - 1));
    REQUIRE_EQUAL(scene.bed.book->foreign_frees, 0);
    for (uint32_t i = 0; i < POOL_HEAP_ERRORS; i++)
        REQUIRE_EQUAL(scene.bed.book->error[i].kind, poolHeapErrorDouble);
}

static void of_many_frees_of_a_block_one_counts_and_the_others_are_errors(void **state) {
    (void)state;
    play(free_at_once, 3, 4, 64);
}

static void free_twice_together(void *argument, uint32_t thread) {
    (void)argument;
    pool_heap_free(scene.bed.heap, shared[thread % 4]);
    pool_heap_free(scene.bed.heap, shared[5]);
}

// The address that is remembered is that of the block, not of another one in the same call.
static void free_some_twice(void) {
    for (uint32_t i = 0; i < 6; i++)
        shared[i] = take_some(100);
    run(free_twice_together, NULL);
    REQUIRE_EQUAL(scene.bed.book->double_frees, 4 + 7);
    uint32_t times[6] = {0};
    for (uint32_t i = 0; i < 11; i++) {
        for (uint32_t j = 0; j < 6; j++)
            times[j] += scene.bed.book->error[i].address == (uint64_t)(uintptr_t)shared[j];
    }
    for (uint32_t j = 0; j < 6; j++)
        REQUIRE_EQUAL(times[j], j < 4 ? 1 : j == 4 ? 0 : 7);
    give(shared[4], 100);
}

static void an_error_has_the_address_of_its_block(void **state) {
    (void)state;
    play(free_some_twice, 1, 8, 8);
}

// Thread 0 is the host: it closes slabs, and admits them elsewhere. Each slab has two homes, in the
// middle of a cell of addresses: the next slab begins in the cell where it ends.
enum { TRIM_SLABS = 10, TRIM_SKEW = 33280 };

static void trim(void *argument, uint32_t thread) {
    if (thread != 0) {
        churn_kernel(argument, thread);
        return;
    }
    struct numbers numbers = {scene.seed};
    for (uint32_t i = 0; i < 60; i++) {
        uint32_t first = (uint32_t)numbers_below(&numbers, TRIM_SLABS);
        uint32_t count = 1 + (uint32_t)numbers_below(&numbers, TRIM_SLABS - first);
        uint64_t home = TRIM_SKEW + numbers_below(&numbers, 2) * (TRIM_SLABS + 1) * SLAB;
        if (ph_close(scene.bed.book, first, count))
            bed_admit(&scene.bed, first, count, home + first * SLAB);
        warps_wait();
    }
}

static void trim_and_churn(void) {
    struct bed *bed = &scene.bed;
    bed_shut(bed);
    bed_open(bed, TRIM_SLABS * SLAB, 2 * TRIM_SLABS + 4);
    bed_admit(bed, 0, TRIM_SLABS, TRIM_SKEW);
    churn = (struct churn){
        .bed = bed, .seed = scene.seed, .operations = 60, .bytes_most = 3 * SLAB, .may_fail = true};
    run(trim, &churn);
    bed_check(bed);
    churn_end(&churn);
    REQUIRE_EQUAL(bed->book->foreign_frees + bed->book->double_frees, 0);
}

static void slabs_are_closed_and_admitted_elsewhere_beside_running_threads(void **state) {
    (void)state;
    play(trim_and_churn, 3, 4, TRIM_SLABS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_allocate_and_free_blocks_of_one_size),
        cmocka_unit_test(a_slab_that_nobody_has_freed_in_is_filled_from_its_beginning),
        cmocka_unit_test(threads_that_wait_for_a_slab_open_none_of_their_own),
        cmocka_unit_test(threads_mix_sizes_and_keep_some),
        cmocka_unit_test(no_slab_is_lost_where_slabs_change_classes_all_the_time),
        cmocka_unit_test(holes_between_blocks_are_used_and_close_again),
        cmocka_unit_test(a_heap_that_ran_out_of_memory_recovers_every_byte),
        cmocka_unit_test(every_block_to_spare_stays_findable_at_the_brim),
        cmocka_unit_test(threads_contend_for_runs_of_slabs),
        cmocka_unit_test(a_graph_is_built_and_changed),
        cmocka_unit_test(threads_free_the_blocks_of_others),
        cmocka_unit_test(of_many_frees_of_a_block_one_counts_and_the_others_are_errors),
        cmocka_unit_test(an_error_has_the_address_of_its_block),
        cmocka_unit_test(slabs_are_closed_and_admitted_elsewhere_beside_running_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
