#include "observe/observe.h"

#include "base/log.h"
#include "base/options.h"
#include "base/time.h"

#include <execinfo.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic bool sp_observe_on;

static struct sp_lock turn;
static _Atomic pthread_t holder; // of the turn; 0 while nobody has it
static int stack_depth;          // written before the flag

// ----------------------------------------------------------------------------------- begin and end

static int depth_from_options(void) {
    int depth = sp_options()->stacks;
    if (depth >= 0 && depth <= SP_STACK_MOST)
        return depth;
    sp_log_write("STREAMPOOL_STACKS=%d is ignored: it is a number of frames, 0 to %d", depth,
                 SP_STACK_MOST);
    return 0;
}

// The first backtrace of a process loads a library, which is better done before the program has
// anything at stake.
static void begin_stacks(void) {
    void *frame;
    stack_depth = sp_options()->leaks ? depth_from_options() : 0;
    if (stack_depth > 0)
        (void)backtrace(&frame, 1);
}

void sp_observe_begin(void) {
    if (!sp_options_observe())
        return;
    begin_stacks();
    if (sp_options()->trace)
        sp_recorder_begin(sp_options()->trace);
    sp_store_release(&sp_observe_on, true);
}

bool sp_observe_end(void) {
    sp_store_relaxed(&sp_observe_on, false);
    return sp_recorder_end() && sp_live_settle();
}

// ------------------------------------------------------------------------------------------- turns

bool sp_observe_wait_for_turn(void) {
    if (sp_load_relaxed(&holder) == pthread_self() || !sp_lock_try_for(&turn, SP_SECOND))
        return false;
    sp_store_relaxed(&holder, pthread_self());
    return true;
}

void sp_observe_give_turn(bool taken) {
    if (!taken)
        return;
    sp_store_relaxed(&holder, 0);
    sp_lock_release(&turn);
}

bool sp_observe_take_turn_behind_stream(CUstream handle) {
    if (!sp_recorder_is_on())
        return false;
    (void)sp_outcome_of_driver(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
    return sp_observe_wait_for_turn();
}

bool sp_observe_take_turn_behind_event(CUevent event) {
    if (!sp_recorder_is_on())
        return false;
    (void)sp_outcome_of_driver(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
    return sp_observe_wait_for_turn();
}

bool sp_observe_take_turn_behind_context(void) {
    if (!sp_recorder_is_on())
        return false;
    (void)sp_outcome_of_driver(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
    return sp_observe_wait_for_turn();
}

// --------------------------------------------------------------------------- allocations and frees

static uint64_t number_of(const struct sp_stream *stream) {
    return stream ? sp_recorder_number(stream) : 0;
}

void sp_observe_allocated(const void *pointer, uint64_t size, const struct sp_stream *stream,
                          const void *caller) {
    struct sp_live_block block = {
        .address = (uint64_t)(uintptr_t)pointer,
        .size = size,
        .stream = number_of(stream),
        .thread = (uint64_t)syscall(SYS_gettid),
        .stack = sp_stack_here(caller, stack_depth),
    };
    sp_live_add(&block);
    sp_recorder_write(SP_RECORD_ALLOCATE, block.address, size, block.stream);
}

void sp_observe_refused(uint64_t size, const struct sp_stream *stream) {
    sp_recorder_write(SP_RECORD_FAILURE, 0, size, number_of(stream));
}

struct sp_live_block *sp_observe_freeing(const void *pointer) {
    return sp_live_take((uint64_t)(uintptr_t)pointer);
}

void sp_observe_freed(struct sp_live_block *block, const struct sp_stream *stream) {
    if (!block)
        return;
    sp_recorder_write(stream ? SP_RECORD_FREE : SP_RECORD_FREE_UNORDERED, block->address,
                      block->size, number_of(stream));
    sp_live_end(block);
}

void sp_observe_joined(const void *pointer, const struct sp_stream *other,
                       const struct sp_stream *stream) {
    sp_observe_act_on_stream(SP_RECORD_RECORD, pointer, other);
    sp_observe_act_on_stream(SP_RECORD_WAIT, pointer, stream);
    sp_observe_act(SP_RECORD_DESTROY_EVENT, pointer, 0);
}

void sp_observe_not_freed(struct sp_live_block *block) {
    if (block)
        sp_live_put_back(block);
}

// -------------------------------------------------------------------------------------- other acts

void sp_observe_act_on_stream(enum sp_recorder_action action, const void *event,
                              const struct sp_stream *stream) {
    if (stream && sp_observe_is_on())
        sp_recorder_write(action, (uint64_t)(uintptr_t)event, 0, sp_recorder_number(stream));
}

void sp_observe_act(enum sp_recorder_action action, const void *event, uint64_t bytes) {
    if (sp_observe_is_on())
        sp_recorder_write(action, (uint64_t)(uintptr_t)event, bytes, 0);
}

uint64_t sp_observe_destroying(const struct sp_stream *stream) {
    return sp_observe_is_on() ? number_of(stream) : 0;
}

void sp_observe_destroyed(const struct sp_stream *stream, uint64_t number) {
    if (stream && sp_observe_is_on())
        sp_recorder_end_stream(stream, number);
}
