#include "copy/completion.h"

#include "base/lock.h"
#include "base/thread.h"
#include "beside/refuse.h"

#include "copy/crew.h"

#include <stdlib.h>

enum { PLACE_BITS = 20 };
#define PLACES_MOST ((size_t)1 << PLACE_BITS)

// How often a thread that waits looks whether the context lives, in nanoseconds.
enum { LOOK = 100 * 1000 };

struct sp_completion {
    size_t place;
    unsigned int users;     // the table, and threads that ask
    uint64_t number;        // of the handle; 0: it is given out to nobody
    struct sp_ahead *ahead; // both null: complete from the beginning
    CUevent event;
};

static struct sp_lock lock;
// Guarded by it. The first place stays empty, so that no handle is null.
static struct sp_completion **table;
static size_t places, capacity;
static size_t lowest_free = 1; // no place before it is free
static uint64_t last_number;

static size_t free_place_locked(void) {
    while (lowest_free < places && table[lowest_free])
        lowest_free++;
    return lowest_free;
}

static void leave_locked(const struct sp_completion *completion) {
    table[completion->place] = NULL;
    if (completion->place < lowest_free)
        lowest_free = completion->place;
}

static bool enter_locked(struct sp_completion *completion) {
    size_t place = free_place_locked();
    if (place == PLACES_MOST)
        return false;
    if (place >= capacity) {
        size_t wanted = capacity ? 2 * capacity : 16;
        struct sp_completion **larger = realloc(table, wanted * sizeof(*table));
        if (!larger)
            return false;
        for (size_t i = capacity; i < wanted; i++)
            larger[i] = NULL;
        table = larger;
        capacity = wanted;
    }
    places = place >= places ? place + 1 : places;
    table[place] = completion;
    completion->place = place;
    return true;
}

struct sp_completion *sp_completion_make(void) {
    struct sp_completion *completion = calloc(1, sizeof *completion);
    if (!completion)
        return NULL;
    completion->users = 1;
    sp_lock_acquire(&lock);
    bool entered = enter_locked(completion);
    sp_lock_release(&lock);
    if (entered)
        return completion;
    free(completion);
    return NULL;
}

void sp_completion_unmake(struct sp_completion *completion) {
    sp_lock_acquire(&lock);
    leave_locked(completion);
    sp_lock_release(&lock);
    free(completion);
}

static poolCopyCompletion_t handle_of(const struct sp_completion *completion) {
    return (poolCopyCompletion_t)(uintptr_t)(completion->number << PLACE_BITS | completion->place);
}

static poolCopyCompletion_t give_out(struct sp_completion *completion) {
    sp_lock_acquire(&lock);
    completion->number = ++last_number;
    sp_lock_release(&lock);
    return handle_of(completion);
}

poolCopyCompletion_t sp_completion_of_ahead(struct sp_completion *completion,
                                            struct sp_ahead *ahead) {
    completion->ahead = ahead;
    return give_out(completion);
}

poolCopyCompletion_t sp_completion_of_event(struct sp_completion *completion, CUevent event) {
    completion->event = event;
    return give_out(completion);
}

poolCopyCompletion_t sp_completion_of_nothing(struct sp_completion *completion) {
    return give_out(completion);
}

static struct sp_completion *find_locked(poolCopyCompletion_t handle) {
    size_t place = (uintptr_t)handle % PLACES_MOST;
    struct sp_completion *found = handle && place < places ? table[place] : NULL;
    return found && found->number > 0 && handle_of(found) == handle ? found : NULL;
}

struct sp_completion *sp_completion_find(poolCopyCompletion_t handle) {
    sp_lock_acquire(&lock);
    struct sp_completion *found = find_locked(handle);
    if (found)
        found->users++;
    sp_lock_release(&lock);
    return found;
}

void sp_completion_leave(struct sp_completion *completion) {
    sp_lock_acquire(&lock);
    bool is_last = --completion->users == 0;
    sp_lock_release(&lock);
    if (!is_last)
        return;
    if (completion->ahead)
        sp_ahead_drop(completion->ahead);
    if (completion->event)
        sp_driver->cuEventDestroy(completion->event);
    free(completion);
}

// ------------------------------------------------------------------------------------ what it says

static poolError_t ask_event(CUevent event) {
    bool is_complete;
    struct sp_outcome outcome =
        sp_outcome_of_query(sp_driver->cuEventQuery(event), "cuEventQuery", &is_complete);
    if (!sp_is_done(outcome))
        return sp_refuse_outcome(outcome, "a copy");
    return is_complete ? poolSuccess : poolErrorNotReady;
}

// An error of the context ends the copy: the program may do with the host's memory what it likes.
static poolError_t ask_ahead(struct sp_ahead *ahead) {
    if (sp_ahead_is_done(ahead))
        return sp_ahead_problem(ahead);
    poolError_t error = ask_event(ahead->event);
    if (error != poolSuccess && error != poolErrorNotReady)
        sp_ahead_fail(ahead, error);
    else if (sp_ahead_is_done(ahead)) // meanwhile
        error = sp_ahead_problem(ahead);
    else if (sp_crew_is_ending())
        error = sp_refuse(poolErrorNotPermitted, "the process ends, and the copy with it");
    else
        error = poolErrorNotReady;
    return error;
}

// Once the host has the bytes its stream is through with the copy, or is about to be: the driver is
// asked too, so that a simulated one knows what has been read when the program goes on.
static poolError_t query_ahead(struct sp_ahead *ahead) {
    poolError_t error = ask_ahead(ahead);
    bool is_about_to_be = error == poolSuccess && !ahead->job.to_device &&
                          sp_driver->cuEventQuery(ahead->event) == CUDA_ERROR_NOT_READY;
    return is_about_to_be ? poolErrorNotReady : error;
}

poolError_t sp_completion_query(struct sp_completion *completion) {
    return completion->ahead   ? query_ahead(completion->ahead)
           : completion->event ? ask_event(completion->event)
                               : poolSuccess;
}

static poolError_t await_event(CUevent event) {
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
    return sp_is_done(outcome) ? poolSuccess : sp_refuse_outcome(outcome, "a copy");
}

static poolError_t await_ahead(struct sp_ahead *ahead) {
    poolError_t error = poolErrorNotReady;
    while (error == poolErrorNotReady) {
        sp_ahead_await(ahead, sp_time_now() + LOOK);
        error = ask_ahead(ahead);
    }
    if (error == poolSuccess && !ahead->job.to_device)
        sp_driver->cuEventSynchronize(ahead->event); // the host has the bytes, whatever it says
    return error;
}

poolError_t sp_completion_synchronize(struct sp_completion *completion) {
    return completion->ahead   ? await_ahead(completion->ahead)
           : completion->event ? await_event(completion->event)
                               : poolSuccess;
}

bool sp_completion_destroy(poolCopyCompletion_t handle) {
    sp_lock_acquire(&lock);
    struct sp_completion *completion = find_locked(handle);
    if (completion)
        leave_locked(completion);
    sp_lock_release(&lock);
    if (completion)
        sp_completion_leave(completion);
    return completion != NULL;
}
