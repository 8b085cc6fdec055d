#include "region/fail.h"

#include "base/atomic.h"
#include "base/list.h"
#include "base/thread.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <streampool/lists.h>

struct room {
    const char *entry_point;
    char *text;
    size_t size; // of the text
};

// These are for threads without host memory: that there is none is such a sentence. A thread has
// one until it gets memory, or ends. In a forked child no memory is asked for, since another thread
// may have held the allocator's lock.
enum { SHORT = 96, SHORT_ROOMS = 16 };
static struct short_room {
    struct room room;
    _Atomic bool is_taken;
    char text[SHORT];
} short_rooms[SHORT_ROOMS];

// Is never written: threads that find no room share it.
static struct room nowhere = {"", "there is no host memory for the sentence", 0};

static _Thread_local struct room *room; // null before the first failure

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; // of a thread that has room
static bool has_key;

static bool is_long(const struct room *which) {
    return which && which->size == SP_ERROR_DETAIL;
}

static void give_back(struct room *which) {
    if (is_long(which))
        free(which);
    else if (which && which != &nowhere)
        sp_store_release(&SP_CONTAINER_OF(which, struct short_room, room)->is_taken, false);
}

// A later destructor of the program's may fail once more, and then gets room once more.
static void end(void *which) {
    room = NULL;
    give_back(which);
}

static void make_key(void) {
    has_key = pthread_key_create(&key, end) == 0;
}

// A library that is unloaded leaves no thread with a call to it.
__attribute__((destructor)) static void delete_key(void) {
    if (has_key)
        pthread_key_delete(key);
}

static struct room *take_short(void) {
    for (struct short_room *some = short_rooms; some < short_rooms + SHORT_ROOMS; some++) {
        if (atomic_exchange(&some->is_taken, true))
            continue;
        some->room = (struct room){"", some->text, SHORT};
        return &some->room;
    }
    return NULL;
}

// Has the thread's end give the room back. False where it wouldn't.
static bool keep(struct room *made) {
    if (!made || pthread_setspecific(key, made) != 0) {
        give_back(made);
        return false;
    }
    give_back(room);
    room = made;
    return true;
}

static void find_room(void) {
    pthread_once(&once, make_key);
    bool may_make = has_key && !sp_fork_is_child();
    struct room *made = may_make ? malloc(sizeof *made + SP_ERROR_DETAIL) : NULL;
    if (made)
        *made = (struct room){"", (char *)(made + 1), SP_ERROR_DETAIL};
    bool has_short = room && room != &nowhere;
    if (!has_key || (!keep(made) && !has_short && !keep(take_short())))
        room = &nowhere;
}

static _Thread_local struct {
    poolError_t unread; // of the last failure, until the program reads it
    CUresult native;
} last = {poolSuccess, CUDA_SUCCESS};

_Atomic bool sp_fail_had_fault;

bool sp_fail_is_fault(CUresult error) {
    switch (error) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
        return true;
    default:
        return false;
    }
}

poolError_t sp_fail_code(CUresult error) {
    switch ((int)error) {
#define IS_OURS(name, number, text) case number:
        STREAMPOOL_ERRORS(IS_OURS)
#undef IS_OURS
        return (poolError_t)error;
    case CUDA_ERROR_STUB_LIBRARY:
        return poolErrorInsufficientDriver;
    default:
        return poolErrorUnknown;
    }
}

poolError_t sp_fail(poolError_t error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (!is_long(room))
        find_room();
    if (room != &nowhere) {
        room->entry_point = "";
        vsnprintf(room->text, room->size, format, arguments);
    }
    va_end(arguments);
    if (error != poolErrorNotReady) // an answer, which no program takes for a failure
        last.unread = error;
    last.native = CUDA_SUCCESS;
    return error;
}

// A failure that the driver had no part in is told as the code that it has for such a one.
poolError_t sp_fail_outcome(struct sp_outcome outcome, const char *what) {
    CUresult code = outcome.cause == SP_DRIVER_FAILED   ? outcome.code
                    : sp_outcome_lacks_memory(outcome)  ? CUDA_ERROR_OUT_OF_MEMORY
                    : outcome.cause == SP_NOT_SUPPORTED ? CUDA_ERROR_NOT_SUPPORTED
                    : outcome.cause == SP_NO_CONTEXT    ? CUDA_ERROR_INVALID_CONTEXT
                    : outcome.cause == SP_CAPTURES      ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
                                                        : CUDA_ERROR_UNKNOWN;
    if (sp_fail_is_fault(code))
        sp_store_relaxed(&sp_fail_had_fault, true);
    const char *name = sp_driver_error_name(code);
    if (outcome.cause == SP_DRIVER_FAILED)
        sp_fail(sp_fail_code(code), "%s: %s returned %s", what, outcome.entry_point, name);
    else
        sp_fail(sp_fail_code(code), "%s: %s", what,
                outcome.cause == SP_NO_HOST_MEMORY || outcome.cause == SP_HOST_IS_FULL
                    ? "out of host memory"
                    : name);
    sp_fail_of_driver(outcome);
    return sp_fail_code(code);
}

void sp_fail_of_driver(struct sp_outcome outcome) {
    last.native = outcome.code;
    if (room != &nowhere)
        room->entry_point = outcome.entry_point ? outcome.entry_point : "";
}

poolError_t sp_fail_unread(void) {
    return last.unread;
}

void sp_fail_set_unread(poolError_t error) {
    last.unread = error;
}

const char *sp_fail_detail(void) {
    return room ? room->text : "";
}

void sp_fail_native(CUresult *error, const char **entry_point) {
    *error = last.native;
    *entry_point = room ? room->entry_point : "";
}
