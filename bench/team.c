#include "team.h"

#include "driver/driver.h"

#include <sched.h>
#include <string.h>

static void do_slices(struct team *team) {
    const struct team_work *work = &team->work;
    for (;;) {
        size_t at = atomic_fetch_add(&team->next, 1) * work->slice;
        if (at >= work->bytes)
            return;
        size_t left = work->bytes - at;
        work->do_slice(work->what, at, left < work->slice ? left : work->slice);
    }
}

static void *take_part(void *argument) {
    struct team *team = argument;
    unsigned int seen = 0;
    for (;;) {
        atomic_fetch_sub(&team->busy, 1);
        while (atomic_load(&team->rounds) == seen)
            sched_yield();
        seen++;
        if (atomic_load(&team->over))
            return NULL;
        do_slices(team);
    }
}

static void await(struct team *team) {
    while (atomic_load(&team->busy) > 0)
        sched_yield();
}

int team_start(struct team *team, unsigned int threads) {
    *team = (struct team){.threads = 1};
    while (team->threads < threads) {
        atomic_fetch_add(&team->busy, 1);
        if (pthread_create(&team->list[team->threads], NULL, take_part, team) != 0) {
            atomic_fetch_sub(&team->busy, 1);
            team_stop(team);
            return CUDA_ERROR_OUT_OF_MEMORY;
        }
        team->threads++;
    }
    await(team);
    return 0;
}

void team_stop(struct team *team) {
    atomic_store(&team->over, true);
    atomic_fetch_add(&team->rounds, 1);
    for (unsigned int i = 1; i < team->threads; i++)
        pthread_join(team->list[i], NULL);
    team->threads = 0;
}

void team_do(struct team *team, const struct team_work *work) {
    team->work = *work;
    atomic_store(&team->next, 0);
    atomic_store(&team->busy, team->threads - 1);
    atomic_fetch_add(&team->rounds, 1);
    do_slices(team);
    await(team);
}

static void copy_slice(void *what, size_t at, size_t bytes) {
    const struct team_copy *copy = what;
    memcpy(copy->to + at % copy->to_bytes, copy->from + at % copy->from_bytes, bytes);
}

// Where all is less than a slice for each thread, each has its part.
static size_t slice_of(size_t bytes, unsigned int threads) {
    size_t part = (bytes + threads - 1) / threads;
    return part < TEAM_SLICE ? part : TEAM_SLICE;
}

void team_copy(struct team *team, const struct team_copy *copy) {
    struct team_copy what = *copy;
    team_do(team, &(struct team_work){copy_slice, &what, copy->bytes,
                                      slice_of(copy->bytes, team->threads)});
}
