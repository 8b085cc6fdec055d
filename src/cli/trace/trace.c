// The parser keeps maps while it reads: live pointers to blocks, handles to events, stream and
// thread numbers to indices. They are gone when the trace is handed out.
#include "cli/trace/trace.h"

#include "cli/trace/lines.h"
#include "cli/trace/map.h"
#include "cli/trace/record.h"
#include "cli/trace/streams.h"

#include <stdlib.h>
#include <string.h>

struct reader {
    struct sp_trace *trace;
    struct sp_trace_error *error;
    struct sp_lines lines;
    struct sp_map live;    // pointer -> block
    struct sp_map events;  // handle -> event
    struct sp_map threads; // thread number -> index
    struct sp_streams streams;
    uint32_t *turns; // by event: how many lines have it so far
    uint64_t live_bytes;
    size_t operation_capacity;
    size_t block_capacity;
    size_t turn_capacity;
};

static bool fail_without_memory(struct reader *reader) {
    return sp_record_fail(reader->error, "out of host memory");
}

// Makes room for one more element. The array stays as it is when there is no memory.
static bool make_room(void *array, size_t count, size_t *capacity, size_t element_size) {
    if (count < *capacity)
        return true;
    size_t wanted = *capacity ? 2 * *capacity : 1024;
    void *old;
    memcpy(&old, array, sizeof old);
    void *larger = reallocarray(old, wanted, element_size);
    if (!larger)
        return false;
    memcpy(array, &larger, sizeof larger);
    *capacity = wanted;
    return true;
}

static bool add_operation(struct reader *reader, const struct sp_trace_operation *operation) {
    struct sp_trace *trace = reader->trace;
    if (!make_room(&trace->operations, trace->operation_count, &reader->operation_capacity,
                   sizeof *trace->operations))
        return fail_without_memory(reader);
    trace->operations[trace->operation_count++] = *operation;
    trace->has_order |= operation->action > SP_TRACE_FAILURE;
    return true;
}

static bool add_block(struct reader *reader, uint64_t size, uint32_t stream, uint32_t *block) {
    struct sp_trace *trace = reader->trace;
    if (trace->block_count == SP_TRACE_NO_BLOCK)
        return sp_record_fail(reader->error, "more than %u allocations", SP_TRACE_NO_BLOCK);
    if (!make_room(&trace->blocks, trace->block_count, &reader->block_capacity,
                   sizeof *trace->blocks))
        return fail_without_memory(reader);
    *block = (uint32_t)trace->block_count;
    trace->blocks[trace->block_count++] = (struct sp_trace_block){.size = size, .stream = stream};
    return true;
}

static bool thread_index(struct reader *reader, uint64_t number, uint32_t *index) {
    struct sp_trace *trace = reader->trace;
    *index = sp_map_find(&reader->threads, number);
    if (*index != SP_MAP_NONE)
        return true;
    *index = (uint32_t)trace->thread_count;
    if (!sp_map_insert(&reader->threads, number, *index))
        return fail_without_memory(reader);
    trace->thread_count++;
    return true;
}

static unsigned long line_of_allocation(const struct sp_trace *trace, uint32_t block) {
    size_t i = 0;
    while (trace->operations[i].action != SP_TRACE_ALLOCATE || trace->operations[i].block != block)
        i++;
    return sp_record_line_of(i);
}

static bool count_live(struct reader *reader, uint64_t size) {
    if (__builtin_add_overflow(reader->live_bytes, size, &reader->live_bytes))
        return sp_record_fail(reader->error, "more than 2^64 bytes are alive");
    if (reader->live_bytes > reader->trace->live_peak_bytes) {
        reader->trace->live_peak_bytes = reader->live_bytes;
        reader->trace->live_peak_operation = reader->trace->operation_count;
    }
    return true;
}

static bool read_allocate(struct reader *reader, const struct sp_record *record,
                          struct sp_trace_operation *operation) {
    uint32_t other = record->pointer ? sp_map_find(&reader->live, record->pointer) : SP_MAP_NONE;
    if (other != SP_MAP_NONE)
        return sp_record_fail(reader->error, "allocation at 0x%llx, which is alive since line %lu",
                              (unsigned long long)record->pointer,
                              line_of_allocation(reader->trace, other));
    if (!add_block(reader, record->size, operation->stream, &operation->block) ||
        !count_live(reader, record->size))
        return false;
    if (record->pointer && !sp_map_insert(&reader->live, record->pointer, operation->block))
        return fail_without_memory(reader);
    return true;
}

static bool read_free(struct reader *reader, const struct sp_record *record,
                      struct sp_trace_operation *operation) {
    if (!record->pointer)
        return true;
    operation->block = sp_map_remove(&reader->live, record->pointer);
    if (operation->block == SP_MAP_NONE)
        return sp_record_fail(reader->error, "free of 0x%llx, which is not alive",
                              (unsigned long long)record->pointer);
    struct sp_trace_block *block = &reader->trace->blocks[operation->block];
    if (block->size != record->size)
        return sp_record_fail(
            reader->error, "free of %llu bytes at 0x%llx, allocated with %llu bytes at line %lu",
            (unsigned long long)record->size, (unsigned long long)record->pointer,
            (unsigned long long)block->size, line_of_allocation(reader->trace, operation->block));
    block->handed_over = block->stream != operation->stream;
    reader->live_bytes -= block->size;
    return true;
}

static bool event_index(struct reader *reader, uint64_t handle, uint32_t *index) {
    struct sp_trace *trace = reader->trace;
    *index = sp_map_find(&reader->events, handle);
    if (*index != SP_MAP_NONE)
        return true;
    if (trace->event_count == SP_MAP_NONE)
        return sp_record_fail(reader->error, "more than %u events", SP_MAP_NONE);
    *index = (uint32_t)trace->event_count;
    if (!make_room(&reader->turns, trace->event_count, &reader->turn_capacity,
                   sizeof *reader->turns) ||
        !sp_map_insert(&reader->events, handle, *index))
        return fail_without_memory(reader);
    reader->turns[trace->event_count++] = 0;
    return true;
}

static bool read_event(struct reader *reader, const struct sp_record *record,
                       struct sp_trace_operation *operation) {
    uint32_t event;
    if (!event_index(reader, record->pointer, &event))
        return false;
    operation->event = event;
    operation->turn = reader->turns[event]++;
    if (record->action == SP_TRACE_DESTROY_EVENT)
        sp_map_remove(&reader->events, record->pointer);
    return true;
}

// Reads what stands under Pointer and Size.
static bool read_subject(struct reader *reader, const struct sp_record *record,
                         struct sp_trace_operation *operation) {
    switch (record->action) {
    case SP_TRACE_ALLOCATE:
        return read_allocate(reader, record, operation);
    case SP_TRACE_FAILURE:
        return add_block(reader, record->size, operation->stream, &operation->block);
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
        operation->keep = record->size;
        return true;
    default:
        return true;
    }
}

static bool read_operation(struct reader *reader, const char *text, size_t length) {
    struct sp_record record;
    struct sp_trace_operation operation = {.block = SP_TRACE_NO_BLOCK,
                                           .stream = SP_TRACE_NO_STREAM};
    if (!sp_record_parse(text, length, &record, reader->error) ||
        !thread_index(reader, record.thread, &operation.thread))
        return false;
    if (record.has_stream && !sp_streams_resolve(&reader->streams, &record, operation.thread,
                                                 &operation.stream, reader->error))
        return false;
    operation.action = record.action;
    return read_subject(reader, &record, &operation) && add_operation(reader, &operation);
}

static bool read_header(struct reader *reader) {
    const char *text, *reason;
    size_t length;
    switch (sp_lines_next(&reader->lines, &text, &length, &reason)) {
    case SP_LINE_FAILED:
        return sp_record_fail(reader->error, "%s", reason);
    case SP_LINE_END:
        return sp_record_fail(reader->error,
                              "the file is empty: the header '" SP_RECORD_HEADER "' is missing");
    default:
        break;
    }
    if (length != strlen(SP_RECORD_HEADER) || memcmp(text, SP_RECORD_HEADER, length) != 0)
        return sp_record_fail(reader->error, "the header is not '" SP_RECORD_HEADER "'");
    return true;
}

static bool read_operations(struct reader *reader) {
    const char *text, *reason;
    size_t length;
    enum sp_line_result result;
    while ((result = sp_lines_next(&reader->lines, &text, &length, &reason)) == SP_LINE_READ)
        if (!read_operation(reader, text, length))
            return false;
    if (result == SP_LINE_FAILED)
        return sp_record_fail(reader->error, "%s", reason);
    if (reader->trace->operation_count == 0)
        return sp_record_fail(reader->error, "there is no operation behind the header");
    return true;
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
    struct reader reader = {.trace = trace, .error = error, .streams = {.trace = trace}};
    const char *reason;
    if (!sp_lines_open(&reader.lines, path, &reason))
        return sp_record_fail(error, "%s", reason);

    bool good = read_header(&reader) && read_operations(&reader);
    error->line = reader.lines.number;
    if (good) {
        trace->name = name_of(path);
        good = trace->name || fail_without_memory(&reader);
    }
    sp_lines_close(&reader.lines);
    sp_map_release(&reader.live);
    sp_map_release(&reader.events);
    sp_map_release(&reader.threads);
    sp_streams_release(&reader.streams);
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

void sp_trace_error_print(FILE *out, const char *path, const struct sp_trace_error *error) {
    if (error->line == 0)
        fprintf(out, "%s: %s\n", path, error->reason);
    else
        fprintf(out, "%s:%lu: %s\n", path, error->line, error->reason);
}
