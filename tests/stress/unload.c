// The library is unloaded while memory, streams and pending frees are alive (trap 14), by a program
// that is not linked with it: no hang, no crash, and the process ends well.
//
//   unload_test LIBRARY [stays]
//
// With "stays" the library must stay loaded, and a loop that loads it, uses it and closes it takes
// no more memory than its first rounds did, though the library's own thread has work at each
// dlclose.
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <streampool/streampool.h>

// The calls that are made, looked up by name.
// clang-format off
#define CALLS(X) \
    X(poolFreeAsync) \
    X(poolMallocFromPoolAsync) \
    X(poolMemPoolCreate) \
    X(poolMemPoolDestroy) \
    X(poolMemPoolSetAttribute) \
    X(poolStreamSynchronize)
// clang-format on

struct calls {
#define CALL_FIELD(name) __typeof__(name) *name;
    CALLS(CALL_FIELD)
#undef CALL_FIELD
};

static void find(void *library, const char *name, void *function) {
    void *symbol = dlsym(library, name);
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    memcpy(function, &symbol, sizeof symbol);
}

static void check(poolError_t error, const char *what) {
    if (error != poolSuccess) {
        fprintf(stderr, "%s: error %d\n", what, (int)error);
        exit(EXIT_FAILURE);
    }
}

struct use {
    struct calls calls;
    CUstream stream;
    pthread_barrier_t turn;
};

// In a thread of its own, whose state in the library outlives the library's handle.
static void *leave_everything_alive(void *argument) {
    const struct use *use = argument;
    const struct poolMemPoolProps props = {
        .allocType = poolMemAllocationTypePinned,
        .location = {.type = poolMemLocationTypeDevice, .id = 0},
    };
    poolMemPool_t pools[2];
    void *pointers[2][3];
    int by_reaper = 1;
    for (unsigned i = 0; i < 2; i++) {
        check(use->calls.poolMemPoolCreate(&pools[i], &props), "create");
        check(use->calls.poolMemPoolSetAttribute(pools[i], poolMemPoolAttrTrimByReaper, &by_reaper),
              "set");
        for (unsigned k = 0; k < 3; k++)
            check(use->calls.poolMallocFromPoolAsync(&pointers[i][k], (size_t)700 << (10 * k),
                                                     pools[i], use->stream),
                  "malloc");
        check(use->calls.poolFreeAsync(pointers[i][2 * i], use->stream), "free");
    }
    check(use->calls.poolStreamSynchronize(use->stream),
          "synchronise"); // the library's thread has work now
    check(use->calls.poolMemPoolDestroy(pools[0]), "destroy");
    return NULL;
}

// In a thread that ends when the library is gone.
static void *outlive_the_library(void *argument) {
    struct use *use = argument;
    leave_everything_alive(use);
    pthread_barrier_wait(&use->turn);
    pthread_barrier_wait(&use->turn);
    return NULL;
}

static CUstream make_stream(void) {
    typedef struct CUctx_st *context;
    int (*retain)(context *, int), (*set_current)(context), (*create)(CUstream *, unsigned),
        (*initialise)(unsigned);
    context primary;
    CUstream stream = NULL;
    void *driver = dlopen(getenv("STREAMPOOL_DRIVER"), RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "%s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    find(driver, "cuInit", &initialise);
    find(driver, "cuDevicePrimaryCtxRetain", &retain);
    find(driver, "cuCtxSetCurrent", &set_current);
    find(driver, "cuStreamCreate", &create);
    if (initialise(0) || retain(&primary, 0) || set_current(primary) || create(&stream, 1))
        exit(EXIT_FAILURE);
    return stream;
}

static void *open_library(const char *path, struct calls *calls) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(EXIT_FAILURE);
    }
#define CALL_FIND(name) find(library, #name, &calls->name);
    CALLS(CALL_FIND)
#undef CALL_FIND
    return library;
}

static void use_and_unload(const char *path) {
    struct use use = {.stream = make_stream()};
    void *library = open_library(path, &use.calls);
    pthread_t thread, survivor;
    pthread_barrier_init(&use.turn, NULL, 2);
    if (pthread_create(&thread, NULL, leave_everything_alive, &use) != 0 ||
        pthread_create(&survivor, NULL, outlive_the_library, &use) != 0)
        exit(EXIT_FAILURE);
    leave_everything_alive(&use);
    pthread_join(thread, NULL);
    pthread_barrier_wait(&use.turn);
    dlclose(library);
    pthread_barrier_wait(&use.turn);
    pthread_join(survivor, NULL);
    pthread_barrier_destroy(&use.turn);
}

// ---------------------------------------------------------------------------------------- the loop

enum { ROUNDS_FIRST = 20, ROUNDS = 200, GROWTH_MAX = 1 << 20 };

static long resident_bytes(void) {
    long total, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2)
        exit(EXIT_FAILURE);
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

// A pool that trims by the library's thread, which is asked to just before the library is closed.
static void use_in_round(const struct calls *calls, CUstream stream) {
    poolMemPool_t pool;
    void *pointer;
    int by_reaper = 1;
    check(calls->poolMemPoolCreate(&pool,
                                   &(struct poolMemPoolProps){
                                       .allocType = poolMemAllocationTypePinned,
                                       .location = {.type = poolMemLocationTypeDevice, .id = 0},
                                   }),
          "create");
    check(calls->poolMemPoolSetAttribute(pool, poolMemPoolAttrTrimByReaper, &by_reaper), "set");
    check(calls->poolMallocFromPoolAsync(&pointer, (size_t)8 << 20, pool, stream), "malloc");
    check(calls->poolFreeAsync(pointer, stream), "free");
    check(calls->poolStreamSynchronize(stream), "synchronise");
    check(calls->poolMemPoolDestroy(pool), "destroy");
}

static void run_round(const char *path, CUstream stream) {
    struct calls calls;
    void *library = open_library(path, &calls);
    use_in_round(&calls, stream);
    dlclose(library);
    void *still = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (!still) {
        fprintf(stderr, "the library was unloaded\n");
        exit(EXIT_FAILURE);
    }
    dlclose(still);
}

static void loop_stays_small(const char *path) {
    CUstream stream = make_stream();
    long before = 0;
    for (int i = 0; i < ROUNDS; i++) {
        if (i == ROUNDS_FIRST)
            before = resident_bytes();
        run_round(path, stream);
    }
    long grown = resident_bytes() - before;
    if (grown > GROWTH_MAX) {
        fprintf(stderr, "%d rounds took %ld bytes\n", ROUNDS - ROUNDS_FIRST, grown);
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv) {
    bool stays = argc == 3 && strcmp(argv[2], "stays") == 0;
    if (argc != 2 && !stays) {
        fprintf(stderr, "usage: unload_test LIBRARY [stays]\n");
        return EXIT_FAILURE;
    }
    if (stays)
        loop_stays_small(argv[1]);
    use_and_unload(argv[1]);
    use_and_unload(argv[1]);
    return EXIT_SUCCESS;
}
