// The host's part of copies: between the program's memory and chunks, by threads of the library and
// by callers, in slices.
//
// A *job* is the host's part of one copy. Its parts pass through `depth` chunks in turn, and two
// numbers say how far they are: how many parts the device has done, and how many the host:
//
//   to the device   the host fills a chunk once the device has read what was there `depth` parts
//                   before; the device reads it once the host has filled it
//   to the host     the device fills a chunk once the host has emptied it; the host empties it once
//                   the device has filled it
//
// The crew doesn't know who makes the device go on. It looks again and again at the number of a
// device that writes it itself while a job can't go on, and calls no driver for that: a thread of
// the program may hold the driver's locks while it waits for this very copy.
//
// A thread that finds nothing to do stays awake for a moment: to wake one takes as long as the bus
// takes for megabytes.
#ifndef STREAMPOOL_COPY_CREW_H
#define STREAMPOOL_COPY_CREW_H

#include "base/list.h"
#include "copy/file.h"
#include "copy/settings.h"
#include "copy/shape.h"

#include <stdint.h>

struct sp_job {
    struct sp_shape shape;
    bool to_device;
    bool is_watched;  // the device writes its number itself
    bool is_streamed; // what is copied to the host isn't to fill its caches
    char *host;       // the program's memory; null: it is a file
    struct sp_copy_file *file;
    void *block;  // of the chunks' pool
    char *chunks; // in it
    size_t chunk_bytes, depth;
    _Atomic uint32_t *by_device, *by_host; // parts that each has done, in order
    // When all parts are done, and the job is in no list any more, the first is called with the
    // crew's lock held; it may be null. Where it returns true nobody else knows of the job, and the
    // second is called without the lock.
    bool (*finish)(struct sp_job *job);
    void (*release)(struct sp_job *job);
    // Guarded by the crew's lock:
    struct sp_list link;
    size_t parts;       // that the host does
    size_t part, slice; // that is handed out next
    size_t begun;       // parts of which a slice was handed out
    size_t done;        // that the host has done: *by_host may be another copy's behind the last
    size_t left[SP_COPY_DEPTH_MOST]; // slices not yet done, of the part in each chunk
    unsigned int helpers;            // threads of the crew that may be at it
    unsigned int helping;            // and are
    unsigned int busy;               // threads that are at a slice
    struct sp_copy_file_problem
        problem; // the first one in the file, whose other bytes are left out
};

// How long a thread stays awake that finds nothing to do, in nanoseconds.
enum { SP_CREW_AWAKE = 100 * 1000 };

// Sees to it that so many threads are there, before the first job. False where the system gives
// none of them, or has no memory, and where the process ends: there is no crew then.
bool sp_crew_hire(unsigned int threads);

// Puts a job before the crew.
void sp_crew_add(struct sp_job *job);

// The calling thread does the host's share of a job in one part, of memory, that isn't before the
// crew.
void sp_crew_do_alone(struct sp_job *job);

// Takes a job away at any time, when nobody is at a slice of it any more. The device no longer
// waits for the host.
void sp_crew_remove(struct sp_job *job);

void sp_crew_stop_locked(struct sp_job *job); // the same, with the lock held

// Returns a job that is before the crew, or null. The lock is held.
struct sp_job *sp_crew_find_locked(bool (*is_it)(const struct sp_job *job, const void *what),
                                   const void *what);

// The calling thread copies a slice. False when there is none to be copied just now; and, where it
// helps, when as many threads are at the job as may be.
bool sp_crew_work(struct sp_job *job);
bool sp_crew_help(struct sp_job *job);

// Says that a device's number has grown.
void sp_crew_go_on(void);

// True when the process ends, and the crew has ended with it.
bool sp_crew_is_ending(void);

// Tells if it has so many threads, and isn't ending.
bool sp_crew_has(unsigned int threads);

// Tells what has gone wrong so far.
struct sp_copy_file_problem sp_crew_problem(struct sp_job *job);

// Waits until the host has done more parts than these, if a thread is at one. False at once where
// none is.
bool sp_crew_await(struct sp_job *job, uint32_t parts);

// Makes the caller see what threads of the crew did before: the device, which tells that they have
// done it, gives no order that the language knows.
void sp_crew_order(void);

// The lock, and a wait for a job's end under it, until a point in time (sp_time_now).
void sp_crew_lock(void);
void sp_crew_unlock(void);
void sp_crew_wait_locked(uint64_t until);

#endif
