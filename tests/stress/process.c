// Rows of processes that fork or end while their threads are inside the library.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stress/crew.h"
#include "stress/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

static struct crew crew;

static _Noreturn void use_in_child(poolMemPool_t pool, CUstream stream) {
    void *pointer;
    alarm(20);
    EXPECT(poolMallocFromPoolAsync(&pointer, 512, pool, stream), poolErrorInitializationError);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(40), pool, stream), poolErrorInitializationError);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolErrorInitializationError);
    EXPECT(poolDeviceSynchronize(), poolErrorInitializationError);
    _exit(EXIT_SUCCESS);
}

void row_a_fork_while_threads_allocate_gives_the_child_a_clear_error(void) {
    poolMemPool_t pool = test_pool();
    crew_open(&crew, pool);
    crew_start(&crew, crew_allocate_or_free, 1500);
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

void row_end_while_threads_allocate(void) {
    test_use_device(0);
    test_load_kernels();
    crew_open(&crew, test_pool());
    crew_start(&crew, crew_allocate_or_free, 1000000);
    for (unsigned i = 0; i < 1000; i++)
        test_free(test_malloc(crew.pool, KIB(4), crew.members[0].stream), crew.members[0].stream);
    exit(EXIT_SUCCESS);
}

void row_a_process_that_ends_while_threads_allocate_ends_quietly(void) {
    for (unsigned i = 0; i < 5; i++)
        test_run_helper_quietly("end_while_threads_allocate");
}
