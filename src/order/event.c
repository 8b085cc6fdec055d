#include "order/event.h"

#include <string.h>

enum { REMEMBERED = 512 };

// Direct-mapped by handle: an event that maps to the same place is forgotten.
static struct {
    struct sp_lock lock;
    struct {
        CUevent event;
        struct sp_stream *stream;
    } entries[REMEMBERED];
} recent;

static size_t index_of(CUevent event) {
    return ((uintptr_t)event * 0x9E3779B97F4A7C15u >> 32) % REMEMBERED;
}

static void remember(CUevent event, struct sp_stream *stream) {
    size_t index = index_of(event);
    sp_lock_acquire(&recent.lock);
    recent.entries[index].event = event;
    recent.entries[index].stream = stream;
    sp_lock_release(&recent.lock);
}

static struct sp_stream *recall(CUevent event) {
    size_t index = index_of(event);
    sp_lock_acquire(&recent.lock);
    struct sp_stream *stream = recent.entries[index].event == event ? recent.entries[index].stream : NULL;
    sp_lock_release(&recent.lock);
    return stream;
}

CUresult sp_event_record(CUevent event, struct sp_stream *stream, CUstream handle) {
    bool known =
        stream && sp_stream_check_capture(handle) == CUDA_SUCCESS && sp_stream_record(stream) == CUDA_SUCCESS;
    CUresult error = sp_native_noted(sp_driver->cuEventRecord(event, handle), "cuEventRecord");
    if (error == CUDA_SUCCESS && known)
        remember(event, stream);
    return error;
}

// The event has completed. Its own stream is alive or its context is the current one, or else it is not
// asked.
static CUresult learn_from(CUevent event, struct sp_stream **stream) {
    *stream = recall(event);
    return *stream && sp_stream_is_of_current_context(*stream) ? sp_stream_poll(*stream)
                                                               : sp_streams_poll_current_context();
}

CUresult sp_event_synchronize(CUevent event, struct sp_stream **stream) {
    CUresult error = sp_native_noted(sp_driver->cuEventSynchronize(event), "cuEventSynchronize");
    return error == CUDA_SUCCESS ? learn_from(event, stream) : error;
}

CUresult sp_event_query(CUevent event, struct sp_stream **stream) {
    CUresult error = sp_native_noted(sp_driver->cuEventQuery(event), "cuEventQuery");
    return error == CUDA_SUCCESS ? learn_from(event, stream) : error;
}

void sp_events_close(void) {
    memset(recent.entries, 0, sizeof recent.entries);
}
