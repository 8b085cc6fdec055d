// Runs a function one instruction at a time, so that a test can do between any two of them what
// another thread could. Include cmocka.h before. A test begins with require_stepping, which skips
// it where it can't be done. What is kept is static: one test program steps one thread at a time.
#ifndef STREAMPOOL_TESTS_UNIT_STEPPING_H
#define STREAMPOOL_TESTS_UNIT_STEPPING_H

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

// A sanitizer for threads delivers no signal between two instructions.
#if defined(__SANITIZE_THREAD__)
#define STEPPING_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STEPPING_SANITIZED 1
#endif
#endif

#if defined(__x86_64__) && !defined(STEPPING_SANITIZED)
// The processor traps after each instruction while the flag is set.
enum { STEPPING_FLAG = 1 << 8 };

static inline void stepping_set(bool on) {
    unsigned long long flags = __builtin_ia32_readeflags_u64();
    unsigned long long others = flags & ~(unsigned long long)STEPPING_FLAG;
    __builtin_ia32_writeeflags_u64(on ? flags | STEPPING_FLAG : others);
}

static bool (*stepping_between)(void);

static inline void stepping_trap(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    if (!stepping_between())
        ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)STEPPING_FLAG;
}

// Calls `between` after each instruction of `function`, until it returns false. The function starts
// no thread: that would step, too.
static inline void step_through(void (*function)(void), bool (*between)(void)) {
    const struct sigaction trap = {.sa_sigaction = stepping_trap, .sa_flags = SA_SIGINFO};
    struct sigaction before;
    stepping_between = between;
    assert_int_equal(sigaction(SIGTRAP, &trap, &before), 0);
    stepping_set(true);
    function();
    stepping_set(false);
    assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
}

static inline void require_stepping(void) {
}
#else
static inline void step_through(void (*function)(void), bool (*between)(void)) {
    (void)function;
    (void)between;
}

static inline void require_stepping(void) {
    skip();
}
#endif

#endif
