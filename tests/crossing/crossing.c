// One call of the library, and the functions that it enters, for counting them: see count.sh.
//
//   crossing PATH
//   crossing
//
// The library is built unoptimised and with every function instrumented, inlined ones too. Each
// function that the measured call enters on this thread is a line of standard output: how deep it
// stands, and its address in the library's file. Without a path the paths are listed.
#include <dlfcn.h>
#include <linux/membarrier.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <streampool/streampool.h>

#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

enum { SMALL = 1000, LARGE = 1 << 20, ENTRIES_MAX = 100000 };

// ------------------------------------------------------------------------------------- the record

struct entry {
    const void *function;
    int depth;
};

static struct entry entries[ENTRIES_MAX];
static size_t count;
static int depth;

// The library's other threads run the same code, and do not count.
static _Thread_local bool recording;

// The compiler puts calls of these two into every function of the library.
void __cyg_profile_func_enter(void *function, void *call_site);
void __cyg_profile_func_exit(void *function, void *call_site);

__attribute__((visibility("default"))) void __cyg_profile_func_enter(void *function,
                                                                     void *call_site) {
    (void)call_site;
    if (!recording)
        return;
    if (count < ENTRIES_MAX)
        entries[count] = (struct entry){function, depth};
    count++;
    depth++;
}

// And this into every basic block, which tests/growth counts.
void __sanitizer_cov_trace_pc(void);
__attribute__((visibility("default"))) void __sanitizer_cov_trace_pc(void) {
}

__attribute__((visibility("default"))) void __cyg_profile_func_exit(void *function,
                                                                    void *call_site) {
    (void)function;
    (void)call_site;
    if (recording)
        depth--;
}

static void print_entries(void) {
    REQUIRE(count > 0 && count <= ENTRIES_MAX);
    for (size_t i = 0; i < count; i++) {
        Dl_info object;
        REQUIRE(dladdr(entries[i].function, &object) != 0);
        printf("%d 0x%zx\n", entries[i].depth,
               (size_t)((uintptr_t)entries[i].function - (uintptr_t)object.dli_fbase));
    }
}

// -------------------------------------------------------------------------------------- the calls

// So many pairs come before the measured call that it meets nothing for the first time, and that
// the lane's lock is the thread's own, as it is in a program (base/biased_lock.h).
static void run_pairs(poolMemPool_t pool, size_t size, CUstream stream) {
    for (int i = 0; i < 100; i++)
        test_free(test_malloc(pool, size, stream), stream);
}

static void *malloc_recorded(poolMemPool_t pool, size_t size, CUstream stream) {
    void *pointer = NULL;
    recording = true;
    poolError_t error = poolMallocFromPoolAsync(&pointer, size, pool, stream);
    recording = false;
    EXPECT(error, poolSuccess);
    return pointer;
}

static void free_recorded(void *pointer, CUstream stream) {
    recording = true;
    poolError_t error = poolFreeAsync(pointer, stream);
    recording = false;
    EXPECT(error, poolSuccess);
}

// The measured call counts as one more of the statistic, which shows that it went the way that its
// path is named after.
static void malloc_counted(poolMemPool_t pool, size_t size, CUstream stream,
                           enum poolMemPoolAttr statistic) {
    uint64_t before = test_attribute(pool, statistic);
    REQUIRE(malloc_recorded(pool, size, stream));
    REQUIRE_EQUAL(test_attribute(pool, statistic), before + 1);
}

static void free_counted(poolMemPool_t pool, void *pointer, CUstream stream, uint64_t records) {
    uint64_t before = test_attribute(pool, poolMemPoolStatEventsRecorded);
    free_recorded(pointer, stream);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatEventsRecorded), before + records);
}

// -------------------------------------------------------------------------------------- the paths

static void malloc_small_hit(poolMemPool_t pool) {
    CUstream stream = test_stream();
    run_pairs(pool, SMALL, stream);
    malloc_counted(pool, SMALL, stream, poolMemPoolStatReuseSameStream);
}

static void free_small_hit(poolMemPool_t pool) {
    CUstream stream = test_stream();
    run_pairs(pool, SMALL, stream);
    free_counted(pool, test_malloc(pool, SMALL, stream), stream, 0);
}

// The stream has freed no block of the size, but holds the rest of a larger one that it has freed.
static void malloc_large_near_miss(poolMemPool_t pool) {
    CUstream stream = test_stream();
    run_pairs(pool, 16 * LARGE, stream);
    test_malloc(pool, LARGE, stream);
    malloc_counted(pool, LARGE, stream, poolMemPoolStatReuseSameStream);
}

static void malloc_large_grows(poolMemPool_t pool) {
    CUstream stream = test_stream();
    test_malloc(pool, 8 * LARGE, stream);
    malloc_counted(pool, 8 * LARGE, stream, poolMemPoolStatGrowths);
}

// Each free exceeds the cap of bytes that no event stands behind.
static void free_large_records(poolMemPool_t pool) {
    CUstream stream = test_stream();
    test_set_attribute(pool, poolMemPoolAttrUnfencedBytesMax, SMALL);
    run_pairs(pool, LARGE, stream);
    free_counted(pool, test_malloc(pool, LARGE, stream), stream, 1);
}

static void free_large_other_stream(poolMemPool_t pool) {
    CUstream stream = test_stream(), other = test_stream();
    run_pairs(pool, LARGE, other);
    run_pairs(pool, LARGE, stream);
    free_counted(pool, test_malloc(pool, LARGE, stream), other, 0);
}

// The second stream waits for an event behind a pair on the first one.
static void hand_over(poolMemPool_t pool, size_t size, CUstream from, CUstream to, CUevent event) {
    test_free(test_malloc(pool, size, from), from);
    EXPECT(poolEventRecord(event, from), poolSuccess);
    EXPECT(poolStreamWaitEvent(to, event, 0), poolSuccess);
}

// A block goes to another stream and back so often that the pool grows no more, and that the lane
// doesn't look after others at the measured call.
static void malloc_handed_over(poolMemPool_t pool, size_t size) {
    enum { ROUNDS = 100 };
    CUstream stream = test_stream(), other = test_stream();
    CUevent event = test_event();
    test_set_flag(pool, poolMemPoolReuseAllowOpportunistic, 0);
    for (int i = 0; i < ROUNDS; i++) {
        hand_over(pool, size, stream, other, event);
        test_free(test_malloc(pool, size, other), stream);
    }
    hand_over(pool, size, stream, other, event);
    malloc_counted(pool, size, other, poolMemPoolStatReuseOrdered);
}

// The stream keeps one block, and what another one gave back to it is in its tiers.
static void malloc_large_ordered(poolMemPool_t pool) {
    malloc_handed_over(pool, LARGE);
}

// Each free has an event behind it, and the stream keeps the only block.
static void malloc_large_offered(poolMemPool_t pool) {
    test_set_attribute(pool, poolMemPoolAttrUnfencedBytesMax, SMALL);
    malloc_handed_over(pool, 16 * LARGE);
}

static const struct path {
    const char *name;
    void (*run)(poolMemPool_t pool);
} paths[] = {
    {"malloc-small-hit", malloc_small_hit},
    {"free-small-hit", free_small_hit},
    {"malloc-large-near-miss", malloc_large_near_miss},
    {"malloc-large-ordered", malloc_large_ordered},
    {"malloc-large-offered", malloc_large_offered},
    {"malloc-large-grows", malloc_large_grows},
    {"free-large-records", free_large_records},
    {"free-large-other-stream", free_large_other_stream},
};

enum { PATHS = sizeof paths / sizeof paths[0] };

static void list_paths(FILE *file) {
    for (size_t i = 0; i < PATHS; i++)
        fprintf(file, "%s\n", paths[i].name);
}

static const struct path *path_named(const char *name) {
    for (size_t i = 0; i < PATHS; i++) {
        if (strcmp(name, paths[i].name) == 0)
            return &paths[i];
    }
    return NULL;
}

// Without this system call no thread owns a lock, and each call takes a longer way through it.
static bool has_barriers(void) {
    long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
    return commands > 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0;
}

int main(int argc, char **argv) {
    if (argc == 1) {
        list_paths(stdout);
        return 0;
    }
    const struct path *path = argc == 2 ? path_named(argv[1]) : NULL;
    if (!path) {
        fputs("usage: crossing [PATH], which is one of\n", stderr);
        list_paths(stderr);
        return 2;
    }
    if (!has_barriers()) {
        fputs("skipped: the system has no membarrier\n", stderr);
        return 77;
    }
    test_use_device(0);
    path->run(test_pool());
    print_entries();
    return 0;
}
