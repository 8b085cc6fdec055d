// Managers: the table of all that there are, and who is inside of one.
//
// A handle is a number and a place in the table, so that a handle of a manager that is gone is told
// from that of a later one in its place. A place is never given back to the system: a thread may
// look at it with any handle.
//
// A thread that works with a manager is *inside* of it. Who destroys one first takes its handle out
// of the table, and then waits until nobody is inside; who comes later finds another handle, or
// none, and goes. Both sides are in one order for all threads:
//
//   a call:   inside++; handle still there?       destroy:   handle = none; wait while inside > 0
#ifndef STREAMPOOL_MAM_MANAGER_H
#define STREAMPOOL_MAM_MANAGER_H

#include "base/atomic.h"
#include "base/cold.h"
#include "base/lock.h"

#include "mam/known.h"

#include <stdbool.h>
#include <streampool/mam.h>

struct sp_home;

enum { SP_MANAGER_PLACES = 1024 }; // the first stays empty, so that no handle is null

struct sp_manager {
    _Alignas(64) _Atomic(poolMam_t) handle; // null: nobody's
    _Atomic uint32_t inside;
    _Atomic(struct sp_home *) home; // null: the chunk isn't taken yet
    poolMemPool_t pool;             // has the chunk, once there is a home
    // For the first allocation:
    struct sp_lock lock; // held by the thread that takes the chunk
    int device;
    size_t chunk_size; // 0: what the device has free
    unsigned int flags;
    uint64_t next_number; // that the table gives to the next manager in this place
    struct sp_known known;
};

extern struct sp_manager sp_manager_table[SP_MANAGER_PLACES];

// The manager that the thread is inside of; null: none. A growth's observer may go inside again.
extern _Thread_local __attribute__((tls_model("initial-exec"),
                                    visibility("hidden"))) struct sp_manager *sp_manager_entered;

// Goes inside of the manager with this handle. Null when there is none. `before` receives what the
// thread was inside of before.
static inline struct sp_manager *sp_manager_enter(poolMam_t handle, struct sp_manager **before) {
    struct sp_manager *manager = &sp_manager_table[(uintptr_t)handle % SP_MANAGER_PLACES];
    if (SP_UNLIKELY(!handle))
        return NULL;
    atomic_fetch_add(&manager->inside, 1);
    if (SP_UNLIKELY(atomic_load(&manager->handle) != handle)) {
        atomic_fetch_sub(&manager->inside, 1);
        return NULL;
    }
    *before = sp_manager_entered;
    sp_manager_entered = manager;
    return manager;
}

static inline void sp_manager_leave(struct sp_manager *manager, struct sp_manager *before) {
    sp_manager_entered = before;
    atomic_fetch_sub_explicit(&manager->inside, 1, memory_order_release);
}

// Gives a new manager a place, with the fields of `made` that say what it is made with. False when
// there are too many.
bool sp_manager_add(const struct sp_manager *made, poolMam_t *handle);

// Takes the handle out of the table, and waits until nobody is inside any more. Null when there is
// no such manager: one of several threads gets it, and gives the place back.
struct sp_manager *sp_manager_take_out(poolMam_t handle);
void sp_manager_give_back(struct sp_manager *manager);

#endif
