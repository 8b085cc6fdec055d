// Nothing waits: what others notice while one thread remaps.
//
// The *remapper* holds 32 blocks of 16 MiB. It frees eight or nine of them, drawn at random, and
// wants their memory in one block; frees that, and takes as many small ones again. Since these are
// hardly ever the ones that it had drawn before, each large block is a new remap. Meanwhile four
// *users* with a stream each malloc and free in a pool: small blocks, which their lists have
// (*hits*), and blocks of drawn sizes, which no list has (*misses*). And a stream fills memory over
// and over, bound by the memory's bandwidth. The remapper has a pool of its own, or shares that of
// the users.
//
// A slice is a quarter of a second in which all of them run, or all but the remapper. The two take
// turns. Threads are started for each slice, so no call of one slice is counted in another, however
// long it takes.
#include "bench.h"
#include "latency.h"

#include "cli/program/draw.h"
#include "cli/program/times.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <streampool/streampool.h>
#include <string.h>
#include <time.h>

enum {
    SLICE_MS = 250,
    USERS = 4,
    ACTORS = USERS + 2,
    // Of each user:
    HELD = 8,
    LARGE_STEP = 4 << 10,
    LARGE_STEPS = 1 << 10, // 4 MiB at most
    // Of the remapper:
    BLOCKS = 32,
    BLOCK = 16 << 20,
    PIECES_MIN = 8, // in one large block, and one more in every second
    // Of a shared pool, besides these blocks: hardly more than the users' own need.
    ROOM = 256 << 20,
    // Of the filler:
    BATCH = 8, // fills between two looks at the clock
    FILLED = 512 << 20,
    FILLED_SIMULATED = 1 << 20,
};

enum row {
    HIT_P50,
    HIT_P99,
    HIT_WORST,
    MISS_P50,
    MISS_P99,
    MISS_WORST,
    FILL,
    FILL_LOSS,
    REMAPS,
    REFUSED,
    MAPPINGS, // and what follows: of the pool that is remapped in
    SPACE,
    REAPER,
    ROWS
};

static_assert((int)ROWS <= (int)BENCH_ROWS_MAX, "a measurement has room for all rows");

#define ROWS_OF(form)                                                                              \
    {                                                                                              \
        [HIT_P50] = {form ", hit p50", "ns"}, [HIT_P99] = {form ", hit p99", "ns"},                \
        [HIT_WORST] = {form ", hit worst", "us"}, [MISS_P50] = {form ", miss p50", "ns"},          \
        [MISS_P99] = {form ", miss p99", "ns"}, [MISS_WORST] = {form ", miss worst", "us"},        \
        [FILL] = {form ", fill", "GiB/s"}, [FILL_LOSS] = {form ", fill, loss", "%"},               \
        [REMAPS] = {form ", remaps", "1/s"}, [REFUSED] = {form ", refused", "1/s"},                \
        [MAPPINGS] = {form ", mappings kept", "mappings"},                                         \
        [SPACE] = {form ", address space", "GiB"}, [REAPER] = {form ", reaper", "ms/s"},           \
    }

static const struct bench_row rows_own[ROWS] = ROWS_OF("own pool");
static const struct bench_row rows_shared[ROWS] = ROWS_OF("shared pool");

// ------------------------------------------------------------------------------------------ actors

struct scene;

// Does one round of what it does, again and again in a thread of its own while a slice lasts.
struct actor {
    struct scene *scene;
    int (*act)(struct actor *actor);
    const struct subject *subject;
    CUstream stream;
    pthread_t thread;
    int error;
    uint64_t seed;
    uint64_t rounds;
};

struct user {
    struct actor actor;
    void *held[HELD];
    struct latency hits;
    struct latency misses;
};

struct remapper {
    struct actor actor;
    void *blocks[BLOCKS]; // null where it is free: between two rounds where one was refused
    uint64_t refused;
};

struct filler {
    struct actor actor;
    CUdeviceptr memory;
    size_t size;
    CUevent events[2]; // behind the latest batches
    uint64_t batches;  // that were waited for, from `first` to `last`
    double first, last;
};

enum { REMAPPING, UNDISTURBED, SLICES };

struct scene {
    struct bench *bench;
    struct subject slices[SLICES]; // in the place of pools: what is compared
    CUstream streams[ACTORS];
    struct user users[USERS];
    struct remapper remapper;
    struct filler filler;
    struct subject own; // the remapper's, where it doesn't share
    atomic_int ready;
    atomic_bool begun, over;
    double undisturbed; // GiB/s in the last such slice
};

static int timed_allocate(const struct user *user, size_t size, void **block,
                          struct latency *latency) {
    const struct subject *subject = user->actor.subject;
    uint64_t begin = sp_clock_now();
    int error = subject->allocate(subject, block, size, user->actor.stream);
    latency_add(latency, sp_clock_now() - begin);
    return error;
}

static int timed_release(const struct user *user, void **block, struct latency *latency) {
    const struct subject *subject = user->actor.subject;
    uint64_t begin = sp_clock_now();
    int error = subject->release(subject, *block, user->actor.stream);
    latency_add(latency, sp_clock_now() - begin);
    *block = NULL;
    return error;
}

static int use(struct actor *actor) {
    static const size_t small[] = {512, 4 << 10, 64 << 10, 1 << 20};
    struct user *user = (struct user *)actor;
    uint64_t drawn = sp_draw(actor->seed, actor->rounds);
    void *hit, **held = &user->held[drawn % HELD];
    int error = timed_allocate(user, small[actor->rounds % 4], &hit, &user->hits);
    if (!error)
        error = timed_release(user, &hit, &user->hits);
    if (!error && *held)
        error = timed_release(user, held, &user->misses);
    if (!error)
        error = timed_allocate(user, (drawn / HELD % LARGE_STEPS + 1) * LARGE_STEP, held,
                               &user->misses);
    return error;
}

static size_t count_held(const struct remapper *remapper) {
    size_t count = 0;
    for (int i = 0; i < BLOCKS; i++)
        count += remapper->blocks[i] != NULL;
    return count;
}

static int release_drawn(struct remapper *remapper, size_t count) {
    struct actor *actor = &remapper->actor;
    uint64_t index = actor->rounds * (PIECES_MIN + 1);
    int error = 0;
    for (size_t i = 0; i < count && !error; i++) {
        size_t drawn = sp_draw(actor->seed, index + i) % BLOCKS;
        while (!remapper->blocks[drawn])
            drawn = (drawn + 1) % BLOCKS;
        error = actor->subject->release(actor->subject, remapper->blocks[drawn], actor->stream);
        remapper->blocks[drawn] = NULL;
    }
    return error;
}

// In a full pool the users' blocks may lie scattered among all the rest: then there is no room, and
// the remapper goes on without it.
static int count_refusal(struct remapper *remapper, int error) {
    bool refused = error == CUDA_ERROR_OUT_OF_MEMORY;
    remapper->refused += refused;
    return refused ? 0 : error;
}

static int take_back(struct remapper *remapper) {
    const struct subject *subject = remapper->actor.subject;
    int error = 0;
    for (size_t i = 0; i < BLOCKS && !error; i++) {
        void **block = &remapper->blocks[i];
        if (!*block)
            error = count_refusal(remapper,
                                  subject->allocate(subject, block, BLOCK, remapper->actor.stream));
    }
    return error;
}

static int remap(struct actor *actor) {
    struct remapper *remapper = (struct remapper *)actor;
    size_t count = PIECES_MIN + actor->rounds % 2;
    int error = 0;
    if (count_held(remapper) >= count) {
        error = release_drawn(remapper, count);
        if (!error)
            error = count_refusal(remapper,
                                  bench_pairs(actor->subject, count * BLOCK, actor->stream, 1));
    }
    return error ? error : take_back(remapper);
}

static CUresult launch_batch(const struct filler *filler) {
    const struct sp_driver *driver = filler->actor.scene->bench->device.driver;
    CUresult error = CUDA_SUCCESS;
    for (int i = 0; i < BATCH && error == CUDA_SUCCESS; i++)
        error = driver->cuMemsetD8Async(filler->memory, (unsigned char)i, filler->size,
                                        filler->actor.stream);
    return error;
}

// One batch is always behind the one that is waited for, so the device has something to do.
static int fill(struct actor *actor) {
    struct filler *filler = (struct filler *)actor;
    const struct sp_driver *driver = actor->scene->bench->device.driver;
    CUresult error = launch_batch(filler);
    if (error == CUDA_SUCCESS)
        error = driver->cuEventRecord(filler->events[actor->rounds % 2], actor->stream);
    if (error != CUDA_SUCCESS || actor->rounds == 0)
        return (int)error;
    error = driver->cuEventSynchronize(filler->events[(actor->rounds + 1) % 2]);
    filler->last = samples_clock();
    if (filler->batches++ == 0)
        filler->first = filler->last;
    return (int)error;
}

static double fill_rate(const struct filler *filler) {
    double bytes = (double)(filler->batches - 1) * BATCH * (double)filler->size;
    return filler->batches > 1 ? bytes / (1 << 30) / ((filler->last - filler->first) / 1e9) : 0;
}

// --------------------------------------------------------------------------------------- one slice

static int act_once(struct actor *actor) {
    int error = actor->act(actor);
    actor->rounds++;
    return error;
}

static void *play(void *argument) {
    struct actor *actor = argument;
    struct scene *scene = actor->scene;
    const struct sp_device *device = &scene->bench->device;
    actor->error = (int)device->driver->cuCtxSetCurrent(device->context);
    if (!actor->error)
        actor->error = act_once(actor);
    atomic_fetch_add(&scene->ready, 1);
    while (!atomic_load(&scene->begun))
        sched_yield();
    while (!atomic_load(&scene->over) && !actor->error)
        actor->error = act_once(actor);
    return NULL;
}

static void sleep_for_a_slice(void) {
    nanosleep(&(struct timespec){.tv_nsec = SLICE_MS * 1000000L}, NULL);
}

// What the threads did before they were let go doesn't count: the first time takes longer.
static void forget(struct scene *scene) {
    for (int i = 0; i < USERS; i++) {
        memset(&scene->users[i].hits, 0, sizeof scene->users[i].hits);
        memset(&scene->users[i].misses, 0, sizeof scene->users[i].misses);
    }
    scene->filler.batches = 0;
}

// Threads are let go when all are there; if one can't be started, the others end at once.
static int run(struct scene *scene, struct actor *actors[], int count) {
    int started = 0, error = 0;
    atomic_store(&scene->ready, 0);
    atomic_store(&scene->begun, false);
    atomic_store(&scene->over, false);
    while (started < count &&
           pthread_create(&actors[started]->thread, NULL, play, actors[started]) == 0)
        started++;
    while (atomic_load(&scene->ready) < started)
        sched_yield();
    forget(scene);
    atomic_store(&scene->begun, true);
    if (started == count)
        sleep_for_a_slice();
    atomic_store(&scene->over, true);
    for (int i = 0; i < started; i++) {
        pthread_join(actors[i]->thread, NULL);
        error = error ? error : actors[i]->error;
    }
    return started == count ? error : CUDA_ERROR_OPERATING_SYSTEM;
}

static int run_slice(struct scene *scene, bool remapping) {
    struct actor *actors[ACTORS];
    for (int i = 0; i < USERS; i++)
        actors[i] = &scene->users[i].actor;
    actors[USERS] = &scene->filler.actor;
    actors[USERS + 1] = &scene->remapper.actor;
    int error = run(scene, actors, remapping ? ACTORS : ACTORS - 1);
    CUresult synchronized =
        scene->bench->device.driver->cuStreamSynchronize(scene->filler.actor.stream);
    return error ? error : (int)synchronized;
}

static void read_latencies(const struct scene *scene, double *values) {
    struct latency hits = {0}, misses = {0};
    for (int i = 0; i < USERS; i++) {
        latency_join(&hits, &scene->users[i].hits);
        latency_join(&misses, &scene->users[i].misses);
    }
    values[HIT_P50] = latency_at(&hits, 0.5);
    values[HIT_P99] = latency_at(&hits, 0.99);
    values[HIT_WORST] = (double)hits.worst / 1000;
    values[MISS_P50] = latency_at(&misses, 0.5);
    values[MISS_P99] = latency_at(&misses, 0.99);
    values[MISS_WORST] = (double)misses.worst / 1000;
}

// The loss is that against the slice before.
static void read_fill(struct scene *scene, bool remapping, double *values) {
    values[FILL] = fill_rate(&scene->filler);
    values[FILL_LOSS] =
        remapping && scene->undisturbed > 0 ? 100 * (1 - values[FILL] / scene->undisturbed) : 0;
    if (!remapping)
        scene->undisturbed = values[FILL];
}

// What the remapper's pool holds at the end of a slice, and what it has done in one.
static void read_pool(const struct scene *scene, double begin, uint64_t remaps, uint64_t refused,
                      uint64_t reaper_time, double *values) {
    const struct subject *subject = scene->remapper.actor.subject;
    double seconds = (samples_clock() - begin) / 1e9;
    struct held held = subject->held(subject);
    values[REMAPS] = (double)(subject->remapped(subject).calls - remaps) / seconds;
    values[REFUSED] = (double)(scene->remapper.refused - refused) / seconds;
    values[MAPPINGS] = (double)held.mappings;
    values[SPACE] = (double)held.address_space / (1 << 30);
    values[REAPER] = (double)(held.reaper_time - reaper_time) / 1e6 / seconds;
}

static int measure(struct bench *bench, struct subject *slice, const void *setting,
                   double *values) {
    (void)bench;
    struct scene *scene = *(struct scene *const *)setting;
    const struct subject *subject = scene->remapper.actor.subject;
    bool remapping = slice == &scene->slices[REMAPPING];
    uint64_t remaps = subject->remapped(subject).calls;
    uint64_t refused = scene->remapper.refused;
    uint64_t reaper_time = subject->held(subject).reaper_time;
    double begin = samples_clock();
    int error = run_slice(scene, remapping);
    read_pool(scene, begin, remaps, refused, reaper_time, values);
    read_latencies(scene, values);
    read_fill(scene, remapping, values);
    return error;
}

// --------------------------------------------------------------------------------------- the scene

static struct actor actor_of(struct scene *scene, int index, const struct subject *subject,
                             int (*act)(struct actor *actor)) {
    return (struct actor){.scene = scene,
                          .act = act,
                          .subject = subject,
                          .stream = scene->streams[index],
                          .seed = (uint64_t)index};
}

static void cast_actors(struct scene *scene, bool shares) {
    struct subject *shared = &scene->bench->pools.subjects[SUBJECT_OURS];
    for (int i = 0; i < USERS; i++)
        scene->users[i].actor = actor_of(scene, i, shared, use);
    scene->filler.actor = actor_of(scene, USERS, NULL, fill);
    scene->remapper.actor = actor_of(scene, USERS + 1, shares ? shared : &scene->own, remap);
}

static int open_filler(struct scene *scene) {
    const struct bench *bench = scene->bench;
    struct filler *filler = &scene->filler;
    filler->size = bench->simulated ? FILLED_SIMULATED : FILLED;
    CUresult error = bench->device.driver->cuMemAlloc(&filler->memory, filler->size);
    for (int i = 0; i < 2 && error == CUDA_SUCCESS; i++)
        error = bench->device.driver->cuEventCreate(&filler->events[i], CU_EVENT_DISABLE_TIMING);
    return (int)error;
}

static void close_filler(struct scene *scene) {
    const struct sp_driver *driver = scene->bench->device.driver;
    for (int i = 0; i < 2; i++)
        if (scene->filler.events[i])
            driver->cuEventDestroy(scene->filler.events[i]);
    if (scene->filler.memory)
        driver->cuMemFree(scene->filler.memory);
}

// Else a pool whose extents are small would grow until it need not remap any more.
static int remap_without_limit(const struct subject *subject) {
    uint64_t limit = UINT64_MAX;
    return (int)poolMemPoolSetAttribute(subject->pool, poolMemPoolAttrRemapTimeMax, &limit);
}

// The blocks come first, while the pool has small extents: so that each of them is made of whole
// ones.
static int open_pools(struct scene *scene) {
    struct actor *actor = &scene->remapper.actor;
    struct subject *shared = &scene->bench->pools.subjects[SUBJECT_OURS];
    shared->limit = actor->subject == shared ? (uint64_t)BLOCKS * BLOCK + ROOM : 0;
    int error = shared->open(shared, UINT64_MAX);
    shared->limit = 0;
    if (!error && actor->subject == &scene->own)
        error = scene->own.open(&scene->own, UINT64_MAX);
    if (!error)
        error = remap_without_limit(actor->subject);
    for (int i = 0; i < BLOCKS && !error; i++)
        error = actor->subject->allocate(actor->subject, &scene->remapper.blocks[i], BLOCK,
                                         actor->stream);
    return error;
}

static void release_all(const struct actor *actor, void **blocks, int count) {
    for (int i = 0; i < count; i++)
        if (blocks[i])
            actor->subject->release(actor->subject, blocks[i], actor->stream);
    if (actor->subject->pool)
        actor->subject->synchronize(actor->subject, actor->stream);
}

static int close_pools(struct scene *scene) {
    struct subject *shared = &scene->bench->pools.subjects[SUBJECT_OURS];
    for (int i = 0; i < USERS; i++)
        release_all(&scene->users[i].actor, scene->users[i].held, HELD);
    release_all(&scene->remapper.actor, scene->remapper.blocks, BLOCKS);
    int error = scene->own.close(&scene->own);
    int closed = shared->close(shared);
    return error ? error : closed;
}

// ---------------------------------------------------------------------------------------- the case

static int measure_scene(struct scene *scene, bool shares) {
    struct bench_field field = {.subjects = scene->slices,
                                .subject_count = SLICES,
                                .rows = shares ? rows_shared : rows_own,
                                .row_count = ROWS,
                                .measure = measure,
                                .setting = &scene};
    bench_print_head_of(
        scene->bench, &field,
        shares ? "four threads on a pool and a fill, while another thread remaps in that pool"
               : "four threads on a pool and a fill, while another thread remaps in its own");
    return bench_compare(scene->bench, &field);
}

static int run_scene(struct bench *bench, bool shares) {
    struct scene scene = {
        .bench = bench,
        .slices = {[REMAPPING] = {.name = "remapping"},
                   [UNDISTURBED] = {.name = "undisturbed", .role = SUBJECT_IS_REFERENCE}},
        .own = bench->pools.subjects[SUBJECT_OURS]};
    int error = bench_open_streams(bench, scene.streams, ACTORS);
    if (error)
        return error;
    cast_actors(&scene, shares);
    error = open_filler(&scene);
    if (!error)
        error = open_pools(&scene);
    if (!error)
        error = measure_scene(&scene, shares);
    int closed = close_pools(&scene);
    close_filler(&scene);
    bench_close_streams(scene.streams, ACTORS);
    return error ? error : closed;
}

int case_stall(struct bench *bench) {
    int rounds = bench->rounds;
    bench->rounds = bench->seconds * 1000 / (SLICES * SLICE_MS);
    int error = run_scene(bench, false);
    if (!error)
        error = run_scene(bench, true);
    bench->rounds = rounds;
    return error;
}
