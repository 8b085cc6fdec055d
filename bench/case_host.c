// Memory of the host, which the host and the device may use: pairs by size; copies between it and
// the device; kernels that write and read it at its address; and how long it takes to get a few
// gibibytes at once and to give them back.
//
// What a driver lacks isn't there. CUDA has no call that primes: its pool allocates the whole
// amount, frees it and is trimmed. The memory of a round is given back before the next subject's
// turn.
#include "bench.h"
#include "kernel.h"

#include <stdio.h>
#include <streampool/streampool.h>
#include <unistd.h>

enum { PAIRS = 2000, PAIRS_SLOW = 5, PRIME_ROUNDS = 3 };

#define MIB (UINT64_C(1) << 20)

// Those that stand side by side, as far as the driver has them, compared with one of them.
static int line_up(struct lineup *lineup, const struct sp_driver *driver,
                   const enum subject_kind kinds[], size_t count, enum subject_kind reference) {
    lineup_init(lineup, driver, kinds, count);
    int error = lineup_try(lineup);
    for (size_t i = 0; i < lineup->count; i++) {
        struct subject *subject = &lineup->subjects[i];
        if (subject->name == subject_name(reference))
            subject->role = SUBJECT_IS_REFERENCE;
        else if (subject->role == SUBJECT_IS_REFERENCE)
            subject->role = SUBJECT_IS_MEASURED;
    }
    return error;
}

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

// ------------------------------------------------------------------------------------------- pairs

static int measure_pair(struct bench *bench, struct subject *subject, const void *setting,
                        double *values) {
    return bench_mean_pair(subject, *(const size_t *)setting, bench->streams[0],
                           subject->slow ? PAIRS_SLOW : PAIRS, values);
}

static int measure_pairs_of_all_sizes(struct bench *bench, struct lineup *lineup) {
    static const size_t sizes[] = {64 << 10, 1 << 20, 16 << 20};
    int error = 0;
    for (size_t i = 0; i < COUNT(sizes) && !error; i++) {
        char size[16], label[RESULT_TEXT];
        snprintf(label, sizeof label, "pair of %s", bench_size_text(sizes[i], size));
        error = bench_rows(bench, lineup, measure_pair, &sizes[i], (double)sizes[i],
                           &(struct bench_row){label, "ns"}, 1);
    }
    return error;
}

static int measure_pairs(struct bench *bench) {
    static const enum subject_kind kinds[] = {SUBJECT_HOST,    SUBJECT_AT_ONCE, SUBJECT_DEVICE,
                                              SUBJECT_STAGING, SUBJECT_MANAGED, SUBJECT_CUDAS_HOST,
                                              SUBJECT_PINNED};
    struct lineup lineup;
    int error = line_up(&lineup, bench->device.driver, kinds, COUNT(kinds), SUBJECT_DEVICE);
    if (error)
        return error;
    bench_print_head(bench, &lineup, "malloc + free, threshold at maximum, to the device's pool");
    error = lineup_open(&lineup, UINT64_MAX);
    if (!error)
        error = measure_pairs_of_all_sizes(bench, &lineup);
    int closed = lineup_close(&lineup);
    return error ? error : closed;
}

// ------------------------------------------------------------------------------ copies and kernels

enum { TO_HOST, TO_DEVICE, WRITES, READS, BUS_ROWS };

struct scene {
    struct lineup lineup;
    void *blocks[LINEUP_MAX]; // of the subjects
    size_t size;
    CUdeviceptr device; // a block of the same size, and behind it the count of wrong words
    struct kernel kernel;
};

static double rate(const struct scene *scene, double begin) {
    return (double)scene->size / (samples_clock() - begin);
}

static int measure_copies(const struct scene *scene, const struct sp_driver *driver, void *block,
                          double *values) {
    double begin = samples_clock();
    int error = (int)driver->cuMemcpyDtoH(block, scene->device, scene->size);
    values[TO_HOST] = rate(scene, begin);
    begin = samples_clock();
    if (!error)
        error = (int)driver->cuMemcpyHtoD(scene->device, block, scene->size);
    values[TO_DEVICE] = rate(scene, begin);
    return error;
}

static int measure_kernels(const struct scene *scene, const struct subject *subject, void *block,
                           CUstream stream, double *values) {
    double begin = samples_clock();
    int error = kernel_write(&scene->kernel, stream, block, scene->size);
    if (!error)
        error = subject->synchronize(subject, stream);
    values[WRITES] = rate(scene, begin);
    begin = samples_clock();
    if (!error)
        error =
            kernel_read(&scene->kernel, stream, block, scene->size, scene->device + scene->size);
    if (!error)
        error = subject->synchronize(subject, stream);
    values[READS] = rate(scene, begin);
    return error;
}

static int measure_bus(struct bench *bench, struct subject *subject, const void *setting,
                       double *values) {
    const struct scene *scene = setting;
    void *block = scene->blocks[subject - scene->lineup.subjects];
    int error = measure_copies(scene, bench->device.driver, block, values);
    return error ? error : measure_kernels(scene, subject, block, bench->streams[0], values);
}

static int measure_bus_of_all(struct bench *bench, struct scene *scene) {
    static const struct bench_row rows[BUS_ROWS] = {[TO_HOST] = {"copy to the host", "GB/s"},
                                                    [TO_DEVICE] = {"copy to the device", "GB/s"},
                                                    [WRITES] = {"kernel writes", "GB/s"},
                                                    [READS] = {"kernel reads", "GB/s"}};
    uint64_t wrong = 0;
    const struct sp_driver *driver = bench->device.driver;
    CUdeviceptr wrong_at = scene->device + scene->size;
    int error = (int)driver->cuMemcpyHtoD(wrong_at, &wrong, sizeof wrong);
    if (!error)
        error = bench_rows(bench, &scene->lineup, measure_bus, scene, 0, rows, BUS_ROWS);
    if (!error)
        error = (int)driver->cuMemcpyDtoH(&wrong, wrong_at, sizeof wrong);
    return !error && wrong != 0 ? (int)poolErrorUnknown : error;
}

// Each subject's block is the host's to use then.
static int allocate_blocks(struct bench *bench, struct scene *scene) {
    int error = (int)bench->device.driver->cuMemAlloc(&scene->device, scene->size + 8);
    bench->step = "malloc";
    for (size_t i = 0; i < scene->lineup.count && !error; i++) {
        const struct subject *subject = &scene->lineup.subjects[i];
        error = subject->allocate(subject, &scene->blocks[i], scene->size, bench->streams[0]);
        if (!error)
            error = subject->synchronize(subject, bench->streams[0]);
        if (error)
            bench_name_failure(bench, "copies and kernels", subject, error);
    }
    return error;
}

static int release_blocks(struct bench *bench, struct scene *scene) {
    int error = 0;
    for (size_t i = 0; i < scene->lineup.count && !error; i++) {
        const struct subject *subject = &scene->lineup.subjects[i];
        if (scene->blocks[i])
            error = subject->release(subject, scene->blocks[i], bench->streams[0]);
    }
    if (scene->device)
        bench->device.driver->cuMemFree(scene->device);
    return error;
}

static int measure_bus_in(struct bench *bench, struct scene *scene) {
    int error = kernel_open(&scene->kernel, bench->device.driver);
    if (error)
        return error;
    error = lineup_open(&scene->lineup, UINT64_MAX);
    if (!error)
        error = allocate_blocks(bench, scene);
    if (!error)
        error = measure_bus_of_all(bench, scene);
    int released = release_blocks(bench, scene);
    int closed = lineup_close(&scene->lineup);
    kernel_close(&scene->kernel);
    return error ? error : released ? released : closed;
}

static int measure_copies_and_kernels(struct bench *bench, size_t size) {
    static const enum subject_kind kinds[] = {SUBJECT_HOST, SUBJECT_STAGING, SUBJECT_CUDAS_HOST,
                                              SUBJECT_PINNED};
    struct scene scene = {.size = size};
    char title[128], text[16];
    int error = line_up(&scene.lineup, bench->device.driver, kinds, COUNT(kinds), SUBJECT_PINNED);
    if (error)
        return error;
    snprintf(title, sizeof title, "copies of %s, and kernels on it, to cuMemHostAlloc's",
             bench_size_text(size, text));
    bench_print_head(bench, &scene.lineup, title);
    return measure_bus_in(bench, &scene);
}

// ------------------------------------------------------------------------------- getting gibibytes

enum { GET, GIVE_BACK, PRIME_ROWS };

static int get(const struct subject *subject, void **block, size_t size, CUstream stream) {
    return subject->prime ? subject->prime(subject, size)
                          : subject->allocate(subject, block, size, stream);
}

static int open_and_get(struct bench *bench, struct subject *subject, size_t size, void **block,
                        double *milliseconds) {
    bench->step = "open";
    int error = subject->open(subject, 0);
    double begin = samples_clock();
    if (!error) {
        bench->step = "get";
        error = get(subject, block, size, bench->streams[0]);
    }
    *milliseconds = (samples_clock() - begin) / 1e6;
    return error;
}

static int give_back(struct subject *subject, void *block, CUstream stream) {
    int error = block ? subject->release(subject, block, stream) : 0;
    if (!error && block)
        error = subject->synchronize(subject, stream);
    if (!error && subject->trim)
        error = subject->trim(subject);
    int closed = subject->close(subject);
    return error ? error : closed;
}

// A sixteenth is enough to warm up.
static int measure_prime(struct bench *bench, struct subject *subject, const void *setting,
                         double *values) {
    const size_t *wanted = setting;
    size_t size = bench->round < 0 ? *wanted / 16 : *wanted;
    void *block = NULL;
    int error = open_and_get(bench, subject, size, &block, &values[GET]);
    double begin = samples_clock();
    int given_back = give_back(subject, block, bench->streams[0]);
    values[GIVE_BACK] = (samples_clock() - begin) / 1e6;
    if (!error)
        bench->step = "give back";
    return error ? error : given_back;
}

static int measure_prime_of(struct bench *bench, struct lineup *lineup, size_t size) {
    char text[16], got[RESULT_TEXT], back[RESULT_TEXT];
    bench_size_text(size, text);
    snprintf(got, sizeof got, "%s, get", text);
    snprintf(back, sizeof back, "%s, give back", text);
    const struct bench_row rows[PRIME_ROWS] = {[GET] = {got, "ms"}, [GIVE_BACK] = {back, "ms"}};
    return bench_rows(bench, lineup, measure_prime, &size, (double)size, rows, PRIME_ROWS);
}

static int measure_primes(struct bench *bench, size_t size) {
    static const enum subject_kind kinds[] = {SUBJECT_HOST,    SUBJECT_NODE,
                                              SUBJECT_STAGING, SUBJECT_CUDAS_HOST,
                                              SUBJECT_PINNED,  SUBJECT_NODE_EXTENT};
    struct lineup lineup;
    int rounds = bench->rounds;
    int error = line_up(&lineup, bench->device.driver, kinds, COUNT(kinds), SUBJECT_PINNED);
    if (error)
        return error;
    bench->rounds = bench->rounds_given ? rounds : PRIME_ROUNDS;
    bench_print_head(bench, &lineup, "much memory at once, and all of it given back");
    error = measure_prime_of(bench, &lineup, size);
    bench->rounds = rounds;
    return error;
}

// As much as an eighth of what the machine has, as a power of two.
static size_t spared_by_host(size_t wanted) {
    uint64_t spared = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 8;
    while (wanted > spared && wanted > MIB)
        wanted /= 2;
    return wanted;
}

// Who names an amount wants to see that alone.
int case_host(struct bench *bench) {
    if (bench->host_memory)
        return measure_primes(bench, bench->host_memory);
    int error = measure_pairs(bench);
    if (!error)
        error = measure_copies_and_kernels(
            bench, bench->simulated ? 4 * MIB : spared_by_host(1024 * MIB) / 4);
    return error ? error
                 : measure_primes(bench, bench->simulated ? 64 * MIB : spared_by_host(4096 * MIB));
}
