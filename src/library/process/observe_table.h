// The library and its observer, which notes what a process does (src/observe/), know each other by
// two tables, one each way, whether the observer is a file of its own or linked in.
//
// Both are of the same build. Each table begins with a stamp: the release, the table's size, and
// those of what its functions are passed. Nothing else of a table is read before its stamp was
// found to fit.
#ifndef STREAMPOOL_PROCESS_OBSERVE_TABLE_H
#define STREAMPOOL_PROCESS_OBSERVE_TABLE_H

#include "base/options.h"
#include "tell/tell.h"

#include <pthread.h>
#include <string.h>

struct sp_observe_stamp {
    uint32_t release;
    uint32_t size;
    uint32_t stream_size;  // of struct sp_observe_stream
    uint32_t figures_size; // of struct sp_observe_figures
    uint32_t pool_size;    // of struct sp_tell_pool
    uint32_t options_size; // of struct sp_options
    uint32_t actions;      // SP_OBSERVE_ACTION_COUNT
};

#define SP_OBSERVE_RELEASE                                                                         \
    (STREAMPOOL_VERSION_MAJOR * 1000000 + STREAMPOOL_VERSION_MINOR * 1000 +                        \
     STREAMPOOL_VERSION_PATCH)
#define SP_OBSERVE_STAMP_OF(size)                                                                  \
    {                                                                                              \
        SP_OBSERVE_RELEASE, size, sizeof(struct sp_observe_stream),                                \
            sizeof(struct sp_observe_figures), sizeof(struct sp_tell_pool),                        \
            sizeof(struct sp_options), SP_OBSERVE_ACTION_COUNT                                     \
    }
#define SP_OBSERVE_STAMP(table) SP_OBSERVE_STAMP_OF(sizeof(table))

// The library gives this to the observer.
struct sp_observe_host {
    struct sp_observe_stamp stamp;
    void (*log)(const char *format, ...) __attribute__((format(printf, 1, 2))); // base/log.h
    uint64_t (*thread_number)(void);                                            // base/thread.h
    bool (*thread_is_first_time)(void);
    void (*lock_hook)(int contended); // base/lock.h; null for none
    bool (*thread_start)(pthread_t *thread, void *(*run)(void *), void *argument);
    bool (*visit_pools)(enum sp_tell_depth depth,
                        void (*visit)(const struct sp_tell_pool *pool, void *data),
                        void *data); // tell/tell.h, as the two below
    void (*print_pool)(const struct sp_tell_pool *told, FILE *out);
    struct sp_tell_words (*words_of_bytes)(uint64_t number);
    void *(*driver_checker)(const char *name); // driver/driver.h
};

// A stream, as a trace tells of it.
struct sp_observe_stream {
    CUstream handle;
    uint32_t slot;
    uint64_t first; // its first number: the slot's next stream has a higher one
    uint64_t id;    // the driver's, if `has_id`
    uint64_t context_id;
    bool has_id;
    bool is_default;
    bool is_per_thread;
    bool is_legacy;
    bool is_blocking;
};

// X(name, action): the first word of an act, and the words that its line has.
#define SP_OBSERVE_ACTIONS(X)                                                                      \
    X(ALLOCATE, "allocate")                                                                        \
    X(FAILURE, "allocate failure")                                                                 \
    X(FREE, "free")                                                                                \
    X(FREE_UNORDERED, "free unordered")                                                            \
    X(RECORD, "record")                                                                            \
    X(WAIT, "wait")                                                                                \
    X(SYNCHRONIZE_EVENT, "synchronize event")                                                      \
    X(SYNCHRONIZE_STREAM, "synchronize stream")                                                    \
    X(SYNCHRONIZE_DEVICE, "synchronize device")                                                    \
    X(QUERY_EVENT, "query event")                                                                  \
    X(QUERY_STREAM, "query stream")                                                                \
    X(DESTROY_EVENT, "destroy event")                                                              \
    X(DESTROY_STREAM, "destroy stream")                                                            \
    X(TRIM, "trim")

enum sp_observe_action {
#define SP_OBSERVE_ENUMERATOR(name, action) SP_RECORD_##name,
    SP_OBSERVE_ACTIONS(SP_OBSERVE_ENUMERATOR)
#undef SP_OBSERVE_ENUMERATOR
        SP_OBSERVE_ACTION_COUNT
};

// Counts of the blocks that the program was given and hasn't freed.
struct sp_observe_figures {
    uint64_t blocks;
    uint64_t bytes;
    uint64_t bytes_high;
    uint64_t unnoted; // blocks for which there was no host memory
};

// A block that a call is freeing.
struct sp_live_block;

// The observer does this for the library; process/observe.h says when. A stream may be null. A
// place is the word that a line has behind its action, with a space before it: "" for a device's
// memory.
struct sp_observe_table {
    struct sp_observe_stamp stamp;
    // Called once, before all others. What the environment asks for stays.
    void (*begin)(const struct sp_options *asked);
    // Ends all notes. False where a thread that won't go on is inside of the observer: then none of
    // its functions may be called any more. Else the next one writes what was asked for.
    bool (*end)(void);
    void (*tell)(void);

    bool (*records)(void); // true while a trace is written, or the driver checks
    bool (*take_turn)(void);
    void (*give_turn)(void);

    void (*allocated)(const void *pointer, uint64_t size, const struct sp_observe_stream *stream,
                      const char *place, const void *caller);
    void (*refused)(uint64_t size, const struct sp_observe_stream *stream, const char *place);
    struct sp_live_block *(*freeing)(const void *pointer);
    void (*freed)(struct sp_live_block *block, const struct sp_observe_stream *stream);
    void (*not_freed)(struct sp_live_block *block);
    void (*act)(enum sp_observe_action action, const void *event,
                const struct sp_observe_stream *stream);
    void (*trimmed)(uint64_t keep, const char *place);
    uint64_t (*number)(const struct sp_observe_stream *stream);
    void (*destroyed)(uint32_t slot, uint64_t number);
};

// True of the other side's stamp where it is the one that this side has for a table of the size.
static inline bool sp_observe_table_fits(const struct sp_observe_stamp *stamp, size_t size) {
    const struct sp_observe_stamp own = SP_OBSERVE_STAMP_OF((uint32_t)size);
    return memcmp(stamp, &own, sizeof own) == 0;
}

// Returns the observer's table, which then uses the library's. Null where that one doesn't fit. The
// observer's file exports this name alone.
#define SP_OBSERVE_ENTRY "sp_observe_table"
const struct sp_observe_table *sp_observe_table(const struct sp_observe_host *host);

// Returns it to the library. A shared library opens the observer's file, which lies beside it, and
// never closes it. Null, with a line in the log at any level, when the file isn't there or is of
// another build. Where the library is linked into a program or a plugin, so is the observer
// (src/observe/linked.c).
const struct sp_observe_table *sp_observe_load(const struct sp_observe_host *host);

#endif
