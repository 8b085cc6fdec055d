// The parser keeps maps while it reads: live pointers to blocks, stream and thread numbers to
// indices. They are gone when the trace is handed out.
#include "cli/trace.h"

#include "cli/lines.h"
#include "cli/map.h"
#include "cli/record.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct sp_trace *trace;
    struct sp_trace_error *error;
    struct sp_lines lines;
    struct sp_map live;    // pointer -> block
    struct sp_map streams; // stream number -> index
    struct sp_map threads; // thread number -> index
    uint32_t thread;       // of the operation that is being read
    uint64_t live_bytes;
    size_t operation_capacity;
    size_t block_capacity;
    size_t stream_capacity;
};

// Notes the trouble at the current line. Returns false, so that a caller can return it.
__attribute__((format(printf, 2, 3))) static bool fail(struct reader *reader, const char *format,
                                                       ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->error->reason, sizeof reader->error->reason, format, arguments);
    va_end(arguments);
    reader->error->line = reader->lines.number;
    return false;
}

static bool fail_without_memory(struct reader *reader) {
    return fail(reader, "out of host memory");
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

static bool add_operation(struct reader *reader, enum sp_trace_action action, uint32_t block,
                          uint32_t stream) {
    struct sp_trace *trace = reader->trace;
    if (!make_room(&trace->operations, trace->operation_count, &reader->operation_capacity,
                   sizeof *trace->operations))
        return fail_without_memory(reader);
    trace->operations[trace->operation_count++] =
        (struct sp_trace_operation){action, block, stream, reader->thread};
    return true;
}

static bool add_block(struct reader *reader, uint64_t size, uint32_t stream, uint32_t *block) {
    struct sp_trace *trace = reader->trace;
    if (trace->block_count == SP_TRACE_NO_BLOCK)
        return fail(reader, "more than %u allocations", SP_TRACE_NO_BLOCK);
    if (!make_room(&trace->blocks, trace->block_count, &reader->block_capacity,
                   sizeof *trace->blocks))
        return fail_without_memory(reader);
    *block = (uint32_t)trace->block_count;
    trace->blocks[trace->block_count++] = (struct sp_trace_block){size, stream};
    return true;
}

static bool stream_index(struct reader *reader, uint64_t number, uint32_t *index) {
    struct sp_trace *trace = reader->trace;
    *index = sp_map_find(&reader->streams, number);
    if (*index != SP_MAP_NONE)
        return true;
    *index = (uint32_t)trace->stream_count;
    if (!make_room(&trace->streams, trace->stream_count, &reader->stream_capacity,
                   sizeof *trace->streams) ||
        !sp_map_insert(&reader->streams, number, *index))
        return fail_without_memory(reader);
    trace->streams[trace->stream_count++] = number;
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
    while (trace->operations[i].action == SP_TRACE_FREE || trace->operations[i].block != block)
        i++;
    return sp_trace_line_of(i);
}

static bool count_live(struct reader *reader, uint64_t size) {
    if (__builtin_add_overflow(reader->live_bytes, size, &reader->live_bytes))
        return fail(reader, "more than 2^64 bytes are alive");
    if (reader->live_bytes > reader->trace->live_peak_bytes) {
        reader->trace->live_peak_bytes = reader->live_bytes;
        reader->trace->live_peak_operation = reader->trace->operation_count;
    }
    return true;
}

static bool read_allocate(struct reader *reader, const struct sp_record *record, uint32_t stream) {
    uint32_t other = record->pointer ? sp_map_find(&reader->live, record->pointer) : SP_MAP_NONE;
    if (other != SP_MAP_NONE)
        return fail(reader, "allocation at 0x%llx, which is alive since line %lu",
                    (unsigned long long)record->pointer, line_of_allocation(reader->trace, other));
    uint32_t block;
    if (!add_block(reader, record->size, stream, &block) || !count_live(reader, record->size))
        return false;
    if (record->pointer && !sp_map_insert(&reader->live, record->pointer, block))
        return fail_without_memory(reader);
    return add_operation(reader, SP_TRACE_ALLOCATE, block, stream);
}

static bool read_failure(struct reader *reader, const struct sp_record *record, uint32_t stream) {
    uint32_t block;
    return add_block(reader, record->size, stream, &block) &&
           add_operation(reader, SP_TRACE_FAILURE, block, stream);
}

static bool read_free(struct reader *reader, const struct sp_record *record, uint32_t stream) {
    if (!record->pointer)
        return add_operation(reader, SP_TRACE_FREE, SP_TRACE_NO_BLOCK, stream);
    uint32_t block = sp_map_remove(&reader->live, record->pointer);
    if (block == SP_MAP_NONE)
        return fail(reader, "free of 0x%llx, which is not alive",
                    (unsigned long long)record->pointer);
    uint64_t size = reader->trace->blocks[block].size;
    if (size != record->size)
        return fail(reader, "free of %llu bytes at 0x%llx, allocated with %llu bytes at line %lu",
                    (unsigned long long)record->size, (unsigned long long)record->pointer,
                    (unsigned long long)size, line_of_allocation(reader->trace, block));
    reader->live_bytes -= size;
    return add_operation(reader, SP_TRACE_FREE, block, stream);
}

static bool read_operation(struct reader *reader, const char *text, size_t length) {
    struct sp_record record;
    if (!sp_record_parse(text, length, &record, reader->error->reason,
                         sizeof reader->error->reason)) {
        reader->error->line = reader->lines.number;
        return false;
    }
    uint32_t stream;
    if (!stream_index(reader, record.stream, &stream) ||
        !thread_index(reader, record.thread, &reader->thread))
        return false;
    switch (record.action) {
    case SP_TRACE_ALLOCATE:
        return read_allocate(reader, &record, stream);
    case SP_TRACE_FREE:
        return read_free(reader, &record, stream);
    default:
        return read_failure(reader, &record, stream);
    }
}

static bool read_header(struct reader *reader) {
    const char *text, *reason;
    size_t length;
    switch (sp_lines_next(&reader->lines, &text, &length, &reason)) {
    case SP_LINE_FAILED:
        return fail(reader, "%s", reason);
    case SP_LINE_END:
        return fail(reader, "the file is empty: the header '" SP_RECORD_HEADER "' is missing");
    default:
        break;
    }
    if (length != strlen(SP_RECORD_HEADER) || memcmp(text, SP_RECORD_HEADER, length) != 0)
        return fail(reader, "the header is not '" SP_RECORD_HEADER "'");
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
        return fail(reader, "%s", reason);
    if (reader->trace->operation_count == 0)
        return fail(reader, "there is no operation behind the header");
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
    struct reader reader = {.trace = trace, .error = error};
    const char *reason;
    if (!sp_lines_open(&reader.lines, path, &reason))
        return fail(&reader, "%s", reason);

    bool good = read_header(&reader) && read_operations(&reader);
    if (good) {
        trace->name = name_of(path);
        good = trace->name || fail_without_memory(&reader);
    }
    sp_lines_close(&reader.lines);
    sp_map_release(&reader.live);
    sp_map_release(&reader.streams);
    sp_map_release(&reader.threads);
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
