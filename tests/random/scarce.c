#include "random/scarce.h"

#include "random/space.h"
#include "support/check.h"
#include "support/device.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// What there is little of. Each is there or not by the parity of some bits of the seed, so that any
// two of them are there together, alone and not at all in eight seeds in a row.
enum {
    NO_DESCRIPTORS = 1, // none is left to open a file
    NO_THREADS = 2,     // no thread can be started, the library's neither
    SMALL_STACK = 4,    // the program runs on the stack that docs/environment.md says is enough
    NO_PROCESSES = 5,   // threads that can't be started are too many, and not too large
    NO_SPACE = 7        // in some operations there is hardly any address space left
};

static bool lacks(const struct plan *plan, unsigned what) {
    return __builtin_parityll(plan->seed & what);
}

// A sanitizer's frames are larger, and it needs address space of its own.
#ifdef SANITIZED
enum { STACK = 2048 * 1024, NEEDS_SPACE = true };
#else
enum { STACK = 64 * 1024, NEEDS_SPACE = false };
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

// ----------------------------------------------------------------------------------------- threads

static void *end_at_once(void *nothing) {
    return nothing;
}

static bool can_start_threads(void) {
    pthread_t thread;
    return pthread_create(&thread, NULL, end_at_once, NULL) == 0 && pthread_join(thread, NULL) == 0;
}

// The privileged pass the limit of a user's processes, so the processes become somebody else's and
// the two privileges go. The effective user stays: files, the driver's too, can be read as before.
static bool give_up_privileges(void) {
    enum { NOBODY = 65534 };
    const struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct held[_LINUX_CAPABILITY_U32S_3];
    if (geteuid() != 0)
        return true;
    if (setresuid(NOBODY, 0, 0) != 0 || syscall(SYS_capget, &header, held) != 0)
        return false;
    held[0].effective &= ~(1U << CAP_SYS_RESOURCE | 1U << CAP_SYS_ADMIN);
    return syscall(SYS_capset, &header, held) == 0;
}

// False where it can't.
static bool allow_no_processes(void) {
    const struct rlimit none = {0, 0};
    return give_up_privileges() && setrlimit(RLIMIT_NPROC, &none) == 0 && !can_start_threads();
}

// There is no room for such a stack.
static void allow_large_stacks_only(void) {
    pthread_attr_t attributes;
    REQUIRE(pthread_attr_init(&attributes) == 0);
    REQUIRE(pthread_attr_setstacksize(&attributes, (size_t)1 << 47) == 0);
    REQUIRE(pthread_setattr_default_np(&attributes) == 0);
    pthread_attr_destroy(&attributes);
    REQUIRE(!can_start_threads());
}

static void allow_no_threads(const struct plan *plan) {
    bool by_their_number = lacks(plan, NO_PROCESSES);
    if (by_their_number && allow_no_processes())
        return;
    if (by_their_number) {
        printf("seed %" PRIu64 ": the processes of a user can't be limited here\n", plan->seed);
        fflush(stdout);
    }
    allow_large_stacks_only();
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

// ----------------------------------------------------------------------------------------- a run

static bool lacks_space(const struct plan *plan) {
    return !NEEDS_SPACE && plan->threads == 1 && lacks(plan, NO_SPACE);
}

static void *run_here(void *argument) {
    const struct run *run = argument;
    const struct plan *plan = run->plan;
    if (plan->threads == 1 && (lacks(plan, NO_THREADS) || lacks_space(plan)))
        allow_no_threads(plan);
    program_run(plan, run->totals);
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

void scarce_run(const struct plan *asked, struct totals *totals) {
    struct plan plan = *asked;
    struct run run = {&plan, totals};
    block_signals();
    if (lacks_space(&plan)) {
        plan.short_of_space = (uint64_t)100 << plan.seed % 4;
        space_prepare();
    }
    if (lacks(&plan, NO_DESCRIPTORS))
        use_up_descriptors();
    if (lacks(&plan, SMALL_STACK))
        run_on(STACK, &run);
    else
        run_here(&run);
    sigset_t pending;
    REQUIRE(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
}
