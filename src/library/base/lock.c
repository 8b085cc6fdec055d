#include "base/lock.h"

#include "base/thread.h"

#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A thread that spins pauses PAUSES_FIRST times before its first look at the lock, twice as often
// before each next one, and PAUSES_LAST times before the last. A critical section takes some tens
// of nanoseconds, or it holds a driver call's bookkeeping: the spinning covers the first kind and
// costs little before the second. As the looks become rarer, many threads don't all reach for the
// lock's cache line while its owner is to give it back.
enum { PAUSES_FIRST = 1, PAUSES_LAST = 64 };

// A holder that gives way waits so long at most for another thread to take the lock.
enum { PATIENCE_NS = 50000 };

// A thread that has waited long sleeps so long between two looks.
enum { SLEEP_NS = 50000 };

static _Atomic sp_lock_hook_function lock_hook;

void sp_lock_set_hook(sp_lock_hook_function hook) {
    sp_store_release(&lock_hook, hook);
}

sp_lock_hook_function sp_lock_hook(void) {
    return sp_load_acquire(&lock_hook);
}

#ifdef SP_SCHEDULE_POINTS
void sp_lock_schedule_point(void) {
    void (*hook)(int) = sp_load_acquire(&lock_hook);
    if (hook)
        hook(0);
}
#endif

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// By the system call itself: the C library's is where a thread may be cancelled, and this one may
// hold a lock.
void sp_lock_sleep(uint32_t nanoseconds) {
    const struct timespec time = {.tv_nsec = nanoseconds};
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, NULL);
}

void sp_lock_pause(unsigned round) {
    void (*hook)(int) = sp_load_acquire(&lock_hook);
    if (hook)
        hook(1);
    else if (round < PAUSES_LAST)
        relax();
    else if (round < SP_LOCK_SLEEPS)
        sched_yield();
    if (round >= SP_LOCK_SLEEPS)
        sp_lock_sleep(SLEEP_NS);
}

bool sp_lock_try_for(struct sp_lock *lock, uint64_t nanoseconds) {
    uint64_t end = sp_time_now() + nanoseconds;
    for (unsigned round = 0; !sp_lock_try(lock); round++) {
        if (sp_time_now() > end)
            return false;
        sp_lock_pause(round);
    }
    return true;
}

void sp_lock_acquire_contended(struct sp_lock *lock) {
    if (sp_load_acquire(&lock_hook)) {
        unsigned round = 0;
        do {
            sp_lock_pause(round++);
        } while (!sp_lock_try(lock));
        return;
    }
    for (int pauses = PAUSES_FIRST; pauses <= PAUSES_LAST; pauses *= 2) {
        for (int i = 0; i < pauses; i++)
            relax();
        if (sp_load_relaxed(&lock->state) == SP_LOCK_FREE && sp_lock_try(lock))
            return;
    }
    // A thread that slept takes the lock as WAITED, as it can't know whether others still sleep.
    while (atomic_exchange_explicit(&lock->state, SP_LOCK_WAITED, memory_order_acquire) !=
           SP_LOCK_FREE)
        syscall(SYS_futex, &lock->state, FUTEX_WAIT_PRIVATE, SP_LOCK_WAITED, NULL, NULL, 0);
}

// Waits until a woken thread has taken the lock. It runs some microseconds later, and would find
// the lock taken if this thread took it again at once. Where the processors are busy it may come
// too late, and gets the lock another time.
void sp_lock_give_way(struct sp_lock *lock) {
    bool hooked = sp_load_acquire(&lock_hook) != NULL;
    if (!hooked && sp_load_relaxed(&lock->state) != SP_LOCK_WAITED)
        return;
    sp_lock_release(lock);
    uint64_t end = sp_time_now() + PATIENCE_NS;
    while (!hooked && sp_load_relaxed(&lock->state) == SP_LOCK_FREE && sp_time_now() < end)
        relax();
    sp_lock_acquire(lock);
}

void sp_lock_release_waited(struct sp_lock *lock, uint32_t state) {
    assert(state == SP_LOCK_WAITED);
    (void)state;
    // Another thread may own the lock by now, or its memory may be gone: only its address is used
    // here, and waking nobody, or a sleeper that looks again, does no harm.
    syscall(SYS_futex, &lock->state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
