#include "observe/recorder.h"

#include "base/lock.h"
#include "base/thread.h"
#include "observe/file.h"
#include "observe/host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUFFER = 64 * 1024, LINE = 160 };

// A slot's stream. The slot's next stream begins with another number of its own.
struct numbered {
    uint64_t first;  // of struct sp_observe_stream
    uint64_t number; // 0: none yet
    bool ends;       // a default stream doesn't
};

_Atomic bool sp_recorder_on; // written under the lock

static struct sp_lock lock; // guards all that follows
static struct sp_file file;
static char buffer[BUFFER];
static size_t filled;
static uint64_t began;           // by sp_time_now()
static struct numbered *streams; // by slot
static size_t stream_room;
static uint64_t numbers_given;
static uint64_t first_context; // of which a default stream was seen; 0: none yet

// ------------------------------------------------------------------------------------------- lines

static void give_up(void) {
    sp_host->log("the trace ends here: it can't be written: %s", strerror(errno));
    sp_store_relaxed(&sp_recorder_on, false);
    sp_file_close(&file);
}

static void write_out(void) {
    bool written = sp_file_write(&file, buffer, filled);
    filled = 0;
    if (!written)
        give_up();
}

static void write_words_locked(const char *action, const char *place, uint64_t pointer,
                               uint64_t size, uint64_t stream) {
    uint64_t microseconds = (sp_time_now() - began) / 1000;
    if (!sp_load_relaxed(&sp_recorder_on))
        return;
    int length =
        snprintf(buffer + filled, LINE,
                 "%" PRIu64 ",%" PRIu64 ",%s%s,0x%" PRIx64 ",%" PRIu64 ",%" PRIu64 "\n",
                 sp_host->thread_number(), microseconds, action, place, pointer, size, stream);
    filled += (size_t)length;
    if (filled > BUFFER - LINE)
        write_out();
}

static void write_locked(enum sp_observe_action action, const char *place, uint64_t pointer,
                         uint64_t size, uint64_t stream) {
    static const char *const words[] = {
#define WORDS(name, text) text,
        SP_OBSERVE_ACTIONS(WORDS)
#undef WORDS
    };
    write_words_locked(words[action], place, pointer, size, stream);
}

void sp_recorder_write(enum sp_observe_action action, const char *place, uint64_t pointer,
                       uint64_t size, uint64_t stream) {
    if (!sp_recorder_is_on())
        return;
    sp_lock_acquire(&lock);
    write_locked(action, place, pointer, size, stream);
    if (action == SP_RECORD_FAILURE && sp_load_relaxed(&sp_recorder_on))
        write_out();
    sp_lock_release(&lock);
}

// ----------------------------------------------------------------------------------------- streams

// Null without host memory.
static struct numbered *entry_locked(uint32_t slot) {
    if (slot >= stream_room) {
        size_t room = 2 * (size_t)slot + 64;
        struct numbered *larger = realloc(streams, room * sizeof *larger);
        if (!larger)
            return NULL;
        memset(larger + stream_room, 0, (room - stream_room) * sizeof *larger);
        streams = larger;
        stream_room = room;
    }
    return &streams[slot];
}

// A replay has one context, so the default streams of others are streams like any other there.
static bool is_of_first_context_locked(const struct sp_observe_stream *stream) {
    if (first_context == 0)
        first_context = stream->context_id;
    return stream->context_id == first_context;
}

static const char *kind_locked(const struct sp_observe_stream *stream) {
    if (stream->is_default && !is_of_first_context_locked(stream))
        return "non-blocking stream";
    // A thread has one such stream in a trace. The driver may end it before the thread's last
    // destructors have run, and give them another.
    if (stream->is_per_thread && sp_host->thread_is_first_time())
        return "per-thread stream";
    if (stream->is_legacy)
        return "legacy stream";
    return stream->is_blocking ? "blocking stream" : "non-blocking stream";
}

// True when the entry is of the slot's stream, and not of one that had the slot before. A stream
// that made no number of its own leaves the next one its first.
static bool is_of(const struct numbered *entry, const struct sp_observe_stream *stream) {
    if (stream->has_id)
        return entry->number == stream->id;
    return entry->number != 0 && entry->first == stream->first;
}

// The slot's last stream has ended, by a call of the driver that nobody heard.
static void end_locked(struct numbered *entry) {
    if (entry->number != 0 && entry->ends)
        write_locked(SP_RECORD_DESTROY_STREAM, "", 0, 0, entry->number);
    entry->number = 0;
}

static uint64_t number_locked(const struct sp_observe_stream *stream) {
    struct numbered *entry = entry_locked(stream->slot);
    if (!entry)
        return 0;
    if (!is_of(entry, stream)) {
        end_locked(entry);
        *entry = (struct numbered){
            .first = stream->first,
            .number = stream->has_id ? stream->id : ++numbers_given,
            .ends = !stream->is_default,
        };
        write_words_locked(kind_locked(stream), "", 0, 0, entry->number);
    }
    return entry->number;
}

uint64_t sp_recorder_number(const struct sp_observe_stream *stream) {
    sp_lock_acquire(&lock);
    uint64_t number = number_locked(stream);
    sp_lock_release(&lock);
    return number;
}

void sp_recorder_end_stream(uint32_t slot, uint64_t number) {
    sp_lock_acquire(&lock);
    struct numbered *entry = entry_locked(slot);
    if (entry && number != 0 && entry->number == number)
        end_locked(entry);
    sp_lock_release(&lock);
}

// ----------------------------------------------------------------------------------- begin and end

void sp_recorder_begin(const char *name) {
    static const char header[] = "Thread,Time,Action,Pointer,Size,Stream\n";
    sp_lock_acquire(&lock);
    began = sp_time_now();
    if (sp_file_open(&file, name)) {
        sp_store_relaxed(&sp_recorder_on, true);
        memcpy(buffer, header, sizeof header - 1);
        filled = sizeof header - 1;
        write_out();
    }
    sp_lock_release(&lock);
}

static void end_recording_locked(void) {
    if (sp_load_relaxed(&sp_recorder_on))
        write_out();
    if (!sp_load_relaxed(&sp_recorder_on))
        return;
    sp_store_relaxed(&sp_recorder_on, false);
    if (!sp_file_close(&file))
        sp_host->log("the trace is incomplete: %s", strerror(errno));
}

// A program may end in a signal's handler, above a frame that holds the lock.
bool sp_recorder_end(void) {
    if (!sp_recorder_is_on())
        return true;
    if (!sp_lock_try_for(&lock, SP_SECOND)) {
        sp_host->log("the trace is incomplete: the process ended while a line was written");
        return false;
    }
    end_recording_locked();
    sp_lock_release(&lock);
    return true;
}
