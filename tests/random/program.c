#include "random/program.h"

#include <pthread.h>
#include <time.h>

#include "random/operations.h"
#include "support/check.h"
#include "support/device.h"

// Threads end and new ones take their places so many times in a program.
enum { ROUNDS = 2 };

// Operations between two looks at what the kernels have found, each of which waits for the device.
enum { LOOK = 50000 };

static struct world world;

struct crew {
    struct thread thread;
    struct totals *totals;
    uint64_t until;    // the operation at which the round ends
    uint64_t deadline; // or the time
};

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static bool goes_on(const struct crew *crew) {
    return crew->deadline ? now() < crew->deadline : crew->thread.operation < crew->until;
}

static void run_round(void *argument) {
    struct crew *crew = argument;
    struct thread *thread = &crew->thread;
    thread->context = CONTEXTS;
    thread_enter(thread, 0);
    for (;;) {
        thread->operation = atomic_fetch_add(&world.operations, 1);
        if (!goes_on(crew))
            break;
        crew->totals->operations++;
        operations_next(thread);
        if (!world.simulated && thread->operation % LOOK == LOOK - 1)
            world_require_no_wrong_words(&world, thread);
    }
    thread->name = "leaving";
    operations_leave(thread);
}

static void *run_thread(void *argument) {
    run_round(argument);
    return NULL;
}

static void run_threads(struct crew *crew, void **arguments, size_t count) {
    pthread_t threads[MAX_STREAMS];
    if (world.simulated) {
        DRIVER((CUresult)world.simulated->simcudaRunThreads(run_round, arguments, count));
        return;
    }
    for (size_t i = 0; i < count; i++)
        REQUIRE(pthread_create(&threads[i], NULL, run_thread, &crew[i]) == 0);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

// A program of one thread runs in the one that began it, and never leaves.
static void run_crew(struct crew *crew, size_t count) {
    void *arguments[MAX_STREAMS];
    for (size_t i = 0; i < count; i++)
        arguments[i] = &crew[i];
    if (count == 1)
        run_round(crew);
    else
        run_threads(crew, arguments, count);
}

void program_run(const struct plan *plan, struct totals *totals) {
    static struct crew crew[MAX_STREAMS];
    uint64_t begin = now();
    test_use_device(0);
    world_open(&world, plan);
    for (uint64_t i = 0; i < plan->threads; i++) {
        crew[i].thread =
            (struct thread){.world = &world, .index = (unsigned)i, .name = "beginning"};
        crew[i].thread.numbers.state = plan->seed * 7919 + plan->policies * 104729 + i;
        crew[i].totals = totals;
    }
    for (unsigned round = 1; round <= ROUNDS; round++) {
        for (uint64_t i = 0; i < plan->threads; i++) {
            crew[i].until = plan->operations * round / ROUNDS;
            crew[i].deadline =
                plan->seconds ? begin + plan->seconds * 1000000000u * round / ROUNDS : 0;
        }
        run_crew(crew, plan->threads);
        operations_adopt(&crew[0].thread);
    }
    for (uint64_t i = 0; i < plan->pools; i++)
        totals_add_pool(totals, world.pools[i].handle);
    totals->programs++;
    world_close(&world, &crew[0].thread);
}
