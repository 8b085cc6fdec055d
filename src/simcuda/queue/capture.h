// These functions say which streams capture, what joins a capture, which calls are wrong while one
// is open, and how it ends. Captured work is not kept: the graph that comes out only counts its
// nodes, since nothing here launches one.
//
// A capture begins on its origin; a stream that waits for an event recorded in the capture joins
// it. All its streams leave it when the origin ends it. Order inside a capture is a vector clock
// over its streams (participants), so that a stream that was not joined to the origin again is
// found.
//
// Every call that would do something that a capture can't hold invalidates it: the calls then
// return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED until the origin ends it.
#ifndef STREAMPOOL_SIMCUDA_QUEUE_CAPTURE_H
#define STREAMPOOL_SIMCUDA_QUEUE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/abi.h"
#include "simcuda/common/clock.h"

struct sim_queue;
struct sim_context;
struct sim_capture;

// A point in a capture is what an event recorded there stands for. It is unset when it has no
// capture.
struct sim_capture_point {
    struct sim_capture *capture;
    size_t participant;
    uint64_t sequence;
    struct sim_clock *clock;
};

void sim_capture_point_drop(struct sim_capture_point *point);

CUresult sim_capture_begin(struct sim_queue *queue, CUstreamCaptureMode mode);
CUresult sim_capture_end(struct sim_queue *queue, CUgraph *graph);
CUresult sim_graph_destroy(CUgraph graph);
uint64_t sim_graph_count(void);

// Work is about to be added to a queue. CUDA_SUCCESS and *captured: it became a node, nothing is to
// be run. STREAM_CAPTURE_IMPLICIT on a legacy stream while a blocking stream of its context
// captures.
CUresult sim_capture_work(struct sim_queue *queue, const char *call, bool *captured);
// An event is recorded in a capturing queue: sets the point that it stands for.
CUresult sim_capture_record(struct sim_queue *queue, struct sim_capture_point *point);
// A queue is about to wait for an event, which stands for the point, or for a record outside of
// captures if `is_recorded`. *captured: the wait belongs to a capture, which the queue joins if it
// has none, and nothing is to be run.
CUresult sim_capture_wait(struct sim_queue *queue, const struct sim_capture_point *point,
                          bool is_recorded, bool *captured);

// Checks a call that is unsafe while a capture is open (CUDA's "potentially unsafe calls"), by the
// calling thread's mode. A call that a check finds wrong invalidates the capture.
CUresult sim_capture_check_unsafe(const char *call);
// Checks a call that waits for or asks about a queue, which must not capture.
CUresult sim_capture_check_queue(struct sim_queue *queue, const char *call);
// Checks a call that asks who a queue is, which must not capture.
CUresult sim_capture_check_identity(struct sim_queue *queue, const char *call);
// Checks a call that waits for a whole context, of which no stream may capture.
CUresult sim_capture_check_context(const struct sim_context *context, const char *call);

// Returns the status that cuStreamIsCapturing tells. STREAM_CAPTURE_IMPLICIT for a legacy stream
// while a blocking stream of its context captures.
CUresult sim_capture_status(const struct sim_queue *queue, CUstreamCaptureStatus *status);

// Returns the number that no other capture has, of a queue that captures.
uint64_t sim_capture_identity(const struct sim_queue *queue);

// Takes a queue whose stream is gone out of its capture, which is invalid from then on.
void sim_capture_leave(struct sim_queue *queue);
void sim_capture_reset(void);

#endif
