// Pairs from several threads together, in forms that differ in what the threads share and in what
// they do. More is better here.
//
// All use one pool, the default one of the device, and each a stream of its own, where the form
// says nothing else. In *freed elsewhere* each thread hands its blocks to the next one, which frees
// them on the stream that they came from; a thread alone hands them to itself.
#include "bench.h"
#include "kernel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum {
    THREADS_MAX = 16,
    STREAMS = 64,
    BATCH = 50,
    INBOX = 128, // blocks that one thread may be ahead of the one that frees them
    DURATION_NS = 20000000,
    DURATION_NS_SIMULATED = 500000,
    WRITTEN = 4 << 10, // bytes of a block at most
};

enum start { START_WAIT, START_GO, START_NEVER };

// --------------------------------------------------------------------------------------- the forms

struct crew;
struct worker;

struct form {
    const char *label;
    const char *title;
    int (*pairs)(struct worker *worker, int count);
    size_t kind_count;
    enum subject_kind kinds[3];
    int held;    // blocks that a thread may hold at a time
    int streams; // that all threads take in turn; 0: one for each thread
    bool own_pools;
    bool peers; // stand beside the kinds
};

static int plain_pairs(struct worker *worker, int count);
static int pairs_on_streams(struct worker *worker, int count);
static int written_pairs(struct worker *worker, int count);
static int handed_pairs(struct worker *worker, int count);

static const struct form forms[] = {
    {.label = "",
     .title = "malloc + free on the default pool, a stream for each thread, all threads together",
     .kinds = {SUBJECT_OURS_DEFAULT, SUBJECT_CUDAS_DEFAULT, SUBJECT_LIST},
     .kind_count = 3,
     .pairs = plain_pairs,
     .peers = true,
     .held = 1},
    {.label = ", promised",
     .title = "the same under StreamPromises",
     .kinds = {SUBJECT_PROMISED_DEFAULT, SUBJECT_CUDAS_DEFAULT, SUBJECT_LIST},
     .kind_count = 3,
     .pairs = plain_pairs,
     .held = 1},
    {.label = ", one stream",
     .title = "the same on one stream that all threads share",
     .kinds = {SUBJECT_OURS_DEFAULT, SUBJECT_CUDAS_DEFAULT},
     .kind_count = 2,
     .pairs = plain_pairs,
     .peers = true,
     .held = 1,
     .streams = 1},
    {.label = ", own pools",
     .title = "the same with a stream and a pool for each thread",
     .kinds = {SUBJECT_OURS, SUBJECT_CUDAS, SUBJECT_LIST},
     .kind_count = 3,
     .pairs = plain_pairs,
     .held = 1,
     .own_pools = true},
    {.label = ", 64 streams",
     .title = "the same on the default pool, 64 streams for all threads together, in turn",
     .kinds = {SUBJECT_OURS_DEFAULT, SUBJECT_CUDAS_DEFAULT, SUBJECT_LIST},
     .kind_count = 3,
     .pairs = pairs_on_streams,
     .held = STREAMS,
     .streams = STREAMS},
    {.label = ", written",
     .title = "the same with a kernel that writes to each block; the floor has the kernels alone",
     .kinds = {SUBJECT_OURS_DEFAULT, SUBJECT_CUDAS_DEFAULT, SUBJECT_BLOCK},
     .kind_count = 3,
     .pairs = written_pairs,
     .peers = true,
     .held = 1},
    {.label = ", freed elsewhere",
     .title = "the same with each block freed by another thread",
     .kinds = {SUBJECT_OURS_DEFAULT, SUBJECT_CUDAS_DEFAULT},
     .kind_count = 2,
     .pairs = handed_pairs,
     .held = INBOX},
};

// ---------------------------------------------------------------------------------------- the crew

struct handed {
    void *block;
    CUstream stream;
};

// Blocks on their way from one thread to another one: blocks[taken % INBOX] is the next.
struct inbox {
    _Alignas(128) atomic_uint written;
    _Alignas(128) atomic_uint taken;
    struct handed blocks[INBOX];
};

struct worker {
    struct crew *crew;
    struct subject subject; // the crew's, or one with a pool of its own
    pthread_t thread;
    int index;
    double begin;
    double end;
    int pairs; // that were counted
    int turn;  // of its streams
    int error;
    struct inbox inbox;
};

struct crew {
    struct bench *bench;
    const struct form *form;
    CUstream streams[STREAMS];
    struct kernel kernel;
    size_t size;
    int count;
    double duration;
    atomic_int start;
    struct worker workers[THREADS_MAX];
};

static CUstream stream_of(const struct worker *worker) {
    const struct crew *crew = worker->crew;
    return crew->streams[crew->form->streams == 1 ? 0 : worker->index];
}

// --------------------------------------------------------------------------------- pairs of a form

static int plain_pairs(struct worker *worker, int count) {
    return bench_pairs(&worker->subject, worker->crew->size, stream_of(worker), count);
}

// Each thread has every count-th stream, beginning with its own.
static int pairs_on_streams(struct worker *worker, int count) {
    const struct crew *crew = worker->crew;
    int own = STREAMS / crew->count, error = 0;
    for (int i = 0; i < count && !error; i++) {
        int stream = worker->index + worker->turn++ % own * crew->count;
        error = bench_pairs(&worker->subject, crew->size, crew->streams[stream], 1);
    }
    return error;
}

static int written_pairs(struct worker *worker, int count) {
    const struct crew *crew = worker->crew;
    CUstream stream = stream_of(worker);
    int error = 0;
    for (int i = 0; i < count && !error; i++) {
        void *block;
        error = worker->subject.allocate(&worker->subject, &block, crew->size, stream);
        if (error)
            return error;
        int launched = kernel_launch(&crew->kernel, stream, block, WRITTEN);
        error = subject_release(&worker->subject, block, crew->size, stream);
        error = launched ? launched : error;
    }
    return error;
}

// ------------------------------------------------------------------------ blocks that change hands

// False when there is none.
static bool take(struct inbox *inbox, struct handed *handed) {
    unsigned taken = atomic_load_explicit(&inbox->taken, memory_order_relaxed);
    if (taken == atomic_load_explicit(&inbox->written, memory_order_acquire))
        return false;
    *handed = inbox->blocks[taken % INBOX];
    atomic_store_explicit(&inbox->taken, taken + 1, memory_order_release);
    return true;
}

// Only the thread before fills an inbox, so room that it has found stays.
static bool has_room(struct inbox *inbox) {
    unsigned written = atomic_load_explicit(&inbox->written, memory_order_relaxed);
    return written - atomic_load_explicit(&inbox->taken, memory_order_acquire) < INBOX;
}

static void put(struct inbox *inbox, struct handed handed) {
    unsigned written = atomic_load_explicit(&inbox->written, memory_order_relaxed);
    inbox->blocks[written % INBOX] = handed;
    atomic_store_explicit(&inbox->written, written + 1, memory_order_release);
}

static int free_inbox(struct worker *worker) {
    struct handed handed;
    int error = 0;
    while (!error && take(&worker->inbox, &handed))
        error = worker->subject.release(&worker->subject, handed.block, handed.stream);
    return error;
}

// A thread whose neighbour is behind makes no more blocks, so that nobody waits for one that has
// ended.
static int handed_pairs(struct worker *worker, int count) {
    struct crew *crew = worker->crew;
    struct inbox *next = &crew->workers[(worker->index + 1) % crew->count].inbox;
    struct handed handed = {.stream = stream_of(worker)};
    int made = 0, error = free_inbox(worker);
    for (; made < count && !error && has_room(next); made++) {
        error =
            worker->subject.allocate(&worker->subject, &handed.block, crew->size, handed.stream);
        if (!error)
            put(next, handed);
    }
    if (made < count)
        sched_yield();
    worker->pairs -= count - made;
    return error;
}

// -------------------------------------------------------------------------------------- one thread

// Threads are started first and then let go together: starting one takes longer than many pairs.
static bool is_let_go(struct crew *crew) {
    int start;
    while ((start = atomic_load(&crew->start)) == START_WAIT)
        sched_yield();
    return start == START_GO;
}

static void *work(void *argument) {
    struct worker *worker = argument;
    struct crew *crew = worker->crew;
    const struct sp_device *device = &crew->bench->device;
    worker->error = (int)device->driver->cuCtxSetCurrent(device->context);
    if (!worker->error)
        worker->error = crew->form->pairs(worker, BATCH);
    if (!is_let_go(crew))
        return NULL;
    worker->pairs = 0;
    worker->begin = samples_clock();
    do {
        worker->pairs += BATCH;
        if (!worker->error)
            worker->error = crew->form->pairs(worker, BATCH);
        worker->end = samples_clock();
    } while (!worker->error && worker->end - worker->begin < crew->duration);
    return NULL;
}

// ------------------------------------------------------------------------------------- all threads

static int start_all(struct crew *crew) {
    int started = 0;
    while (started < crew->count &&
           pthread_create(&crew->workers[started].thread, NULL, work, &crew->workers[started]) == 0)
        started++;
    return started;
}

static int run(struct crew *crew) {
    int error = 0;
    atomic_store(&crew->start, START_WAIT);
    int started = start_all(crew);
    atomic_store(&crew->start, started == crew->count ? START_GO : START_NEVER);
    for (int i = 0; i < started; i++) {
        pthread_join(crew->workers[i].thread, NULL);
        error = error ? error : crew->workers[i].error;
    }
    return started == crew->count ? error : CUDA_ERROR_OPERATING_SYSTEM;
}

// Thousands in a second, from when the first one begins until the last one ends.
static double pairs_rate(const struct crew *crew) {
    const struct worker *workers = crew->workers;
    double begin = workers[0].begin, end = workers[0].end, pairs = 0;
    for (int i = 0; i < crew->count; i++) {
        begin = workers[i].begin < begin ? workers[i].begin : begin;
        end = workers[i].end > end ? workers[i].end : end;
        pairs += workers[i].pairs;
    }
    return 1e6 * pairs / (end - begin);
}

// With pools of their own: the subject is closed, and each worker opens its copy.
static int gather(struct crew *crew, const struct subject *subject) {
    int error = 0;
    for (int i = 0; i < crew->count; i++) {
        struct worker *worker = &crew->workers[i];
        *worker = (struct worker){.crew = crew, .subject = *subject, .index = i};
        if (crew->form->own_pools && !error)
            error = worker->subject.open(&worker->subject, UINT64_MAX);
    }
    return error;
}

static int dismiss(struct crew *crew, const struct subject *subject) {
    int first = 0;
    for (int i = 0; i < crew->count; i++) {
        int error = free_inbox(&crew->workers[i]);
        first = first ? first : error;
    }
    for (int i = 0; i < STREAMS && !first; i++)
        first = subject->synchronize(subject, crew->streams[i]);
    for (int i = 0; i < crew->count && crew->form->own_pools; i++) {
        int error = crew->workers[i].subject.close(&crew->workers[i].subject);
        first = first ? first : error;
    }
    return first;
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    (void)bench;
    struct crew *crew = *(struct crew *const *)setting;
    int error = gather(crew, subject);
    if (!error)
        error = run(crew);
    if (!error)
        values[0] = pairs_rate(crew);
    int dismissed = dismiss(crew, subject);
    return error ? error : dismissed;
}

// ---------------------------------------------------------------------------------------- the case

static int measure_count(struct bench *bench, struct crew *crew, struct lineup *lineup) {
    char size[16], label[RESULT_TEXT];
    struct bench_row row = {label, "1,000 pairs/s"};
    snprintf(label, sizeof label, "%s, %d thread%s%s", bench_size_text(crew->size, size),
             crew->count, crew->count > 1 ? "s" : "", crew->form->label);
    if (!bench_fits(bench,
                    lineup->count * (uint64_t)crew->count * (uint64_t)crew->form->held * crew->size,
                    label))
        return 0;
    return bench_rows(bench, lineup, measure, &crew, crew->count, &row, 1);
}

static int measure_counts(struct bench *bench, struct crew *crew, struct lineup *lineup) {
    static const size_t sizes[] = {4 << 10, 1 << 20};
    int error = 0;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        crew->size = sizes[i];
        for (crew->count = 1; crew->count <= THREADS_MAX && !error; crew->count *= 2)
            error = measure_count(bench, crew, lineup);
    }
    return error;
}

static int measure_form(struct bench *bench, struct crew *crew) {
    struct lineup lineup;
    lineup_init(&lineup, bench->device.driver, crew->form->kinds, crew->form->kind_count);
    if (crew->form->peers)
        lineup_add_peers(&lineup, bench->device.driver, &bench->peers);
    bench_print_head(bench, &lineup, crew->form->title);
    int error = crew->form->own_pools ? 0 : lineup_open(&lineup, UINT64_MAX);
    if (!error)
        error = measure_counts(bench, crew, &lineup);
    int closed = lineup_close(&lineup);
    return error ? error : closed;
}

static int measure_forms(struct bench *bench, struct crew *crew) {
    int error = kernel_open(&crew->kernel, bench->device.driver);
    for (size_t i = 0; i < sizeof forms / sizeof forms[0] && !error; i++) {
        crew->form = &forms[i];
        error = measure_form(bench, crew);
    }
    kernel_close(&crew->kernel);
    return error;
}

int case_threads(struct bench *bench) {
    static struct crew crew; // of 40 KiB and more
    crew = (struct crew){.bench = bench,
                         .duration = bench->simulated ? DURATION_NS_SIMULATED : DURATION_NS};
    int error = bench_open_streams(bench, crew.streams, STREAMS);
    if (error)
        return error;
    error = measure_forms(bench, &crew);
    bench_close_streams(crew.streams, STREAMS);
    return error;
}
