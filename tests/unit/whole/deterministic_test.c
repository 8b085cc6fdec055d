// A Deterministic pool hands out the same memory in every run, however fast the device was.
//
// A program runs on devices that differ in when work completes. It asks in many ways whether work
// is complete, and each run must place all blocks alike. A bound on growth makes the pool wait for
// events, so the events that a stream keeps decide where blocks lie.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/fixture/pool.h"
#include "unit/outcomes.h"

#include "random/numbers.h"

enum { STREAMS = 6, BLOCKS = 40, STEPS = 1400 };

struct live {
    void *pointer;
    unsigned stream;
};

struct run {
    poolMemPool_t pool;
    CUstream streams[STREAMS];
    CUstream aside;
    CUevent events[STREAMS];
    struct live live[BLOCKS];
    unsigned count;
    struct numbers numbers;
    void *seen[STEPS]; // the addresses so far
    unsigned seen_count;
    uint64_t placed; // depends on all names so far, and their order
};

static uint64_t draw(struct run *run, uint64_t bound) {
    return numbers_below(&run->numbers, bound);
}

// ----------------------------------------------------------------------------- what a program does

// What the program does with a stream that it has drawn.
typedef void action(struct run *run, unsigned stream);

static void work(CUstream stream) {
    const simcudaWork work = {.name = "work", .duration = 5000};
    assert_int_equal(simcudaEnqueue(stream, &work), CUDA_SUCCESS);
}

// Names an address by the first block that lay there: where a pool's range begins depends on when
// other pools gave theirs back.
static unsigned name_of(struct run *run, void *pointer) {
    unsigned name = 0;
    while (name < run->seen_count && run->seen[name] != pointer)
        name++;
    if (name == run->seen_count)
        run->seen[run->seen_count++] = pointer;
    return name;
}

static void allocate(struct run *run, unsigned stream) {
    bool large = draw(run, 6) > 0;
    size_t size = large ? KIB(57) + draw(run, MIB(8)) : 400 + draw(run, 50000);
    if (run->count == BLOCKS)
        return;
    void *pointer = fixture_malloc(run->pool, size, run->streams[stream]);
    run->placed = run->placed * 31 + name_of(run, pointer);
    work(run->streams[stream]);
    run->live[run->count++] = (struct live){pointer, stream};
}

static void free_at(struct run *run, unsigned index) {
    struct live freed = run->live[index];
    run->live[index] = run->live[--run->count];
    fixture_free(freed.pointer, run->streams[freed.stream]);
}

static void free_one(struct run *run, unsigned stream) {
    (void)stream;
    if (run->count > 0)
        free_at(run, (unsigned)draw(run, run->count));
}

static void trim(struct run *run, unsigned stream) {
    (void)stream;
    fixture_trim(run->pool, MIB(64));
}

static void require_answer(poolError_t error) {
    if (error != poolErrorNotReady)
        assert_int_equal(error, poolSuccess);
}

static void query(struct run *run, unsigned stream) {
    require_answer(poolStreamQuery(run->streams[stream]));
}

static void synchronize(struct run *run, unsigned stream) {
    fixture_synchronize(run->streams[stream]);
}

static void record(struct run *run, unsigned stream) {
    assert_int_equal(poolEventRecord(run->events[stream], run->streams[stream]), poolSuccess);
}

static void wait_for(struct run *run, unsigned stream) {
    CUstream other = run->streams[(stream + 1) % STREAMS];
    assert_int_equal(poolStreamWaitEvent(other, run->events[stream], 0), poolSuccess);
}

static void query_event(struct run *run, unsigned stream) {
    require_answer(poolEventQuery(run->events[stream]));
}

// A new stream may have the slot of one that is gone, and what that left.
static void replace(struct run *run, unsigned stream) {
    if (!run->streams[stream])
        return; // the legacy stream
    for (unsigned i = run->count; i-- > 0;) {
        if (run->live[i].stream == stream)
            free_at(run, i);
    }
    assert_int_equal(poolStreamDestroy(run->streams[stream]), poolSuccess);
    run->streams[stream] = stream % 2 ? simulated_stream() : simulated_blocking_stream();
}

// Another pool, with a stream of its own, goes while its memory is pending. How long it waits then
// depends on the device.
static void give_pool_up(struct run *run, unsigned stream) {
    (void)stream;
    poolMemPool_t pool = fixture_pool();
    void *pointer = fixture_malloc(pool, KIB(100), run->aside);
    work(run->aside);
    fixture_free(pointer, run->aside);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
}

// ------------------------------------------------------------------------------------------- a run

static void set_up(struct run *run) {
    run->pool = fixture_pool();
    fixture_set_flag(run->pool, poolMemPoolAttrDeterministic, 1);
    fixture_set(run->pool, poolMemPoolAttrGrowthBeyondUse, 0);
    run->aside = simulated_stream();
    for (unsigned i = 0; i < STREAMS; i++) {
        run->streams[i] = i == 0       ? NULL
                          : i % 2 == 1 ? simulated_stream()
                                       : simulated_blocking_stream();
        assert_int_equal(sp_driver->cuEventCreate(&run->events[i], CU_EVENT_DISABLE_TIMING),
                         CUDA_SUCCESS);
    }
}

static void tear_down(struct run *run) {
    while (run->count > 0)
        free_at(run, 0);
    for (unsigned i = 0; i < STREAMS; i++)
        assert_int_equal(poolEventDestroy(run->events[i]), poolSuccess);
    assert_int_equal(poolMemPoolDestroy(run->pool), poolSuccess);
}

// Between the allocations and frees the program takes these actions now and then.
struct program {
    uint64_t seed;
    unsigned every; // so many steps
    unsigned count;
    action *actions[8];
};

static uint64_t run_on(const struct program *program, const char *device) {
    struct run run = {.numbers = {program->seed}};
    assert_int_equal(fixture_begin(device), 0);
    set_up(&run);
    for (int step = 0; step < STEPS; step++) {
        unsigned stream = (unsigned)draw(&run, STREAMS);
        bool acts = draw(&run, program->every) == 0;
        uint64_t choice = draw(&run, 2 * 3 * 5 * 7 * 8);
        action *const act = acts         ? program->actions[choice % program->count]
                            : choice % 2 ? allocate
                                         : free_one;
        act(&run, stream);
    }
    tear_down(&run);
    assert_int_equal(fixture_teardown(NULL), 0);
    return run.placed;
}

static void require_alike(const struct program *program) {
    uint64_t placed = run_on(program, "completion=earliest");
    assert_int_equal(run_on(program, "completion=latest,patience=3"), placed);
    assert_int_equal(run_on(program, "completion=seeded,delay=1000000,seed=4"), placed);
}

// --------------------------------------------------------------------------------------- the tests

static void trims_place_nothing_otherwise(void **state) {
    (void)state;
    require_alike(&(struct program){1, 100, 1, {trim}});
}

static void queries_of_streams_place_nothing_otherwise(void **state) {
    (void)state;
    require_alike(&(struct program){4, 20, 1, {query}});
}

static void queries_beside_synchronises_place_nothing_otherwise(void **state) {
    (void)state;
    require_alike(&(struct program){1, 20, 4, {query, query, query, synchronize}});
}

static void queries_of_events_place_nothing_otherwise(void **state) {
    (void)state;
    require_alike(&(struct program){1, 10, 4, {record, wait_for, query_event, query}});
}

static void streams_that_come_and_go_place_nothing_otherwise(void **state) {
    (void)state;
    require_alike(&(struct program){3, 10, 4, {replace, query, query, trim}});
}

static void pools_that_go_place_nothing_otherwise(void **state) {
    (void)state;
    require_alike(&(struct program){1, 10, 2, {give_pool_up, query}});
}

static void all_of_it_places_nothing_otherwise(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 2; seed++)
        require_alike(&(struct program){
            seed,
            10,
            8,
            {trim, query, synchronize, record, wait_for, query_event, replace, give_pool_up}});
}

// ------------------------------------------------------------------- a pool that becomes so later

// Its first pool is the first one of this process: before, the library drops the mark of what was
// found complete.
static void what_was_complete_before_needs_no_event(void **state) {
    (void)state;
    void *block;
    poolMemPool_t pool = fixture_pool_of_at_most(MIB(32));
    CUstream freeing = simulated_stream(), taking = simulated_stream();
    void *freed = fixture_malloc(pool, MIB(32), freeing);
    work(freeing);
    fixture_free(freed, freeing);
    simulated_finish(freeing);
    assert_done(sp_poll_stream(fixture_stream(freeing)));
    fixture_set_flag(pool, poolMemPoolAttrDeterministic, 1);
    assert_int_equal(poolMallocFromPoolAsync(&block, MIB(32), pool, taking), poolSuccess);
    assert_ptr_equal(block, freed);
    fixture_free(block, taking);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_complete_before_needs_no_event, fixture_setup,
                                        fixture_teardown),
        cmocka_unit_test(trims_place_nothing_otherwise),
        cmocka_unit_test(queries_of_streams_place_nothing_otherwise),
        cmocka_unit_test(queries_beside_synchronises_place_nothing_otherwise),
        cmocka_unit_test(queries_of_events_place_nothing_otherwise),
        cmocka_unit_test(streams_that_come_and_go_place_nothing_otherwise),
        cmocka_unit_test(pools_that_go_place_nothing_otherwise),
        cmocka_unit_test(all_of_it_places_nothing_otherwise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
