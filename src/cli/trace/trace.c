// The reader keeps maps while it reads, which are gone when the trace is handed out.
#include "cli/trace/trace.h"

#include "cli/program/complain.h"
#include "cli/trace/lines.h"
#include "cli/trace/map.h"
#include "cli/trace/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct sp_trace *trace;
    struct sp_trace_error *error;
    bool has_header;
    struct sp_map live;     // pointer -> block
    struct sp_map events;   // handle -> event
    struct sp_map threads;  // thread number -> index
    struct sp_map streams;  // stream number -> index
    struct sp_map defaults; // thread, or EACH_THREAD -> index of its default stream
    uint32_t *turns;        // by event: how many lines have it so far
    uint64_t live_bytes[SP_TRACE_PLACE_COUNT];
};

// Makes room for one more element. An array has room for so many, and for twice as many whenever it
// is full; it stays as it is when there is no memory.
static bool make_room(struct reader *reader, void *array, size_t count, size_t element_size) {
    enum { FIRST_ROOM = 1024 };
    bool is_full = count >= FIRST_ROOM && (count & (count - 1)) == 0;
    if (count > 0 && !is_full)
        return true;
    void *old, *larger;
    memcpy(&old, array, sizeof old);
    larger = reallocarray(old, count ? 2 * count : FIRST_ROOM, element_size);
    if (!larger)
        return sp_record_fail(reader->error, "out of host memory");
    memcpy(array, &larger, sizeof larger);
    return true;
}

static bool insert(struct reader *reader, struct sp_map *map, uint64_t key, uint32_t value) {
    return sp_map_insert(map, key, value) || sp_record_fail(reader->error, "out of host memory");
}

static bool resolve_thread(struct reader *reader, uint64_t number, uint32_t *index) {
    struct sp_trace *trace = reader->trace;
    *index = sp_map_find(&reader->threads, number);
    if (*index != SP_MAP_NONE)
        return true;
    *index = (uint32_t)trace->thread_count++;
    return insert(reader, &reader->threads, number, *index);
}

// ----------------------------------------------------------------------------------------- streams
//
// A stream begins with the line that first names it. That line may say its kind; else number 0 is
// the legacy default stream, and any other is non-blocking. It ends with the line that destroys it.

#define EACH_THREAD UINT64_MAX

static bool says_kind(enum sp_trace_action action) {
    return action >= SP_TRACE_LEGACY_STREAM && action <= SP_TRACE_NON_BLOCKING_STREAM;
}

static enum sp_trace_kind kind_of(const struct sp_record *record) {
    if (says_kind(record->action)) // the kinds stand in the order of these actions
        return (enum sp_trace_kind)(record->action - SP_TRACE_LEGACY_STREAM);
    return record->stream == 0 ? SP_TRACE_LEGACY : SP_TRACE_NON_BLOCKING;
}

static bool is_default(const struct sp_trace_stream *stream) {
    return stream->kind == SP_TRACE_LEGACY || stream->kind == SP_TRACE_PER_THREAD;
}

// A replay has one context, and there one legacy stream and one per-thread stream for each thread.
static bool add_default(struct reader *reader, const struct sp_trace_stream *stream,
                        uint32_t index) {
    bool is_legacy = stream->kind == SP_TRACE_LEGACY;
    uint64_t owner = is_legacy ? EACH_THREAD : stream->thread;
    uint32_t other = sp_map_find(&reader->defaults, owner);
    if (other == SP_MAP_NONE)
        return insert(reader, &reader->defaults, owner, index);
    const struct sp_trace_stream *first = &reader->trace->streams[other];
    return sp_record_fail(
        reader->error,
        "stream %" PRIu64 " is a second %s: stream %" PRIu64 " is one since line %lu",
        stream->number, is_legacy ? "legacy stream" : "per-thread stream of the thread",
        first->number, sp_record_line_of(first->first));
}

static bool add_stream(struct reader *reader, const struct sp_trace_stream *stream,
                       uint32_t *index) {
    struct sp_trace *trace = reader->trace;
    *index = (uint32_t)trace->stream_count;
    if ((is_default(stream) && !add_default(reader, stream, *index)) ||
        !make_room(reader, &trace->streams, *index, sizeof *trace->streams) ||
        !insert(reader, &reader->streams, stream->number, *index))
        return false;
    trace->streams[trace->stream_count++] = *stream;
    return true;
}

// A stream that the trace has named before can't be used so when it has been destroyed, when it is
// the per-thread stream of another thread, and when its kind is said now.
static bool check_use(struct reader *reader, const struct sp_trace_stream *stream,
                      enum sp_trace_action action, uint32_t thread) {
    if (stream->end != SP_TRACE_NO_END)
        return sp_record_fail(reader->error, "stream %" PRIu64 " has been destroyed at line %lu",
                              stream->number, sp_record_line_of(stream->end));
    unsigned long line = sp_record_line_of(stream->first);
    if (stream->kind == SP_TRACE_PER_THREAD && stream->thread != thread)
        return sp_record_fail(reader->error,
                              "stream %" PRIu64
                              " is the per-thread stream of another thread since line %lu",
                              stream->number, line);
    if (!says_kind(action))
        return true;
    bool said = says_kind(reader->trace->operations[stream->first].action);
    return sp_record_fail(reader->error, "the kind of stream %" PRIu64 " is said %s line %lu",
                          stream->number, said ? "a second time, after" : "behind its first use at",
                          line);
}

static bool resolve_stream(struct reader *reader, const struct sp_record *record, uint32_t thread,
                           uint32_t *index) {
    struct sp_trace *trace = reader->trace;
    size_t operation = trace->operation_count;
    struct sp_trace_stream begun = {.number = record->stream,
                                    .kind = kind_of(record),
                                    .thread = thread,
                                    .first = operation,
                                    .end = SP_TRACE_NO_END};
    *index = sp_map_find(&reader->streams, record->stream);
    bool is_known = *index != SP_MAP_NONE;
    if (is_known && !check_use(reader, &trace->streams[*index], record->action, thread))
        return false;
    if (!is_known && !add_stream(reader, &begun, index))
        return false;
    struct sp_trace_stream *stream = &trace->streams[*index];
    if (record->action != SP_TRACE_DESTROY_STREAM) {
        stream->is_used |= !says_kind(record->action);
        return true;
    }
    stream->end = operation;
    return !is_default(stream) ||
           sp_record_fail(reader->error,
                          "stream %" PRIu64 " is a default stream, which can't be destroyed",
                          stream->number);
}

// ------------------------------------------------------------------------------ blocks and events

static bool add_block(struct reader *reader, const struct sp_record *record, uint32_t stream,
                      uint32_t *block) {
    struct sp_trace *trace = reader->trace;
    if (trace->block_count == SP_TRACE_NO_BLOCK)
        return sp_record_fail(reader->error, "more than %u allocations", SP_TRACE_NO_BLOCK);
    if (!make_room(reader, &trace->blocks, trace->block_count, sizeof *trace->blocks))
        return false;
    *block = (uint32_t)trace->block_count;
    trace->blocks[trace->block_count++] = (struct sp_trace_block){
        .size = record->size, .stream = stream, .place = (uint8_t)record->place};
    trace->has_place[record->place] = true;
    return true;
}

static unsigned long line_of_allocation(const struct sp_trace *trace, uint32_t block) {
    size_t i = 0;
    while (trace->operations[i].action != SP_TRACE_ALLOCATE || trace->operations[i].block != block)
        i++;
    return sp_record_line_of(i);
}

static bool read_allocate(struct reader *reader, const struct sp_record *record,
                          struct sp_trace_operation *operation) {
    uint32_t other = record->pointer ? sp_map_find(&reader->live, record->pointer) : SP_MAP_NONE;
    if (other != SP_MAP_NONE)
        return sp_record_fail(reader->error,
                              "allocation at 0x%" PRIx64 ", which is alive since line %lu",
                              record->pointer, line_of_allocation(reader->trace, other));
    uint64_t *live = &reader->live_bytes[record->place];
    if (!add_block(reader, record, operation->stream, &operation->block))
        return false;
    if (__builtin_add_overflow(*live, record->size, live))
        return sp_record_fail(reader->error, "more than 2^64 bytes are alive");
    struct sp_trace *trace = reader->trace;
    if (record->place == SP_TRACE_AT_DEVICE && *live > trace->live_peak_bytes) {
        trace->live_peak_bytes = *live;
        trace->live_peak_operation = trace->operation_count;
    }
    return !record->pointer || insert(reader, &reader->live, record->pointer, operation->block);
}

static bool read_free(struct reader *reader, const struct sp_record *record,
                      struct sp_trace_operation *operation) {
    if (!record->pointer)
        return true;
    operation->block = sp_map_remove(&reader->live, record->pointer);
    if (operation->block == SP_MAP_NONE)
        return sp_record_fail(reader->error, "free of 0x%" PRIx64 ", which is not alive",
                              record->pointer);
    struct sp_trace_block *block = &reader->trace->blocks[operation->block];
    if (block->size != record->size)
        return sp_record_fail(reader->error,
                              "free of %" PRIu64 " bytes at 0x%" PRIx64 ", allocated with %" PRIu64
                              " bytes at line %lu",
                              record->size, record->pointer, block->size,
                              line_of_allocation(reader->trace, operation->block));
    block->handed_over = block->stream != operation->stream;
    reader->live_bytes[block->place] -= block->size;
    return true;
}

static bool read_event(struct reader *reader, const struct sp_record *record,
                       struct sp_trace_operation *operation) {
    struct sp_trace *trace = reader->trace;
    uint32_t event = sp_map_find(&reader->events, record->pointer);
    if (event == SP_MAP_NONE) {
        event = (uint32_t)trace->event_count;
        if (event == SP_MAP_NONE)
            return sp_record_fail(reader->error, "more than %u events", SP_MAP_NONE);
        if (!make_room(reader, &reader->turns, event, sizeof *reader->turns) ||
            !insert(reader, &reader->events, record->pointer, event))
            return false;
        reader->turns[trace->event_count++] = 0;
    }
    operation->event = event;
    operation->turn = reader->turns[event]++;
    if (record->action == SP_TRACE_DESTROY_EVENT)
        sp_map_remove(&reader->events, record->pointer);
    return true;
}

// --------------------------------------------------------------------------------------- the lines

// Reads what stands under Pointer and Size.
static bool read_subject(struct reader *reader, const struct sp_record *record,
                         struct sp_trace_operation *operation) {
    switch (record->action) {
    case SP_TRACE_ALLOCATE:
        return read_allocate(reader, record, operation);
    case SP_TRACE_FAILURE:
        return add_block(reader, record, operation->stream, &operation->block);
    case SP_TRACE_FREE:
    case SP_TRACE_FREE_UNORDERED:
        return read_free(reader, record, operation);
    case SP_TRACE_RECORD:
    case SP_TRACE_WAIT:
    case SP_TRACE_SYNCHRONIZE_EVENT:
    case SP_TRACE_QUERY_EVENT:
    case SP_TRACE_DESTROY_EVENT:
        return read_event(reader, record, operation);
    case SP_TRACE_TRIM:
        operation->place = record->place;
        operation->keep = record->size;
        return true;
    default:
        return true;
    }
}

static bool read_operation(struct reader *reader, const char *text, size_t length) {
    struct sp_trace *trace = reader->trace;
    struct sp_record record;
    struct sp_trace_operation operation = {.block = SP_TRACE_NO_BLOCK,
                                           .stream = SP_TRACE_NO_STREAM};
    if (!sp_record_parse(text, length, &record, reader->error) ||
        !resolve_thread(reader, record.thread, &operation.thread) ||
        (record.has_stream &&
         !resolve_stream(reader, &record, operation.thread, &operation.stream)) ||
        !read_subject(reader, &record, &operation) ||
        !make_room(reader, &trace->operations, trace->operation_count, sizeof *trace->operations))
        return false;
    operation.action = record.action;
    trace->operations[trace->operation_count++] = operation;
    trace->has_order |= operation.action > SP_TRACE_FAILURE;
    return true;
}

static bool read_header(struct reader *reader, const char *text, size_t length) {
    reader->has_header =
        length == strlen(SP_RECORD_HEADER) && memcmp(text, SP_RECORD_HEADER, length) == 0;
    return reader->has_header ||
           sp_record_fail(reader->error, "the header is not '" SP_RECORD_HEADER "'");
}

static bool read_lines(struct reader *reader, struct sp_lines *lines) {
    const char *text, *reason;
    size_t length;
    enum sp_line_result result;
    while ((result = sp_lines_next(lines, &text, &length, &reason)) == SP_LINE_READ)
        if (reader->has_header ? !read_operation(reader, text, length)
                               : !read_header(reader, text, length))
            return false;
    if (result == SP_LINE_FAILED)
        return sp_record_fail(reader->error, "%s", reason);
    if (!reader->has_header)
        return sp_record_fail(reader->error,
                              "the file is empty: the header '" SP_RECORD_HEADER "' is missing");
    return reader->trace->operation_count > 0 ||
           sp_record_fail(reader->error, "there is no operation behind the header");
}

static size_t without_suffix(const char *name, size_t length, const char *suffix) {
    size_t cut = strlen(suffix);
    return length > cut && memcmp(name + length - cut, suffix, cut) == 0 ? length - cut : length;
}

static char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = without_suffix(name, strlen(name), ".gz");
    return strndup(name, without_suffix(name, length, ".csv"));
}

bool sp_trace_read(const char *path, struct sp_trace *trace, struct sp_trace_error *error) {
    *trace = (struct sp_trace){.name = NULL};
    *error = (struct sp_trace_error){.line = 0};
    struct reader reader = {.trace = trace, .error = error};
    const char *reason;
    struct sp_lines *lines = sp_lines_open(path, &reason);
    if (!lines)
        return sp_record_fail(error, "%s", reason);

    bool good = read_lines(&reader, lines);
    error->line = reader.has_header ? sp_record_line_of(trace->operation_count) : 1;
    if (good) {
        trace->name = name_of(path);
        good = trace->name || sp_record_fail(error, "out of host memory");
    }
    sp_lines_close(lines);
    sp_map_release(&reader.live);
    sp_map_release(&reader.events);
    sp_map_release(&reader.threads);
    sp_map_release(&reader.streams);
    sp_map_release(&reader.defaults);
    free(reader.turns);
    if (!good)
        sp_trace_release(trace);
    return good;
}

void sp_trace_release(struct sp_trace *trace) {
    free(trace->name);
    free(trace->operations);
    free(trace->blocks);
    free(trace->streams);
    *trace = (struct sp_trace){.name = NULL};
}

// ------------------------------------------------------------------------------- several of them

bool sp_traces_read(struct sp_traces *traces, char *const *paths, size_t count) {
    *traces = (struct sp_traces){.list = calloc(count, sizeof *traces->list)};
    if (!traces->list)
        return sp_complain("out of host memory");
    for (; traces->count < count; traces->count++) {
        struct sp_trace_error error;
        if (sp_trace_read(paths[traces->count], &traces->list[traces->count], &error))
            continue;
        if (error.line == 0)
            fprintf(stderr, "%s: %s\n", paths[traces->count], error.reason);
        else
            fprintf(stderr, "%s:%lu: %s\n", paths[traces->count], error.line, error.reason);
        return false;
    }
    return true;
}

void sp_traces_release(struct sp_traces *traces) {
    for (size_t i = 0; i < traces->count; i++)
        sp_trace_release(&traces->list[i]);
    free(traces->list);
    *traces = (struct sp_traces){.list = NULL};
}

size_t sp_traces_operations(const struct sp_traces *traces) {
    size_t operations = 0;
    for (size_t i = 0; i < traces->count; i++)
        operations += traces->list[i].operation_count;
    return operations;
}
