#include "cli/trace/streams.h"

#include <stdlib.h>

void sp_streams_release(struct sp_streams *streams) {
    sp_map_release(&streams->indices);
    sp_map_release(&streams->per_threads);
}

static unsigned long long number_of(const struct sp_trace_stream *stream) {
    return stream->number;
}

// ----------------------------------------------------------------------------------------- its
// kind

static bool says_kind(enum sp_trace_action action) {
    return action >= SP_TRACE_LEGACY_STREAM && action <= SP_TRACE_NON_BLOCKING_STREAM;
}

static enum sp_trace_kind kind_of(const struct sp_record *record) {
    switch (record->action) {
    case SP_TRACE_LEGACY_STREAM:
        return SP_TRACE_LEGACY;
    case SP_TRACE_PER_THREAD_STREAM:
        return SP_TRACE_PER_THREAD;
    case SP_TRACE_BLOCKING_STREAM:
        return SP_TRACE_BLOCKING;
    case SP_TRACE_NON_BLOCKING_STREAM:
        return SP_TRACE_NON_BLOCKING;
    default:
        return record->stream == 0 ? SP_TRACE_LEGACY : SP_TRACE_NON_BLOCKING;
    }
}

static const struct sp_trace_stream *find_legacy(const struct sp_trace *trace) {
    for (size_t i = 0; i < trace->stream_count; i++)
        if (trace->streams[i].kind == SP_TRACE_LEGACY)
            return &trace->streams[i];
    return NULL;
}

// A replay has one context, and there one legacy stream and one per-thread stream for each thread.
static bool is_only_one(const struct sp_streams *streams, const struct sp_trace_stream *stream,
                        struct sp_trace_error *error) {
    const struct sp_trace *trace = streams->trace;
    const struct sp_trace_stream *other = NULL;
    if (stream->kind == SP_TRACE_LEGACY)
        other = find_legacy(trace);
    uint32_t index = SP_MAP_NONE;
    if (stream->kind == SP_TRACE_PER_THREAD)
        index = sp_map_find(&streams->per_threads, stream->thread);
    if (index != SP_MAP_NONE)
        other = &trace->streams[index];
    return !other ||
           sp_record_fail(error, "stream %llu is a second %s: stream %llu is one since line %lu",
                          number_of(stream),
                          stream->kind == SP_TRACE_LEGACY ? "legacy stream"
                                                          : "per-thread stream of the thread",
                          number_of(other), sp_record_line_of(other->first));
}

// ----------------------------------------------------------------------------- its first use,
// others

static bool make_room(struct sp_streams *streams) {
    struct sp_trace *trace = streams->trace;
    if (trace->stream_count < streams->capacity)
        return true;
    size_t wanted = streams->capacity ? 2 * streams->capacity : 64;
    struct sp_trace_stream *larger = reallocarray(trace->streams, wanted, sizeof *larger);
    if (!larger)
        return false;
    trace->streams = larger;
    streams->capacity = wanted;
    return true;
}

static bool begin(struct sp_streams *streams, const struct sp_trace_stream *stream, uint32_t *index,
                  struct sp_trace_error *error) {
    struct sp_trace *trace = streams->trace;
    *index = (uint32_t)trace->stream_count;
    if (!is_only_one(streams, stream, error))
        return false;
    bool per_thread = stream->kind == SP_TRACE_PER_THREAD;
    if (!make_room(streams) || !sp_map_insert(&streams->indices, stream->number, *index) ||
        (per_thread && !sp_map_insert(&streams->per_threads, stream->thread, *index)))
        return sp_record_fail(error, "out of host memory");
    trace->streams[trace->stream_count++] = *stream;
    return true;
}

// A stream that the trace has named before.
static bool check_use(const struct sp_trace *trace, const struct sp_trace_stream *stream,
                      enum sp_trace_action action, uint32_t thread, struct sp_trace_error *error) {
    if (stream->end != SP_TRACE_NO_END)
        return sp_record_fail(error, "stream %llu has been destroyed at line %lu",
                              number_of(stream), sp_record_line_of(stream->end));
    if (stream->kind == SP_TRACE_PER_THREAD && stream->thread != thread)
        return sp_record_fail(
            error, "stream %llu is the per-thread stream of another thread since line %lu",
            number_of(stream), sp_record_line_of(stream->first));
    if (!says_kind(action))
        return true;
    bool said = says_kind(trace->operations[stream->first].action);
    return sp_record_fail(error, "the kind of stream %llu is said %s line %lu", number_of(stream),
                          said ? "a second time, after" : "behind its first use at",
                          sp_record_line_of(stream->first));
}

static bool end(struct sp_streams *streams, struct sp_trace_stream *stream,
                struct sp_trace_error *error) {
    if (stream->kind == SP_TRACE_LEGACY || stream->kind == SP_TRACE_PER_THREAD)
        return sp_record_fail(error, "stream %llu is a default stream, which can't be destroyed",
                              number_of(stream));
    stream->end = streams->trace->operation_count;
    return true;
}

bool sp_streams_resolve(struct sp_streams *streams, const struct sp_record *record, uint32_t thread,
                        uint32_t *index, struct sp_trace_error *error) {
    struct sp_trace *trace = streams->trace;
    struct sp_trace_stream stream = {.number = record->stream,
                                     .kind = kind_of(record),
                                     .thread = thread,
                                     .first = trace->operation_count,
                                     .end = SP_TRACE_NO_END};
    *index = sp_map_find(&streams->indices, record->stream);
    bool known = *index != SP_MAP_NONE;
    if (known && !check_use(trace, &trace->streams[*index], record->action, thread, error))
        return false;
    if (!known && !begin(streams, &stream, index, error))
        return false;
    return record->action != SP_TRACE_DESTROY_STREAM ||
           end(streams, &trace->streams[*index], error);
}
