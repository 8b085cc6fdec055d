// A thread that stops for good in the middle of a call, as one that traps: at each of its steps in
// turn. Others go on: each of their requests is served or refused, what they write stays, and no
// more slabs are lost than the stopped thread had in its hands.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "heap/churn.h"
#include "heap/contents.h"
#include "random/numbers.h"
#include "support/check.h"

#define SLAB UINT64_C(65536)

enum {
    SLABS = 24,
    BYTES = 8192, // a slab has room until it has 7 of its 8 blocks
    HELD_MOST = SLABS * SLAB / BYTES + 1,
    STEPS_MOST = 5000,
    SEEDS = 50
};

static struct bed bed;

// Blocks that live on while the thread stops, and the one that it frees.
static void *held[HELD_MOST], *given;
static uint32_t held_count;

static void hold(uint32_t blocks, size_t bytes) {
    for (uint32_t i = 0; i < blocks; i++) {
        held[held_count] = pool_heap_malloc(bed.heap, bytes);
        REQUIRE(held[held_count] != NULL);
        held_count++;
    }
}

static void drop(uint32_t i) {
    pool_heap_free(bed.heap, held[i]);
    held[i] = NULL;
}

static void drop_all(void) {
    for (uint32_t i = 0; i < held_count; i++)
        drop(i);
    held_count = 0;
}

// A call of the thread: what comes before it, and how many slabs it has in its hands at most.
struct scene {
    const char *name;
    void (*prepare)(void);
    void (*call)(void);
    uint32_t lost_most;
};

static void prepare_nothing(void) {
}

static void prepare_open_slab(void) {
    hold(3, BYTES);
}

static void prepare_limit_of_room(void) {
    hold(6, BYTES);
}

static void prepare_last_block(void) {
    hold(7, BYTES);
}

static void prepare_full_slab(void) {
    hold(8, BYTES);
}

static void prepare_slab_with_room(void) {
    hold(16, BYTES);
    drop(1);
    drop(3);
}

// The slab that is listed has no room any more.
static void prepare_nearly_full_heap(void) {
    hold(SLABS * 8, BYTES);
    drop(11);
}

static void prepare_full_heap(void) {
    hold(SLABS * 8, BYTES);
}

static void prepare_given(void) {
    given = held[held_count - 1];
    held_count--;
}

static void prepare_free_of_some(void) {
    hold(4, BYTES);
    prepare_given();
}

static void prepare_free_in_full_slab(void) {
    hold(8, BYTES);
    prepare_given();
}

static void prepare_free_that_makes_room(void) {
    hold(7, BYTES);
    prepare_given();
}

static void prepare_free_of_last(void) {
    hold(1, BYTES);
    prepare_given();
}

// No other slab is free, so the sums of the set change.
static void prepare_free_of_last_in_full_heap(void) {
    hold(SLABS - 1, SLAB);
    hold(1, BYTES);
    prepare_given();
}

static void prepare_free_of_run(void) {
    hold(1, 3 * SLAB);
    prepare_given();
}

static void prepare_free_of_run_in_full_heap(void) {
    hold(1, 3 * SLAB);
    given = held[0];
    held_count = 0;
    hold(SLABS - 3, SLAB);
}

static void take_block(void) {
    pool_heap_malloc(bed.heap, BYTES);
}

static void take_slab(void) {
    pool_heap_malloc(bed.heap, SLAB);
}

static void take_run(void) {
    pool_heap_malloc(bed.heap, 3 * SLAB);
}

static void give_it(void) {
    pool_heap_free(bed.heap, given);
}

static const struct scene mallocs[] = {
    {"a block where no slab is open", prepare_nothing, take_block, 1},
    {"a block of an open slab", prepare_open_slab, take_block, 1},
    {"the block that leaves no room", prepare_limit_of_room, take_block, 1},
    {"the last block of a slab", prepare_last_block, take_block, 1},
    {"a block behind a full slab", prepare_full_slab, take_block, 1},
    {"a block of a slab with room", prepare_slab_with_room, take_block, 1},
    {"a block of a nearly full heap", prepare_nearly_full_heap, take_block, 1},
    {"a block of a full heap", prepare_full_heap, take_block, 1},
    {"a slab", prepare_open_slab, take_slab, 1},
    {"a slab of a full heap", prepare_full_heap, take_slab, 1},
    {"a run", prepare_open_slab, take_run, 3},
    {"a run in a full heap", prepare_full_heap, take_run, 3},
};

static const struct scene frees[] = {
    {"of some blocks", prepare_free_of_some, give_it, 1},
    {"in a full slab", prepare_free_in_full_slab, give_it, 1},
    {"that makes room", prepare_free_that_makes_room, give_it, 1},
    {"of a slab's last block", prepare_free_of_last, give_it, 1},
    {"of a slab's last block in a full heap", prepare_free_of_last_in_full_heap, give_it, 1},
    {"of a run", prepare_free_of_run, give_it, 3},
    {"of a run in a full heap", prepare_free_of_run_in_full_heap, give_it, 3},
};

// Makes the call and stops at this step. False: it ended before.
static bool stop(const struct scene *scene, uint32_t step) {
    jmp_buf place;
    if (setjmp(place) != 0)
        return true;
    warps_stop_at(step, &place);
    scene->call();
    warps_stop_at(0, NULL);
    return false;
}

// Others allocate, write, check and free, and leave nothing: one after the other, or sometimes
// several at once, which takes longer.
static void go_on(uint32_t step) {
    static struct churn churn;
    churn = (struct churn){
        .bed = &bed, .seed = step, .operations = 20, .bytes_most = SLAB, .may_fail = true};
    if (step % 8 != 0) {
        churn_kernel(&churn, 0);
        churn_kernel(&churn, 1);
    } else {
        warps_run(&(struct warps){.way = step % 16 == 0 ? WARPS_FREE : WARPS_STEPPED,
                                  .warps = 2,
                                  .lanes = 2,
                                  .seed = step,
                                  .kernel = churn_kernel,
                                  .argument = &churn});
    }
    churn_end(&churn);
    REQUIRE_EQUAL(bed.book->foreign_frees + bed.book->double_frees, 0);
}

// All slabs that anybody can get: as blocks, and then to close them.
static void require_slabs(uint32_t least) {
    void *slab[SLABS + 1];
    uint32_t count = 0, closed = 0;
    while ((slab[count] = pool_heap_malloc(bed.heap, SLAB)) != NULL) {
        contents_write(slab[count], SLAB, count);
        count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        REQUIRE(contents_hold(slab[i], SLAB, SLAB, i));
        pool_heap_free(bed.heap, slab[i]);
    }
    REQUIRE(count >= least);
    for (uint32_t i = 0; i < SLABS; i++)
        closed += (uint32_t)ph_close(bed.book, i, 1);
    REQUIRE_EQUAL(closed, count);
}

static bool play(const struct scene *scene, uint32_t step) {
    test_set_subject("%s, step %u", scene->name, (unsigned)step);
    bed_open_full(&bed, SLABS * SLAB, SLABS, 512);
    held_count = 0;
    scene->prepare();
    bool stopped = stop(scene, step);
    for (uint32_t i = 0; i < held_count / 2; i++)
        drop(i);
    go_on(step);
    drop_all();
    if (stopped)
        require_slabs(SLABS - scene->lost_most);
    bed_shut(&bed);
    return stopped;
}

static void play_all(const struct scene *scenes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t step = 1;
        while (play(&scenes[i], step))
            REQUIRE(step++ < STEPS_MOST);
        REQUIRE(step > 1);
    }
}

static void a_thread_may_stop_at_each_step_of_an_allocation(void **state) {
    (void)state;
    play_all(mallocs, sizeof mallocs / sizeof mallocs[0]);
}

static void a_thread_may_stop_at_each_step_of_a_free(void **state) {
    (void)state;
    play_all(frees, sizeof frees / sizeof frees[0]);
}

// Thread 0 makes pairs until it stops; it has one block at most.
static void stop_beside(void *argument, uint32_t thread) {
    struct churn *churn = argument;
    jmp_buf place;
    if (thread != 0) {
        churn_kernel(churn, thread);
        return;
    }
    if (setjmp(place) != 0)
        return;
    struct numbers numbers = {churn->seed};
    warps_stop_at(1 + (uint32_t)numbers_below(&numbers, 300), &place);
    for (;;)
        pool_heap_free(bed.heap,
                       pool_heap_malloc(bed.heap, churn_size(numbers_next(&numbers), 3 * SLAB)));
}

static void a_thread_may_stop_beside_others(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        static struct churn churn;
        churn = (struct churn){
            .bed = &bed, .seed = seed, .operations = 60, .bytes_most = SLAB, .may_fail = true};
        test_set_subject("seed %u", (unsigned)seed);
        bed_open_full(&bed, SLABS * SLAB, SLABS, 512);
        warps_run(&(struct warps){.way = seed % 4 == 0 ? WARPS_FREE : WARPS_STEPPED,
                                  .warps = 4,
                                  .lanes = 1,
                                  .seed = seed,
                                  .kernel = stop_beside,
                                  .argument = &churn});
        churn_end(&churn);
        REQUIRE_EQUAL(bed.book->foreign_frees + bed.book->double_frees, 0);
        require_slabs(SLABS - 3);
        bed_shut(&bed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_may_stop_at_each_step_of_an_allocation),
        cmocka_unit_test(a_thread_may_stop_at_each_step_of_a_free),
        cmocka_unit_test(a_thread_may_stop_beside_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
