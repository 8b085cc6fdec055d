// A report names who did something in the program's own terms: by the number of the stream, as the
// program created them, and by the thread that enqueued or called.
#ifndef STREAMPOOL_SIMCUDA_COMMON_WHO_H
#define STREAMPOOL_SIMCUDA_COMMON_WHO_H

#include <stddef.h>
#include <stdint.h>

struct sim_stack;

enum sim_who_kind {
    SIM_WHO_HOST, // no stream
    SIM_WHO_LEGACY,
    SIM_WHO_PER_THREAD,
    SIM_WHO_STREAM,
};

struct sim_who {
    enum sim_who_kind kind;
    uint64_t number;               // of the stream, from 1, or of a per-thread stream's thread
    unsigned thread;               // that made the call, by its ordinal
    const struct sim_stack *stack; // of that call; null where none is kept
};

#define SIM_WHO_LENGTH 120

// Returns the calling thread, in no stream.
struct sim_who sim_who_calls(void);

// Write a text and return it: "stream 2"; "thread 1" or "thread 2, \"loader\""; and both, as
// "on stream 2 (thread 1)" or "by thread 1".
const char *sim_who_stream(const struct sim_who *who, char text[SIM_WHO_LENGTH]);
const char *sim_who_thread(const struct sim_who *who, char text[SIM_WHO_LENGTH]);
const char *sim_who_text(const struct sim_who *who, char text[SIM_WHO_LENGTH]);

#endif
