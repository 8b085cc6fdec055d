// A lock that costs one thread no atomic read-modify-write: the thread that it is biased towards.
//
// Most locks of the hot path are taken by one thread only. A plain lock makes that thread pay two
// read-modify-writes, of some twenty cycles each, for others who don't come. Here a thread that
// takes the lock some dozens of times in a row becomes its *owner*. The owner says by a plain store
// that it goes inside, and then looks whether it is still the owner. Any other thread that wants
// the lock takes `shared`, ends the ownership, and waits until the owner isn't inside:
//
//   the owner:   inside = lock; still the owner?
//   the others:  owner = none; barrier; wait while inside == lock
//
// The owner's store and load must not change places, which a barrier between them would prevent.
// Instead the others have the kernel execute one on every running thread of the process
// (membarrier). That takes microseconds, which only they pay. Each end of an ownership doubles how
// often in a row the lock must be taken for the next one, up to thousands. So a lock that several
// threads use is nearly always a plain lock.
//
// A thread says where it is inside in memory of its own: a thread that was stopped on its way in,
// and has lost the lock since, must not undo what a later owner says. So a thread is inside one
// biased lock at a time.
//
// Without that system call there are no owners, and the lock is a plain one. Zeroed memory is a
// free lock. It is not recursive and not fair.
#ifndef STREAMPOOL_BASE_BIASED_LOCK_H
#define STREAMPOOL_BASE_BIASED_LOCK_H

#include "base/atomic.h"
#include "base/cold.h"
#include "base/lock.h"

#include <stddef.h>

// A thread that has taken such a lock. When it has ended another thread uses the struct again; it
// is never given back to the system.
struct sp_lock_owner {
    // The lock that the thread is inside as its owner. Only the thread writes it.
    _Alignas(64) _Atomic(struct sp_biased_lock *) inside;
    struct sp_lock_owner *next_spare;
    struct sp_lock_owner *next; // in the list of all, spare or not
    uint32_t number;            // from 1 on; of threads that run at a time none have the same
    // The thread alone writes these: see the shelves in region/lane.h.
    uint32_t shelf;
    uint32_t stays; // so many times more when it meets another thread there
    // The pool that the thread watches, and how often it has taken memory out of lists there since;
    // see region/in_flight.h.
    const void *watches;
    uint64_t taken;
};

struct sp_biased_lock {
    struct sp_lock shared; // held by each thread inside but the owner
    // Guarded by `shared`:
    uint16_t streak;            // how often in a row `last` took it
    uint8_t patience;           // how often an ownership was ended, up to a limit
    _Atomic uint8_t contention; // how often `shared` was held of late
    struct sp_lock_owner *last; // the thread that took `shared` last

    _Atomic(struct sp_lock_owner *) owner; // null: none
};

// True when threads have stood in each other's way at the lock, until it is told to forget that: of
// late more than every ninth found `shared` held. Anybody may ask.
#define SP_BIASED_CONTENDED UINT8_MAX
static inline bool sp_biased_lock_is_contended(const struct sp_biased_lock *lock) {
    return sp_load_relaxed(&lock->contention) == SP_BIASED_CONTENDED;
}

// With the lock held.
static inline void sp_biased_lock_forget_contention(struct sp_biased_lock *lock) {
    sp_store_relaxed(&lock->contention, 0);
}

// Lets threads become owners from now on. False when the system can't do that. It may take
// milliseconds in a process with threads, so it is called once, at the start.
bool sp_biased_lock_enable_all(void);

// Returns how many threads at most have run at a time that took biased locks, as far as is known;
// else UINT32_MAX.
uint32_t sp_biased_lock_threads(void);

// The calling thread. Until it first takes a biased lock by `shared` this is a struct that owns
// nothing.
extern _Thread_local __attribute__((tls_model("initial-exec"),
                                    visibility("hidden"))) struct sp_lock_owner *sp_this_thread;

// In debug builds a thread that takes a second biased lock is stopped.
#ifdef NDEBUG
#define SP_BIASED_BEGIN() ((void)0)
#define SP_BIASED_END()   ((void)0)
#else
extern _Thread_local __attribute__((tls_model("initial-exec"), visibility("hidden")))
const struct sp_biased_lock *sp_biased_held;
#define SP_BIASED_BEGIN() (assert(!sp_biased_held), (void)(sp_biased_held = lock))
#define SP_BIASED_END()   (assert(sp_biased_held == lock), (void)(sp_biased_held = NULL))
#endif

// These two are the slow paths of the functions below. A thread that is inside another biased lock
// takes this one by them alone: so it becomes no owner that is inside two.
void sp_biased_lock_acquire_shared(struct sp_biased_lock *lock);
void sp_biased_lock_release_shared(struct sp_biased_lock *lock);

static inline void sp_biased_lock_acquire(struct sp_biased_lock *lock) {
    struct sp_lock_owner *me = sp_this_thread;
    bool inside = false;
    sp_lock_schedule_point();
    if (SP_LIKELY(sp_load_relaxed(&lock->owner) == me)) {
        sp_lock_schedule_point();
        sp_store_relaxed(&me->inside, lock);
        atomic_signal_fence(
            memory_order_seq_cst); // the other thread's barrier orders the processors
        inside = sp_load_relaxed(&lock->owner) == me;
        if (SP_UNLIKELY(!inside))
            sp_store_release(&me->inside, NULL);
    }
    if (SP_UNLIKELY(!inside))
        sp_biased_lock_acquire_shared(lock);
    SP_BIASED_BEGIN();
}

static inline void sp_biased_lock_release(struct sp_biased_lock *lock) {
    struct sp_lock_owner *me = sp_this_thread;
    sp_lock_schedule_point();
    SP_BIASED_END();
    if (SP_LIKELY(sp_load_relaxed(&me->inside) != NULL))
        sp_store_release(&me->inside, NULL);
    else
        sp_biased_lock_release_shared(lock);
}

#endif
