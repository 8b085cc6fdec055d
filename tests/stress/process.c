// Rows of processes that fork or end while their threads are inside the library.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress/crew.h"
#include "stress/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/hang.h"
#include "support/pools.h"

static struct crew crew;

static _Noreturn void use_in_child(poolMemPool_t pool, CUstream stream) {
    void *pointer;
    alarm(TEST_HANG_SECONDS);
    EXPECT(poolMallocFromPoolAsync(&pointer, 512, pool, stream), poolErrorInitializationError);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(40), pool, stream), poolErrorInitializationError);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolErrorInitializationError);
    EXPECT(poolDeviceSynchronize(), poolErrorInitializationError);
    _exit(EXIT_SUCCESS);
}

void row_a_fork_while_threads_allocate_gives_the_child_a_clear_error(void) {
    poolMemPool_t pool = test_pool();
    crew_open(&crew, pool);
    crew_start(&crew, crew_allocate_or_free, 10000);
    for (unsigned i = 0; i < 20; i++) {
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0)
            use_in_child(pool, crew.members[0].stream);
        int status;
        REQUIRE(waitpid(child, &status, 0) == child);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
    }
    crew_join(&crew);
    crew_close(&crew);
}

struct endless {
    poolMemPool_t pool;
    CUstream stream;
};

// Until the driver shuts down beneath it: then a call may fail, and that is all it may do.
static void *allocate_endlessly(void *argument) {
    static const size_t sizes[] = {100, KIB(300), MIB(3)};
    const struct endless *endless = argument;
    void *pointer;
    for (unsigned i = 0;; i++) {
        if (poolMallocFromPoolAsync(&pointer, sizes[i % 3], endless->pool, endless->stream) ==
            poolSuccess)
            poolFreeAsync(pointer, endless->stream);
        if (i % 100 == 0)
            poolStreamSynchronize(endless->stream);
    }
    return NULL;
}

void row_end_while_threads_allocate(void) {
    static struct endless endless[CREW];
    pthread_t thread;
    test_use_device(0);
    poolMemPool_t pool = test_pool();
    for (unsigned i = 0; i < CREW; i++) {
        endless[i] = (struct endless){pool, test_stream()};
        REQUIRE(pthread_create(&thread, NULL, allocate_endlessly, &endless[i]) == 0);
    }
    CUstream stream = test_stream();
    for (unsigned i = 0; i < 1000; i++)
        test_free(test_malloc(pool, KIB(4), stream), stream);
    exit(EXIT_SUCCESS);
}

void row_a_process_that_ends_while_threads_allocate_ends_quietly(void) {
    for (unsigned i = 0; i < 5; i++)
        test_run_helper_quietly("end_while_threads_allocate");
}
