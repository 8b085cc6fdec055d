// Questions of the host: whether the work of a stream, a context or a device is complete, and waits
// for it. The host has then learned all that the pieces came after which the question looked at.
//
// As seen on an H200, a question of a stream looks at:
//
//   non-blocking          its newest piece
//   blocking, per-thread  its newest piece that isn't quiet. Quiet are the record of an event
//                         without timing and without blocking synchronisation, and a wait for an
//                         event that is complete: while only the legacy stream's work holds them,
//                         the stream passes for idle
//   legacy                its newest piece, and that of each blocking and per-thread stream of its
//                         context, also of those that are gone
#ifndef STREAMPOOL_SIMCUDA_WORK_QUESTION_H
#define STREAMPOOL_SIMCUDA_WORK_QUESTION_H

#include <stdbool.h>

struct sim_context;
struct sim_queue;

bool sim_question_poll_queue(struct sim_queue *queue);
void sim_question_wait_queue(struct sim_queue *queue);
void sim_question_wait_context(struct sim_context *context);
void sim_question_wait_device(int device);

// Makes all work complete, as if every device had been quick; the host learns nothing. What waits
// for a word of memory that nobody writes stays pending.
void sim_question_finish_all(void);

#endif
