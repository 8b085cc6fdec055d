#include "random/scarce.h"

#include "support/check.h"
#include "support/device.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

// What there is little of: each is a bit of the number that the seed draws, all of which eight
// seeds in a row have.
enum {
    NO_DESCRIPTORS = 1, // none is left to open a file
    NO_THREADS = 2,     // no thread can be started, the library's neither
    SMALL_STACK = 4     // the program runs on the stack that docs/environment.md says is enough
};

#ifdef SANITIZED
enum { STACK = 2048 * 1024 }; // a sanitizer's frames are larger
#else
enum { STACK = 64 * 1024 };
#endif
enum { DESCRIPTORS = 64 };

struct run {
    const struct plan *plan;
    struct totals *totals;
};

// The driver is loaded before; the simulated one keeps the device's memory in a file, which the
// first use of memory makes.
static void use_up_descriptors(void) {
    struct rlimit limit = {DESCRIPTORS, DESCRIPTORS};
    CUdeviceptr address;
    test_use_device(0);
    DRIVER(test_driver()->cuMemAlloc(&address, sizeof address));
    DRIVER(test_driver()->cuMemcpyHtoD(address, &address, sizeof address));
    DRIVER(test_driver()->cuMemFree(address));
    REQUIRE(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
        continue;
}

// The privileged may start threads beyond any limit, but find no room for such a stack.
static void allow_no_threads(void) {
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, (size_t)1 << 47) == 0);
    REQUIRE(pthread_setattr_default_np(&attributes) == 0);
    pthread_attr_destroy(&attributes);
}

static void *run_here(void *argument) {
    const struct run *run = argument;
    program_run(run->plan, run->totals);
    return NULL;
}

static void run_on(size_t stack, struct run *run) {
    pthread_attr_t attributes;
    pthread_t thread;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, stack) == 0);
    REQUIRE(pthread_create(&thread, &attributes, run_here, run) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

// ----------------------------------------------------------------------------------------- signals

// All of the program's threads block all signals, so no thread is left that takes one.
static void end_process(int signal) {
    static const char text[] = "FAIL a thread of the library's took a signal\n";
    (void)signal;
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    _exit(EXIT_FAILURE);
}

static void block_signals(void) {
    sigset_t all;
    REQUIRE(signal(SIGUSR1, end_process) != SIG_ERR);
    sigfillset(&all);
    REQUIRE(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    REQUIRE(kill(getpid(), SIGUSR1) == 0); // it waits for a thread that takes it
}

void scarce_run(const struct plan *plan, struct totals *totals) {
    struct run run = {plan, totals};
    unsigned lacks = plan->seed % 8;
    block_signals();
    if (lacks & NO_DESCRIPTORS)
        use_up_descriptors();
    if (lacks & NO_THREADS && plan->threads == 1)
        allow_no_threads();
    if (lacks & SMALL_STACK)
        run_on(STACK, &run);
    else
        program_run(plan, totals);
    sigset_t pending;
    REQUIRE(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
}
