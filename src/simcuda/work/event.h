// Events. An event stands for the piece of work that its last record added to a queue, or for a
// point in a capture; one that was never recorded stands for nothing and is complete.
//
// A handle is the address of its struct and is handed out again after a destroy, like a stream's.
// An event dies with its context; the record goes on in its queue.
#ifndef STREAMPOOL_SIMCUDA_WORK_EVENT_H
#define STREAMPOOL_SIMCUDA_WORK_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "driver/abi.h"
#include "simcuda/common/slab.h"
#include "simcuda/queue/capture.h"

struct sim_context;
struct sim_item;
struct sim_queue;

struct sim_event {
    struct sim_slab_element element;
    struct sim_context *context;
    unsigned flags;
    bool is_of_library;
    struct sim_item *record;        // null: never recorded, or last in a capture
    struct sim_capture_point point; // set: last recorded in a capture
};

CUresult sim_event_create(struct sim_context *context, unsigned flags, CUevent *handle);
// Finds the event of a handle. Reports one that does not exist; returns the sticky error of the
// event's context if that has one.
CUresult sim_event_find(CUevent handle, struct sim_event **event);

CUresult sim_event_record(struct sim_event *event, struct sim_queue *queue);
// Records an event behind the work of all queues of a context, those that are gone too. The record
// is in the context's recorder, so no stream runs after it but one that waits for the event.
CUresult sim_event_record_context(struct sim_event *event, struct sim_context *context);
// Tells the virtual time between the ends of the last records of two events. INVALID_HANDLE when
// one was not recorded, or keeps no time; NOT_READY while one is pending.
CUresult sim_event_elapsed(struct sim_event *start, struct sim_event *end, float *milliseconds);
CUresult sim_event_stream_wait(struct sim_event *event, struct sim_queue *queue);
CUresult sim_event_query(struct sim_event *event);
CUresult sim_event_synchronize(struct sim_event *event);
void sim_event_destroy(struct sim_event *event);
// Destroys those of a context, for null all.
void sim_event_destroy_all(const struct sim_context *context);

uint64_t sim_event_count(void);
uint64_t sim_event_count_of_library(void);
void sim_event_reset(void);

#endif
