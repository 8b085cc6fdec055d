// Threads that share work of the host, such as a copy of its memory, as fast as they can: they take
// no lock, and none of them sleeps between its start and its end. So a team is started for what is
// measured, outside the clock, and stopped behind it.
//
// One thread uses a team at a time, and is one of its threads.
#ifndef STREAMPOOL_BENCH_TEAM_H
#define STREAMPOOL_BENCH_TEAM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

enum { TEAM_MAX = 8 };

// Bytes that are done slice by slice, of which each thread takes the next one.
struct team_work {
    void (*do_slice)(void *what, size_t at,
                     size_t bytes); // that begins `at` bytes behind the first
    void *what;
    size_t bytes, slice;
};

// Of two sides one may be shorter than what is copied: then the bytes go through it in turn.
struct team_copy {
    char *to;
    const char *from;
    size_t to_bytes, from_bytes; // after so many it begins anew: a multiple of TEAM_SLICE, or all
    size_t bytes;
};
enum { TEAM_SLICE = 512 << 10 };

struct team {
    unsigned int threads;
    pthread_t list[TEAM_MAX];
    struct team_work work;
    atomic_size_t next; // slice to be taken
    atomic_uint rounds; // works that were begun, and the end
    atomic_uint busy;   // threads beside the caller that are not done
    atomic_bool over;
};

// Starts a team with the caller as one of 1 to TEAM_MAX threads. Returns 0 or the error's number.
int team_start(struct team *team, unsigned int threads);
void team_stop(struct team *team);

// Return when all bytes are done, or copied.
void team_do(struct team *team, const struct team_work *work);
void team_copy(struct team *team, const struct team_copy *copy);

#endif
