// The observer: what the library's table asks for is noted by the modules beside this one.
#include "base/lock.h"
#include "observe/check.h"
#include "observe/host.h"
#include "observe/live.h"
#include "observe/recorder.h"
#include "observe/signal.h"
#include "observe/summary.h"
#include "observe/turn.h"

#include <execinfo.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

const struct sp_observe_host *sp_host;

static int stack_depth; // written before the library notes anything

// ----------------------------------------------------------------------------------- begin and end

static int checked_depth(int stacks) {
    if (stacks >= 0 && stacks <= SP_STACK_MOST)
        return stacks;
    sp_host->log("STREAMPOOL_STACKS=%d is ignored: it is a number of frames, 0 to %d", stacks,
                 SP_STACK_MOST);
    return 0;
}

// The first backtrace of a process loads a library, which is better done before the program has
// anything at stake.
static void begin(const struct sp_options *asked) {
    void *frame;
    sp_check_begin(sp_host);
    stack_depth = checked_depth(asked->leaks ? asked->stacks : 0);
    if (stack_depth > 0)
        (void)backtrace(&frame, 1);
    if (asked->trace)
        sp_recorder_begin(asked->trace);
    sp_summary_begin(asked);
    if (asked->stats_signal)
        sp_signal_begin();
}

static bool end(void) {
    bool is_whole = sp_recorder_end();
    return sp_signal_end() && is_whole && sp_live_settle();
}

static void tell(void) {
    sp_summary_write(SP_SUMMARY_AT_END);
}

static bool records(void) {
    return sp_recorder_is_on() || sp_check_is_on();
}

static bool take_turn(void) {
    return records() && sp_turn_take();
}

// --------------------------------------------------------------------------- allocations and frees

static uint64_t number_of(const struct sp_observe_stream *stream) {
    return stream ? sp_recorder_number(stream) : 0;
}

static const char *default_stream(const struct sp_observe_stream *stream) {
    return !stream                 ? NULL
           : stream->is_per_thread ? "a per-thread default stream"
           : stream->is_legacy     ? "the legacy stream"
                                   : NULL;
}

static void note_allocated(const void *pointer, uint64_t size,
                           const struct sp_observe_stream *stream, const char *place,
                           const void *caller) {
    struct sp_live_block block = {
        .address = (uint64_t)(uintptr_t)pointer,
        .size = size,
        .stream = number_of(stream),
        .default_stream = default_stream(stream),
        .thread = (uint64_t)syscall(SYS_gettid),
        .stack = sp_stack_here(caller, stack_depth),
    };
    sp_live_add(&block);
    sp_check_allocated(pointer, size);
    sp_recorder_write(SP_RECORD_ALLOCATE, place, block.address, size, block.stream);
}

static void note_refused(uint64_t size, const struct sp_observe_stream *stream, const char *place) {
    sp_recorder_write(SP_RECORD_FAILURE, place, 0, size, number_of(stream));
}

static struct sp_live_block *note_freeing(const void *pointer) {
    sp_check_freeing(pointer);
    return sp_live_take((uint64_t)(uintptr_t)pointer);
}

static void note_freed(struct sp_live_block *block, const struct sp_observe_stream *stream) {
    if (!block)
        return;
    sp_check_freed(stream);
    sp_recorder_write(stream ? SP_RECORD_FREE : SP_RECORD_FREE_UNORDERED, "", block->address,
                      block->size, number_of(stream));
    sp_live_end(block);
}

static void note_not_freed(struct sp_live_block *block) {
    sp_check_not_freed(block != NULL);
    if (block)
        sp_live_put_back(block);
}

static void note_act(enum sp_observe_action action, const void *event,
                     const struct sp_observe_stream *stream) {
    if (action == SP_RECORD_RECORD)
        sp_check_behind(event, stream);
    sp_recorder_write(action, "", (uint64_t)(uintptr_t)event, 0, number_of(stream));
}

static void note_trimmed(uint64_t keep, const char *place) {
    sp_recorder_write(SP_RECORD_TRIM, place, 0, keep, 0);
}

// --------------------------------------------------------------------------------------- the table

const struct sp_observe_table *sp_observe_table(const struct sp_observe_host *host) {
    static const struct sp_observe_table table = {
        .stamp = SP_OBSERVE_STAMP(table),
        .begin = begin,
        .end = end,
        .tell = tell,
        .records = records,
        .take_turn = take_turn,
        .give_turn = sp_turn_give,
        .allocated = note_allocated,
        .refused = note_refused,
        .freeing = note_freeing,
        .freed = note_freed,
        .not_freed = note_not_freed,
        .act = note_act,
        .trimmed = note_trimmed,
        .number = sp_recorder_number,
        .destroyed = sp_recorder_end_stream,
    };
    if (!sp_observe_table_fits(&host->stamp, sizeof *host))
        return NULL;
    sp_host = host;
    sp_lock_set_hook(host->lock_hook);
    return &table;
}
