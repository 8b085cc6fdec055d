#include "base/biased_lock.h"

#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// A thread that takes a lock STREAK_FIRST times in a row becomes its owner; the number doubles for
// each ownership that was ended, up to PATIENCE_MAX times. Ending one costs some microseconds.
// Taking `shared` costs some ten nanoseconds more than going inside as the owner. To find it held
// counts as much as to find it free CONTENTION_STEP times.
#ifdef SP_SCHEDULE_POINTS
enum { STREAK_FIRST = 1, PATIENCE_MAX = 2 }; // for tests: owners come and go
enum { CONTENTION_STEP = 128, CHANGE_COUNTS = 1 };
#else
enum { STREAK_FIRST = 32, PATIENCE_MAX = 8 };
enum { CONTENTION_STEP = 8, CHANGE_COUNTS = 0 };
#endif

static struct sp_lock_owner nobody; // is never a lock's owner
_Thread_local struct sp_lock_owner *sp_this_thread = &nobody;
#ifndef NDEBUG
_Thread_local const struct sp_biased_lock *sp_biased_held;
#endif

static _Atomic bool enabled;
static pthread_key_t key_of_thread; // its destructor runs at a thread's end

static struct {
    struct sp_lock lock;
    struct sp_lock_owner *owners;
    struct sp_lock_owner *all; // spare or not: none is ever lost
} spare;

static _Atomic uint32_t threads; // structs that were made; UINT32_MAX when one was lacking

// ----------------------------------------------------------------------------------------- threads

// Makes the struct of an ended thread spare. The next thread that gets it also gets the locks that
// the ended one owned.
static void end_thread(void *owner) {
    struct sp_lock_owner *ended = owner;
    sp_this_thread = &nobody;
    sp_lock_acquire(&spare.lock);
    ended->next_spare = spare.owners;
    spare.owners = ended;
    sp_lock_release(&spare.lock);
}

// Gives the calling thread a struct. Without host memory it has none, and becomes no owner.
static void begin_thread(void) {
    sp_lock_acquire(&spare.lock);
    struct sp_lock_owner *owner = spare.owners;
    if (owner) {
        spare.owners = owner->next_spare;
    } else if ((owner = aligned_alloc(_Alignof(struct sp_lock_owner), sizeof *owner))) {
        memset(owner, 0, sizeof *owner);
        owner->number = spare.all ? spare.all->number + 1 : 1;
        owner->shelf = owner->number;
        if (sp_load_relaxed(&threads) != UINT32_MAX)
            sp_store_relaxed(&threads, owner->number);
        owner->next = spare.all;
        spare.all = owner;
    }
    sp_lock_release(&spare.lock);
    if (!owner)
        sp_store_relaxed(&threads, UINT32_MAX);
    else if (pthread_setspecific(key_of_thread, owner) == 0)
        sp_this_thread = owner;
    else
        end_thread(owner);
}

uint32_t sp_biased_lock_threads(void) {
    return sp_load_acquire(&enabled) ? sp_load_relaxed(&threads) : UINT32_MAX;
}

bool sp_biased_lock_enable_all(void) {
    if (sp_load_acquire(&enabled))
        return true;
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) != 0 ||
        pthread_key_create(&key_of_thread, end_thread) != 0)
        return false;
    sp_store_release(&enabled, true);
    return true;
}

// Runs when the library is unloaded or the process ends: a thread that ends later must not call
// end_thread. It keeps the locks that it owns.
__attribute__((destructor)) static void forget_threads(void) {
    if (atomic_exchange(&enabled, false))
        pthread_key_delete(key_of_thread);
}

// --------------------------------------------------------------------------------------- ownership

// Ends an ownership, with `shared` held. A barrier is executed on every thread that runs. The
// kernel may lack memory for it, or a filter of system calls may forbid it. A processor's stores
// come out by themselves within microseconds, so a pause of milliseconds does as well.
static void end_ownership(struct sp_biased_lock *lock, const struct sp_lock_owner *owner) {
    sp_store_relaxed(&lock->owner, NULL);
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) != 0)
        sp_lock_sleep(10 * 1000 * 1000);
    for (unsigned round = 0; sp_load_acquire(&owner->inside) == lock; round++)
        sp_lock_pause(round);
    if (lock->patience < PATIENCE_MAX)
        lock->patience++;
}

// A lock that was found contended stays so.
static void count_contention(struct sp_biased_lock *lock, bool contended) {
    uint8_t count = sp_load_relaxed(&lock->contention);
    if (count == SP_BIASED_CONTENDED || (!contended && count == 0))
        return;
    bool is_full = contended && count >= SP_BIASED_CONTENDED - CONTENTION_STEP;
    uint8_t next =
        is_full ? SP_BIASED_CONTENDED : (uint8_t)(contended ? count + CONTENTION_STEP : count - 1);
    sp_store_relaxed(&lock->contention, next);
}

void sp_biased_lock_acquire_shared(struct sp_biased_lock *lock) {
    if (sp_this_thread == &nobody && sp_load_acquire(&enabled))
        begin_thread();
    bool contended = sp_lock_acquire(&lock->shared);
    count_contention(lock, contended || (CHANGE_COUNTS && lock->last != sp_this_thread));
    struct sp_lock_owner *owner = sp_load_relaxed(&lock->owner);
    if (owner)
        end_ownership(lock, owner);
    if (lock->last != sp_this_thread)
        lock->streak = 0;
    lock->last = sp_this_thread;
}

void sp_biased_lock_release_shared(struct sp_biased_lock *lock) {
    if (++lock->streak > STREAK_FIRST << lock->patience && lock->last != &nobody) {
        lock->streak = 0;
        sp_store_relaxed(&lock->owner, lock->last);
    }
    sp_lock_release(&lock->shared);
}
