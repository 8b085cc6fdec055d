// A mutual exclusion lock of four bytes; zeroed memory is a free lock.
//
//   state is FREE, HELD, or WAITED (held, and a thread may be asleep on it)
//
// Taking a free lock, and giving back one that nobody waits for, is one atomic instruction each. A
// thread that finds the lock held spins for a moment and then sleeps in the kernel. The lock is not
// recursive and not fair.
//
// The simulated driver's scheduled mode runs one thread at a time. That thread must not sleep in
// the kernel on a lock whose owner is not running. So the driver can install a hook: a thread that
// finds a lock held calls hook(1), in which the scheduler lets another thread run, and tries again.
// After many such looks it sleeps between them: the owner may be a thread of a lower priority that
// the system, and not the scheduler, has to run.
// Where SP_SCHEDULE_POINTS is defined, each acquisition calls hook(0) first, so that the scheduler
// can switch threads there.
#ifndef STREAMPOOL_BASE_LOCK_H
#define STREAMPOOL_BASE_LOCK_H

#include "base/atomic.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum { SP_LOCK_FREE, SP_LOCK_HELD, SP_LOCK_WAITED };

struct sp_lock {
    _Atomic uint32_t state;
};

static_assert(sizeof(struct sp_lock) == 4, "a lock is a futex word and nothing else");

// Installs the hook for the whole process; null takes it away. Call it before threads contend for a
// lock.
typedef void (*sp_lock_hook_function)(int contended);
void sp_lock_set_hook(sp_lock_hook_function hook);
sp_lock_hook_function sp_lock_hook(void);

// These are the slow paths of the functions below, which alone call them.
void sp_lock_acquire_contended(struct sp_lock *lock);
void sp_lock_release_waited(struct sp_lock *lock, uint32_t state);
#ifdef SP_SCHEDULE_POINTS
void sp_lock_schedule_point(void);
#else
#define sp_lock_schedule_point() ((void)0)
#endif

// Passes the time between two looks of a thread that waits for something that a running thread is
// about to do. `round` counts the looks from 0; from SP_LOCK_SLEEPS on each takes some tens of
// microseconds, in which a thread that was stopped can go on.
enum { SP_LOCK_SLEEPS = 256 };
void sp_lock_pause(unsigned round);

// Sleeps for less than a second.
void sp_lock_sleep(uint32_t nanoseconds);

// True when the lock was free and is now the caller's.
static inline bool sp_lock_try(struct sp_lock *lock) {
    uint32_t expected = SP_LOCK_FREE;
    return atomic_compare_exchange_strong_explicit(&lock->state, &expected, SP_LOCK_HELD,
                                                   memory_order_acquire, memory_order_relaxed);
}

// Takes the lock. True when another thread held it at first.
static inline bool sp_lock_acquire(struct sp_lock *lock) {
    sp_lock_schedule_point();
    uint32_t expected = SP_LOCK_FREE;
    bool taken = atomic_compare_exchange_strong_explicit(
        &lock->state, &expected, SP_LOCK_HELD, memory_order_acquire, memory_order_relaxed);
    if (__builtin_expect(!taken, 0))
        sp_lock_acquire_contended(lock);
    return !taken;
}

// True when some thread holds the lock just now. A hint.
static inline bool sp_lock_is_held(const struct sp_lock *lock) {
    return sp_load_relaxed(&lock->state) != SP_LOCK_FREE;
}

// Tries so many nanoseconds long. True when the lock is the caller's.
bool sp_lock_try_for(struct sp_lock *lock, uint64_t nanoseconds);

static inline void sp_lock_release(struct sp_lock *lock) {
    uint32_t state = atomic_exchange_explicit(&lock->state, SP_LOCK_FREE, memory_order_release);
    if (__builtin_expect(state != SP_LOCK_HELD, 0))
        sp_lock_release_waited(lock, state);
}

// Lets another thread have the lock in between, if one sleeps on it. A holder with much to do calls
// it where its work may be interrupted.
void sp_lock_give_way(struct sp_lock *lock);

#endif
