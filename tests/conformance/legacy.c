// Rows of the legacy default stream (L) and the blocking and per-thread streams of its context,
// which are ordered with it by each action; and of what a driver's own questions see of that order,
// on which the pool relies.
#include <pthread.h>
#include <stdint.h>

#include "conformance/rows.h"
#include "conformance/scene.h"
#include "support/check.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static CUstream null_stream(void) {
    return NULL;
}

static CUstream legacy(void) {
    return CU_STREAM_LEGACY;
}

static CUstream per_thread(void) {
    return CU_STREAM_PER_THREAD;
}

// One stream has work, the other none.
struct direction {
    CUstream (*busy)(void);
    CUstream (*idle)(void);
};

// The idle one's next action comes after that work.
static const struct direction ordered[] = {
    {null_stream, test_blocking_stream},
    {legacy, per_thread},
    {test_blocking_stream, legacy},
    {per_thread, null_stream},
};

static const struct direction unordered[] = {
    {legacy, test_stream},
    {test_stream, legacy},
    {per_thread, test_stream},
    {test_blocking_stream, test_blocking_stream},
    {test_blocking_stream, per_thread},
};

// What a stream is asked for and answers by the driver itself.

static CUresult query(CUstream stream) {
    return test_driver()->cuStreamQuery(stream);
}

static CUresult query_event(CUevent event) {
    return test_driver()->cuEventQuery(event);
}

static CUevent recorded_with(unsigned flags, CUstream stream) {
    CUevent event;
    DRIVER(test_driver()->cuEventCreate(&event, flags));
    DRIVER(test_driver()->cuEventRecord(event, stream));
    return event;
}

static CUevent recorded(CUstream stream) {
    return recorded_with(CU_EVENT_DISABLE_TIMING, stream);
}

static void finish_event(CUevent event) {
    DRIVER(test_driver()->cuEventSynchronize(event));
}

static void wait_for(CUstream stream, CUevent event) {
    DRIVER(test_driver()->cuStreamWaitEvent(stream, event, 0));
}

// Work on a stream with an event right behind it: until it is stopped, or, with no spin, as
// test_work(). What the rows do beside it was done once before, so that a driver has it at hand.
static CUevent occupy(CUstream stream, struct test_spin *spin) {
    if (spin)
        test_spin(spin, stream);
    else
        test_work(stream);
    return recorded(stream);
}

static void make_ready(void) {
    CUdeviceptr word;
    test_load_kernels();
    DRIVER(test_driver()->cuMemAlloc(&word, 64));
    test_fill_block((void *)(uintptr_t)word, 0, 64, NULL);
    test_fill((void *)(uintptr_t)word, 0, 64, NULL);
    DRIVER(test_driver()->cuCtxSynchronize());
}

static void stop(const struct test_spin *spin) {
    test_stop_spinning(spin);
    DRIVER(test_driver()->cuCtxSynchronize());
}

// ------------------------------------------------------------------------------------ the driver's

// The stream passes for idle beside work that runs on, and a synchronise does not wait for it.
static void require_idle_beside(CUstream stream, CUevent behind_work) {
    REQUIRE_EQUAL(query(stream), CUDA_SUCCESS);
    test_finish(stream);
    REQUIRE_EQUAL(query_event(behind_work), CUDA_ERROR_NOT_READY);
}

void row_driver_streams_without_order_do_not_see_each_other(void) {
    make_ready();
    for (size_t i = 0; i < COUNT(unordered); i++) {
        struct test_spin spin;
        CUstream idle = unordered[i].idle();
        CUevent behind_work = occupy(unordered[i].busy(), &spin);
        require_idle_beside(idle, behind_work);
        finish_event(recorded(idle));
        REQUIRE_EQUAL(query_event(behind_work), CUDA_ERROR_NOT_READY);
        stop(&spin);
    }
}

// An idle stream beside the legacy one's work, and what it may be told to do.
struct beside {
    CUstream idle;
    CUdeviceptr memory;
    CUevent complete;
    CUevent pending; // right behind the work
};

static void do_nothing(const struct beside *beside) {
    (void)beside;
}

static void record_twice(const struct beside *beside) {
    recorded(beside->idle);
    recorded(beside->idle);
}

static void wait_for_the_complete(const struct beside *beside) {
    wait_for(beside->idle, beside->complete);
}

static void wait_for_the_never_recorded(const struct beside *beside) {
    wait_for(beside->idle, test_event());
}

static void record_with_timing(const struct beside *beside) {
    recorded_with(CU_EVENT_DEFAULT, beside->idle);
}

static void record_for_blocking_waits(const struct beside *beside) {
    recorded_with(CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC, beside->idle);
}

static void wait_for_the_pending(const struct beside *beside) {
    wait_for(beside->idle, beside->pending);
}

static void wait_for_its_own(const struct beside *beside) {
    wait_for(beside->idle, recorded(beside->idle));
}

static void set_memory(const struct beside *beside) {
    test_fill((void *)(uintptr_t)beside->memory, 1, 64, beside->idle);
}

static void launch_a_kernel(const struct beside *beside) {
    test_fill_block((void *)(uintptr_t)beside->memory, 1, 64, beside->idle);
}

static void run_nothing(void *argument) {
    (void)argument;
}

static void launch_a_host_function(const struct beside *beside) {
    DRIVER(test_driver()->cuLaunchHostFunc(beside->idle, run_nothing, NULL));
}

typedef void (*action)(const struct beside *beside);

static const action unseen[] = {do_nothing, record_twice, wait_for_the_complete,
                                wait_for_the_never_recorded};
static const action seen[] = {
    record_with_timing, record_for_blocking_waits, wait_for_the_pending,  wait_for_its_own,
    set_memory,         launch_a_kernel,           launch_a_host_function};

static void put_beside(struct beside *beside, CUstream idle, struct test_spin *spin) {
    *beside = (struct beside){.idle = idle, .complete = recorded(NULL)};
    DRIVER(test_driver()->cuMemAlloc(&beside->memory, 64));
    finish_event(beside->complete);
    beside->pending = occupy(NULL, spin);
}

static void require_unseen(CUstream idle, action act) {
    struct test_spin spin;
    struct beside beside;
    put_beside(&beside, idle, &spin);
    act(&beside);
    require_idle_beside(idle, beside.pending);
    stop(&spin);
}

static void require_seen(CUstream idle, action act) {
    struct test_spin spin;
    struct beside beside;
    put_beside(&beside, idle, &spin);
    act(&beside);
    REQUIRE_EQUAL(query(idle), CUDA_ERROR_NOT_READY);
    stop(&spin);
    put_beside(&beside, idle, NULL);
    act(&beside);
    test_finish(idle);
    REQUIRE_EQUAL(query_event(beside.pending), CUDA_SUCCESS);
}

void row_driver_an_idle_blocking_stream_passes_for_idle_beside_the_legacy_stream(void) {
    make_ready();
    for (size_t i = 0; i < COUNT(unseen); i++) {
        require_unseen(test_blocking_stream(), unseen[i]);
        require_unseen(CU_STREAM_PER_THREAD, unseen[i]);
    }
}

void row_driver_an_action_of_a_blocking_stream_makes_it_busy_beside_the_legacy_stream(void) {
    make_ready();
    for (size_t i = 0; i < COUNT(seen); i++) {
        require_seen(test_blocking_stream(), seen[i]);
        require_seen(CU_STREAM_PER_THREAD, seen[i]);
    }
}

void row_driver_a_plain_record_behind_the_legacy_stream_is_pending(void) {
    struct test_spin spin;
    CUstream idle = test_blocking_stream(), other = test_stream();
    make_ready();
    occupy(NULL, &spin);
    CUevent event = recorded(idle);
    REQUIRE_EQUAL(query_event(event), CUDA_ERROR_NOT_READY);
    wait_for(other, event);
    REQUIRE_EQUAL(query(other), CUDA_ERROR_NOT_READY);
    DRIVER(test_driver()->cuStreamDestroy(idle));
    REQUIRE_EQUAL(query_event(event), CUDA_ERROR_NOT_READY);
    stop(&spin);
    REQUIRE_EQUAL(query_event(event), CUDA_SUCCESS);
}

// Each occupies a stream, which may be gone afterwards.

static CUevent occupy_blocking(struct test_spin *spin) {
    return occupy(test_blocking_stream(), spin);
}

static CUevent occupy_per_thread(struct test_spin *spin) {
    return occupy(CU_STREAM_PER_THREAD, spin);
}

static CUevent occupy_and_destroy(struct test_spin *spin) {
    CUstream stream = test_blocking_stream();
    CUevent event = occupy(stream, spin);
    DRIVER(test_driver()->cuStreamDestroy(stream));
    return event;
}

static void *occupy_as_a_thread(void *spin) {
    test_use_device(0);
    return occupy(CU_STREAM_PER_THREAD, spin);
}

static CUevent occupy_and_end_the_thread(struct test_spin *spin) {
    pthread_t thread;
    void *event;
    REQUIRE(pthread_create(&thread, NULL, occupy_as_a_thread, spin) == 0);
    REQUIRE(pthread_join(thread, &event) == 0);
    return event;
}

void row_driver_the_legacy_stream_sees_blocking_streams_that_are_gone_too(void) {
    static CUevent (*const occupations[])(struct test_spin *) = {
        occupy_blocking, occupy_per_thread, occupy_and_destroy, occupy_and_end_the_thread};
    make_ready();
    for (size_t i = 0; i < COUNT(occupations); i++) {
        struct test_spin spin;
        occupations[i](&spin);
        REQUIRE_EQUAL(query(NULL), CUDA_ERROR_NOT_READY);
        stop(&spin);
        CUevent behind_work = occupations[i](NULL);
        test_finish(NULL);
        REQUIRE_EQUAL(query_event(behind_work), CUDA_SUCCESS);
    }
}

// A stream that waits is busy, though nothing of its own runs.
void row_driver_the_legacy_stream_sees_what_a_blocking_stream_waits_for(void) {
    struct test_spin spin;
    CUstream waiting = test_blocking_stream();
    make_ready();
    CUevent behind_work = occupy(test_stream(), &spin);
    REQUIRE_EQUAL(query(NULL), CUDA_SUCCESS);
    DRIVER(test_driver()->cuStreamWaitEvent(waiting, behind_work, 0));
    REQUIRE_EQUAL(query(NULL), CUDA_ERROR_NOT_READY);
    DRIVER(test_driver()->cuStreamDestroy(waiting));
    REQUIRE_EQUAL(query(NULL), CUDA_ERROR_NOT_READY);
    stop(&spin);
    test_finish(NULL);
}

void row_driver_an_event_on_the_legacy_stream_orders_two_blocking_streams(void) {
    struct test_spin spin;
    CUstream other = test_blocking_stream();
    make_ready();
    CUevent behind_work = occupy(test_blocking_stream(), &spin);
    finish_event(recorded(other));
    REQUIRE_EQUAL(query_event(behind_work), CUDA_ERROR_NOT_READY);
    recorded(NULL);
    CUevent after = recorded(other);
    REQUIRE_EQUAL(query_event(after), CUDA_ERROR_NOT_READY);
    REQUIRE_EQUAL(query(other), CUDA_SUCCESS);
    stop(&spin);
}

// ------------------------------------------------------------- what is known of a free beside work

static void record(CUevent event, CUstream stream) {
    EXPECT(poolEventRecord(event, stream), poolSuccess);
}

static void follow_dependencies(struct scene *scene) {
    test_set_flag(scene->pool, poolMemPoolReuseFollowEventDependencies, 1);
}

// The scene's block is in use by held work on the busy stream and freed on the idle one, which is
// the scene's a; b has no order with either.
struct freed {
    struct scene scene;
    CUevent before, behind; // the free
};

static void free_beside_work(struct freed *freed, const struct direction *direction, size_t size) {
    struct scene *scene = &freed->scene;
    CUstream busy = direction->busy();
    scene_open_on(scene, size, direction->idle(), test_stream());
    test_finish(scene->a);
    freed->before = test_event();
    freed->behind = test_event();
    scene_hold_and_write(scene, busy);
    record(freed->before, scene->a);
    test_free(scene->block, scene->a);
    record(freed->behind, scene->a);
}

// The memory goes back with the pool.
static void close_scene(struct scene *scene) {
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    EXPECT(poolMemPoolDestroy(scene->pool), poolSuccess);
}

// Nobody may have the block, whether they ask or not.
static void require_kept(struct scene *scene) {
    uint64_t reserved = test_reserved(scene->pool);
    test_set_flag(scene->pool, poolMemPoolReuseAllowOpportunistic, 1);
    REQUIRE(!scene_gives(scene, scene->b));
    test_set_flag(scene->pool, poolMemPoolReuseAllowOpportunistic, 0);
    EXPECT(poolMemPoolTrimTo(scene->pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(scene->pool), reserved);
}

static void require_pending(struct freed *freed) {
    EXPECT(poolEventQuery(freed->before), poolErrorNotReady);
    EXPECT(poolEventQuery(freed->behind), poolErrorNotReady);
    EXPECT(poolStreamQuery(freed->scene.a), poolErrorNotReady);
    require_kept(&freed->scene);
}

static void stays_pending(size_t size) {
    for (size_t i = 0; i < COUNT(ordered); i++) {
        struct freed freed;
        free_beside_work(&freed, &ordered[i], size);
        require_pending(&freed);
        test_let_go(&freed.scene.hold);
        close_scene(&freed.scene);
    }
}

void row_a_free_beside_the_other_sides_work_is_pending_while_that_runs(void) {
    scene_for_each_size(stays_pending);
}

static void by_synchronise(const struct freed *freed) {
    EXPECT(poolStreamSynchronize(freed->scene.a), poolSuccess);
}

static void by_query(const struct freed *freed) {
    poolError_t answer;
    do {
        answer = poolStreamQuery(freed->scene.a);
    } while (answer == poolErrorNotReady);
    EXPECT(answer, poolSuccess);
}

static void by_event_synchronise(const struct freed *freed) {
    EXPECT(poolEventSynchronize(freed->behind), poolSuccess);
}

static void by_event_query(const struct freed *freed) {
    poolError_t answer;
    do {
        answer = poolEventQuery(freed->behind);
    } while (answer == poolErrorNotReady);
    EXPECT(answer, poolSuccess);
}

static void (*const questions[])(const struct freed *freed) = {
    by_synchronise, by_query, by_event_synchronise, by_event_query};

// What others still wrote, they wrote to the whole block: its ends tell.
static void write_on_b(struct scene *scene) {
    const size_t end = scene->size < KIB(64) ? scene->size : KIB(64);
    test_fill(scene->block, 3, scene->size, scene->b);
    test_finish(scene->b);
    REQUIRE(test_is_filled(scene->block, 3, end));
    REQUIRE(test_is_filled((const char *)scene->block + scene->size - end, 3, end));
}

static void require_anybodys(struct scene *scene) {
    REQUIRE(scene_gives(scene, scene->b));
    write_on_b(scene);
    test_free(scene->block, scene->b);
}

static void require_trimmed(struct scene *scene) {
    EXPECT(poolMemPoolTrimTo(scene->pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(scene->pool), 0);
}

static void after_each_question(size_t size, void (*require)(struct scene *scene)) {
    for (size_t i = 0; i < COUNT(ordered) * COUNT(questions); i++) {
        struct freed freed;
        free_beside_work(&freed, &ordered[i / COUNT(questions)], size);
        require_pending(&freed);
        test_let_go(&freed.scene.hold);
        questions[i % COUNT(questions)](&freed);
        require(&freed.scene);
        close_scene(&freed.scene);
    }
}

static void becomes_anybodys(size_t size) {
    after_each_question(size, require_anybodys);
}

void row_each_question_behind_such_a_free_makes_the_memory_anybodys(void) {
    scene_for_each_size(becomes_anybodys);
}

void row_each_question_behind_such_a_free_lets_a_trim_have_the_memory(void) {
    after_each_question(SCENE_LARGE, require_trimmed);
}

static void synchronise_beside_work(size_t size) {
    for (size_t i = 0; i < COUNT(ordered); i++) {
        struct scene scene;
        CUstream busy = ordered[i].busy();
        scene_open_on(&scene, size, ordered[i].idle(), test_stream());
        test_finish(scene.a);
        CUevent behind_work = occupy(busy, NULL);
        test_free(scene.block, scene.a);
        EXPECT(poolStreamSynchronize(scene.a), poolSuccess);
        REQUIRE_EQUAL(query_event(behind_work), CUDA_SUCCESS);
        require_anybodys(&scene);
        close_scene(&scene);
    }
}

void row_a_synchronise_behind_such_a_free_waits_for_the_other_sides_work(void) {
    scene_for_each_size(synchronise_beside_work);
}

// None of this waits for the work that is held.
static void ask_everything(CUstream idle) {
    CUevent event = test_event();
    poolError_t answer;
    record(event, idle);
    EXPECT(poolEventSynchronize(event), poolSuccess);
    EXPECT(poolEventQuery(event), poolSuccess);
    EXPECT(poolStreamSynchronize(idle), poolSuccess);
    do {
        answer = poolStreamQuery(idle);
    } while (answer == poolErrorNotReady);
    EXPECT(answer, poolSuccess);
}

void row_a_synchronise_vouches_for_no_stream_that_has_no_order_with_its_own(void) {
    for (size_t i = 0; i < COUNT(unordered); i++) {
        struct scene scene;
        CUstream idle = unordered[i].idle();
        scene_open_on(&scene, SCENE_LARGE, unordered[i].busy(), test_stream());
        scene_free_held(&scene, scene.a);
        ask_everything(idle);
        require_kept(&scene);
        REQUIRE(!scene_gives(&scene, idle));
        test_let_go(&scene.hold);
        close_scene(&scene);
    }
}

// -------------------------------------------------------- allocate, synchronise, use on any stream

// The scene's block, in use by work on the busy stream that is held or, with no hold, ends by
// itself; freed on either stream, and taken by the idle one, which is the scene's a.
struct taken {
    struct scene scene;
    CUevent behind_work;
};

static void take_beside_work(struct taken *taken, const struct direction *direction, size_t size,
                             bool freed_on_busy, bool held) {
    struct scene *scene = &taken->scene;
    CUstream busy = direction->busy();
    scene_open_on(scene, size, direction->idle(), test_stream());
    follow_dependencies(scene);
    test_finish(scene->a);
    if (held)
        test_hold(&scene->hold, busy);
    else
        test_work(busy);
    test_fill(scene->block, 2, scene->size, busy);
    taken->behind_work = recorded(busy);
    test_free(scene->block, freed_on_busy ? busy : scene->a);
    if (freed_on_busy)
        record(test_event(), busy);
    REQUIRE(scene_gives(scene, scene->a));
}

static void take_while_held(size_t size) {
    for (size_t i = 0; i < 2 * COUNT(ordered); i++) {
        struct taken taken;
        take_beside_work(&taken, &ordered[i / 2], size, i % 2, true);
        REQUIRE_EQUAL(query(taken.scene.a), CUDA_ERROR_NOT_READY);
        EXPECT(poolStreamQuery(taken.scene.a), poolErrorNotReady);
        scene_require_order(&taken.scene, taken.scene.a);
    }
}

void row_a_stream_that_takes_memory_is_busy_while_the_other_side_uses_it(void) {
    scene_for_each_size(take_while_held);
}

static void by_pool_synchronise(CUstream stream) {
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
}

static void by_pool_event(CUstream stream) {
    CUevent event = test_event();
    record(event, stream);
    EXPECT(poolEventSynchronize(event), poolSuccess);
}

static void by_cuda_query(CUstream stream) {
    CUresult answer;
    do {
        answer = query(stream);
    } while (answer == CUDA_ERROR_NOT_READY);
    DRIVER(answer);
}

static void by_cuda_event(CUstream stream) {
    finish_event(recorded(stream));
}

static void (*const synchronises[])(CUstream stream) = {
    test_finish, by_pool_synchronise, by_cuda_query, by_pool_event, by_cuda_event};

static void synchronise_what_was_taken(size_t size) {
    for (size_t i = 0; i < 2 * COUNT(ordered) * COUNT(synchronises); i++) {
        const struct direction *direction = &ordered[i / COUNT(synchronises) / 2];
        struct taken taken;
        take_beside_work(&taken, direction, size, i / COUNT(synchronises) % 2, false);
        synchronises[i % COUNT(synchronises)](taken.scene.a);
        REQUIRE_EQUAL(query_event(taken.behind_work), CUDA_SUCCESS);
        write_on_b(&taken.scene);
        test_free(taken.scene.block, taken.scene.b);
        close_scene(&taken.scene);
    }
}

void row_memory_that_a_stream_has_taken_is_anybodys_after_a_synchronise(void) {
    scene_for_each_size(synchronise_what_was_taken);
}

// Of the size of slots in a slab, which are taken again in the fewest steps.
static void synchronise_a_small_block(const struct direction *direction,
                                      void (*synchronise)(CUstream stream)) {
    CUstream busy = direction->busy(), idle = direction->idle(), other = test_stream();
    poolMemPool_t pool = test_keeping_pool();
    void *block = test_malloc(pool, KIB(4), idle);
    test_finish(idle);
    test_work(busy);
    test_fill(block, 1, KIB(4), busy);
    CUevent behind_work = recorded(busy);
    test_free(block, idle);
    REQUIRE(test_malloc(pool, KIB(4), idle) == block);
    synchronise(idle);
    REQUIRE_EQUAL(query_event(behind_work), CUDA_SUCCESS);
    test_fill(block, 2, KIB(4), other);
    test_finish(other);
    REQUIRE(test_is_filled(block, 2, KIB(4)));
}

void row_a_small_block_that_a_stream_takes_again_is_anybodys_after_a_synchronise(void) {
    for (size_t i = 0; i < COUNT(ordered) * COUNT(synchronises); i++)
        synchronise_a_small_block(&ordered[i / COUNT(synchronises)],
                                  synchronises[i % COUNT(synchronises)]);
}

void row_new_memory_is_anybodys_after_a_synchronise(void) {
    for (size_t i = 0; i < COUNT(ordered) * COUNT(synchronises); i++) {
        const struct direction *direction = &ordered[i / COUNT(synchronises)];
        CUstream busy = direction->busy(), idle = direction->idle(), other = test_stream();
        poolMemPool_t pool = test_pool();
        test_work(busy);
        void *block = test_malloc(pool, MIB(2), idle);
        synchronises[i % COUNT(synchronises)](idle);
        test_fill(block, 1, MIB(2), other);
        test_finish(other);
        REQUIRE(test_is_filled(block, 1, MIB(2)));
    }
}

// ------------------------------------------------------------------------------------------ chains

static void pass_over_legacy(size_t size, CUstream to, bool with_event) {
    struct scene scene;
    scene_open_on(&scene, size, test_blocking_stream(), to);
    follow_dependencies(&scene);
    scene_hold_and_write(&scene, scene.a);
    test_free(scene.block, NULL);
    if (with_event)
        record(test_event(), NULL);
    if (scene_gives(&scene, to))
        scene_require_order(&scene, to);
    else
        scene_let_go(&scene);
}

static void pass_over_legacy_each_way(size_t size) {
    for (int with_event = 0; with_event < 2; with_event++) {
        pass_over_legacy(size, test_blocking_stream(), with_event);
        pass_over_legacy(size, CU_STREAM_PER_THREAD, with_event);
    }
}

void row_memory_passes_over_the_legacy_stream_to_a_blocking_one_in_order_or_not_at_all(void) {
    scene_for_each_size(pass_over_legacy_each_way);
}

// The legacy stream has no work of its own between the two.
static void take_on_legacy_and_use(size_t size, CUstream user, bool freed_on_legacy) {
    struct scene scene;
    scene_open_on(&scene, size, test_blocking_stream(), user);
    follow_dependencies(&scene);
    scene_hold_and_write(&scene, scene.a);
    test_free(scene.block, freed_on_legacy ? NULL : scene.a);
    REQUIRE(scene_gives(&scene, NULL));
    scene_require_order(&scene, user);
}

static void take_on_legacy_each_way(size_t size) {
    for (int freed_on_legacy = 0; freed_on_legacy < 2; freed_on_legacy++) {
        take_on_legacy_and_use(size, test_blocking_stream(), freed_on_legacy);
        take_on_legacy_and_use(size, CU_STREAM_PER_THREAD, freed_on_legacy);
    }
}

// Neither of the two blocking streams is ever passed to the pool.
static void compute_beside_legacy(size_t size) {
    poolMemPool_t pool = test_keeping_pool();
    CUstream first = test_blocking_stream(), second = test_blocking_stream();
    struct test_hold hold;
    CUevent before = test_event(), behind = test_event();
    void *block = test_malloc(pool, size, NULL);
    test_hold(&hold, first);
    test_fill_block(block, 1, size, first);
    DRIVER(test_driver()->cuEventRecord(before, first));
    test_free(block, NULL);
    REQUIRE(test_malloc(pool, size, NULL) == block);
    test_fill_block(block, 2, size, second);
    DRIVER(test_driver()->cuEventRecord(behind, second));
    REQUIRE_EQUAL(test_driver()->cuEventQuery(behind), CUDA_ERROR_NOT_READY);
    test_let_go(&hold);
    DRIVER(test_driver()->cuEventSynchronize(behind));
    REQUIRE_EQUAL(test_driver()->cuEventQuery(before), CUDA_SUCCESS);
    test_check_block(block, 2, size, second);
    test_finish(second);
    test_free(block, NULL);
}

void row_memory_of_the_legacy_stream_can_be_used_on_blocking_streams_that_the_pool_never_meets(
    void) {
    test_load_kernels();
    scene_for_each_size(compute_beside_legacy);
    REQUIRE_EQUAL(test_wrong_words(), 0);
}

void row_memory_that_the_legacy_stream_takes_can_be_used_on_any_blocking_stream(void) {
    scene_for_each_size(take_on_legacy_each_way);
}
