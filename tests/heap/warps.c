#include "heap/warps.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "random/numbers.h"
#include "support/check.h"

enum {
    LANES = 32,
    PATIENCE = 12,   // looks for others who come to the same call
    STEPS_FREE = 64, // of as many operations one gives way
    STEPS_STEPPED = 6
};

// Lanes that gather in one call of ph_together. The opener's lane is its place in warp.gathering.
struct gathering {
    const void *call; // null: none
    uint32_t lanes;
    uint32_t wanted;
};

enum collective { MATCH, TELL, JOIN };

// Brought to a collective by a lane, and taken from it.
struct part {
    enum collective kind;
    uint32_t threads, value, from;
    uint32_t result;
    atomic_bool done;
};

struct warp {
    pthread_mutex_t lock;
    struct gathering gathering[LANES];
    atomic_uint group[LANES];   // that a lane was gathered into, 0 before
    atomic_uint arrived[LANES]; // at the collective whose lowest lane this is
    struct part part[LANES];
    atomic_uint ended; // lanes
};

struct lane {
    pthread_t thread;
    sem_t turn;
    struct run *run;
    struct warp *warp;
    uint32_t number; // in its warp
    uint32_t processor;
    uint32_t index; // of the thread
    struct numbers numbers;
};

struct run {
    const struct warps *warps;
    struct lane *lane;
    // Stepped: those that haven't ended, of which one has the turn, and draws the next.
    uint32_t *alive;
    uint32_t alive_count;
    struct numbers numbers;
};

static _Thread_local struct lane *self;
static _Thread_local uint32_t steps_left; // before the thread stops; 0: it doesn't
static _Thread_local jmp_buf *stop_place;
static struct numbers alone = {1};

static void hand_over(struct run *run) {
    struct lane *next = &run->lane[run->alive[numbers_below(&run->numbers, run->alive_count)]];
    if (next == self)
        return;
    sem_post(&next->turn);
    while (sem_wait(&self->turn) != 0)
        continue;
}

void warps_wait(void) {
    if (self == NULL)
        return;
    if (self->run->warps->way == WARPS_STEPPED)
        hand_over(self->run);
    else // to yield would give each other process a whole slice of time
        nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
}

void warps_stop_at(uint32_t step, jmp_buf *place) {
    steps_left = step;
    stop_place = place;
}

void warps_step(void) {
    if (steps_left != 0 && --steps_left == 0)
        longjmp(*stop_place, 1);
    if (self == NULL)
        return;
    bool stepped = self->run->warps->way == WARPS_STEPPED;
    if (numbers_once_in(&self->numbers, stepped ? STEPS_STEPPED : STEPS_FREE))
        warps_wait();
}

void ph_nap(void) {
    warps_wait();
}

uint32_t ph_lane(void) {
    return self == NULL ? 0 : self->number;
}

uint32_t ph_processor(void) {
    return self == NULL ? 0 : self->processor;
}

uint32_t ph_dice(void) {
    return (uint32_t)numbers_next(self == NULL ? &alone : &self->numbers);
}

static void seal(struct warp *warp, struct gathering *gathering) {
    for (uint32_t left = gathering->lanes; left != 0; left &= left - 1)
        atomic_store(&warp->group[ph_lowest(left)], gathering->lanes);
    gathering->call = NULL;
}

// Joins a gathering at this call, or else opens one, which it returns.
static struct gathering *gather(struct warp *warp, const void *call, uint32_t bit) {
    for (uint32_t i = 0; i < LANES; i++) {
        struct gathering *other = &warp->gathering[i];
        if (other->call != call)
            continue;
        other->lanes |= bit;
        if (ph_count(other->lanes) == other->wanted)
            seal(warp, other);
        return NULL;
    }
    struct gathering *own = &warp->gathering[self->number];
    uint32_t most = self->run->warps->lanes;
    *own = (struct gathering){call, bit, 2 + (uint32_t)numbers_below(&self->numbers, most - 1)};
    return own;
}

uint32_t ph_together(void) {
    const void *call = __builtin_return_address(0);
    if (self == NULL)
        return 1;
    uint32_t bit = 1u << self->number, group;
    struct warp *warp = self->warp;
    if (self->run->warps->lanes == 1 || numbers_once_in(&self->numbers, 4))
        return bit;
    atomic_store(&warp->group[self->number], 0);
    pthread_mutex_lock(&warp->lock);
    struct gathering *own = gather(warp, call, bit);
    pthread_mutex_unlock(&warp->lock);
    for (uint32_t i = 0; (group = atomic_load(&warp->group[self->number])) == 0; i++) {
        warps_wait();
        if (own == NULL || i < PATIENCE)
            continue;
        pthread_mutex_lock(&warp->lock);
        if (atomic_load(&warp->group[self->number]) == 0)
            seal(warp, own);
        pthread_mutex_unlock(&warp->lock);
    }
    return group;
}

static uint32_t result_of(const struct warp *warp, const struct part *part) {
    uint32_t result = 0;
    if (part->kind == TELL)
        return warp->part[part->from].value;
    for (uint32_t left = part->threads; left != 0; left &= left - 1) {
        uint32_t other = ph_lowest(left);
        if (part->kind == JOIN)
            result |= warp->part[other].value;
        else if (warp->part[other].value == part->value)
            result |= 1u << other;
    }
    return result;
}

// The last lane that comes gives all of them their results.
static void conclude(struct warp *warp, uint32_t threads, const struct part *own) {
    for (uint32_t left = threads; left != 0; left &= left - 1) {
        struct part *part = &warp->part[ph_lowest(left)];
        if (part->kind != own->kind || part->threads != threads || part->from != own->from)
            test_fail(__FILE__, __LINE__, "lanes of one collective make different calls");
        part->result = result_of(warp, part);
    }
    for (uint32_t left = threads; left != 0; left &= left - 1)
        atomic_store(&warp->part[ph_lowest(left)].done, true);
}

// Lanes whose results are there go on, and may end, while others' are still being given. So a lane
// that has ended comes no more only if nobody has concluded the collective: then this lane stands
// among those that have arrived.
static void wait_for_result(const struct warp *warp, const struct part *own) {
    const atomic_uint *arrived = &warp->arrived[ph_lowest(own->threads)];
    for (;;) {
        uint32_t ended = atomic_load(&warp->ended);
        bool is_open = atomic_load(arrived) >> self->number & 1;
        if (atomic_load(&own->done))
            return;
        if (is_open && (ended & own->threads) != 0)
            test_fail(__FILE__, __LINE__, "a collective waits for a lane that has ended");
        warps_wait();
    }
}

static uint32_t meet(enum collective kind, uint32_t threads, uint32_t value, uint32_t from) {
    if (self == NULL) {
        if (threads != 1 || from != 0)
            test_fail(__FILE__, __LINE__, "a lane that is alone waits for others");
        return kind == MATCH ? 1 : value;
    }
    struct warp *warp = self->warp;
    uint32_t bit = 1u << self->number;
    struct part *own = &warp->part[self->number];
    if ((threads & bit) == 0 || (threads >> from & 1) == 0)
        test_fail(__FILE__, __LINE__, "a lane is not among those of its collective");
    own->kind = kind;
    own->threads = threads;
    own->value = value;
    own->from = from;
    atomic_store(&own->done, false);
    atomic_uint *arrived = &warp->arrived[ph_lowest(threads)];
    if ((atomic_fetch_or(arrived, bit) | bit) == threads) {
        atomic_store(arrived, 0);
        conclude(warp, threads, own);
        return own->result;
    }
    wait_for_result(warp, own);
    return own->result;
}

uint32_t ph_match(uint32_t threads, uint32_t value) {
    return meet(MATCH, threads, value, ph_lowest(threads));
}

uint32_t ph_tell(uint32_t threads, uint32_t value, uint32_t from) {
    return meet(TELL, threads, value, from);
}

uint32_t ph_join(uint32_t threads, uint32_t bits) {
    return meet(JOIN, threads, bits, ph_lowest(threads));
}

static void end_turn(struct run *run) {
    uint32_t at = 0;
    while (run->alive[at] != self->index)
        at++;
    run->alive[at] = run->alive[--run->alive_count];
    if (run->alive_count != 0)
        sem_post(&run->lane[run->alive[numbers_below(&run->numbers, run->alive_count)]].turn);
}

static void *run_lane(void *argument) {
    self = argument;
    struct run *run = self->run;
    bool stepped = run->warps->way == WARPS_STEPPED;
    while (stepped && sem_wait(&self->turn) != 0)
        continue;
    run->warps->kernel(run->warps->argument, self->index);
    atomic_fetch_or(&self->warp->ended, 1u << self->number);
    if (stepped)
        end_turn(run);
    return NULL;
}

// Lanes have any numbers below 32, in ascending order: 3, 7, 11, ...
static void open_lane(struct run *run, struct warp *warp, uint32_t index) {
    struct lane *lane = &run->lane[index];
    uint32_t lanes = run->warps->lanes;
    lane->run = run;
    lane->warp = &warp[index / lanes];
    lane->number = (index % lanes + 1) * (LANES / lanes) - 1;
    lane->processor = (uint32_t)(run->warps->seed + index / lanes);
    lane->index = index;
    lane->numbers.state = run->warps->seed * 1000 + index;
    run->alive[index] = index;
    REQUIRE(sem_init(&lane->turn, 0, 0) == 0);
}

void warps_run(const struct warps *warps) {
    uint32_t threads = warps->warps * warps->lanes;
    REQUIRE(warps->lanes <= WARPS_LANES_MOST);
    struct warp *warp = calloc(warps->warps, sizeof *warp);
    struct run run = {.warps = warps,
                      .lane = calloc(threads, sizeof *run.lane),
                      .alive = calloc(threads, sizeof *run.alive),
                      .alive_count = threads,
                      .numbers = {warps->seed}};
    REQUIRE(warp != NULL && run.lane != NULL && run.alive != NULL);
    for (uint32_t i = 0; i < warps->warps; i++)
        REQUIRE(pthread_mutex_init(&warp[i].lock, NULL) == 0);
    for (uint32_t i = 0; i < threads; i++)
        open_lane(&run, warp, i);
    for (uint32_t i = 0; i < threads; i++)
        REQUIRE(pthread_create(&run.lane[i].thread, NULL, run_lane, &run.lane[i]) == 0);
    if (warps->way == WARPS_STEPPED)
        sem_post(&run.lane[0].turn);
    for (uint32_t i = 0; i < threads; i++)
        REQUIRE(pthread_join(run.lane[i].thread, NULL) == 0);
    for (uint32_t i = 0; i < threads; i++)
        sem_destroy(&run.lane[i].turn);
    for (uint32_t i = 0; i < warps->warps; i++)
        pthread_mutex_destroy(&warp[i].lock);
    free(run.alive);
    free(run.lane);
    free(warp);
}
