// A copy through chunks that is given to its stream ahead: all of it, before the host has done
// anything. The stream waits, between the parts, for a word of memory that the host counts up, and
// counts up another one itself (stream memory operations). So only the crew is needed from then on,
// and no call of the driver. Both words lie behind the chunks.
#ifndef STREAMPOOL_COPY_AHEAD_H
#define STREAMPOOL_COPY_AHEAD_H

#include "copy/transfer.h"

// Such a copy, under way.
struct sp_ahead {
    struct sp_job job;
    struct sp_copy_file file;
    CUcontext context;
    CUevent event; // behind all of it
    // Guarded by the crew's lock:
    bool is_done;           // by the host
    bool is_dropped;        // the completion is gone: what ends last frees it
    poolError_t stopped_by; // the error that has ended it; poolSuccess: none
};

// True where the device can wait for words.
bool sp_ahead_is_possible(int device);

// Where the driver refuses a command, as it may for memory of a kind, and where there are no
// threads, the copy is made at once from its beginning: `ahead` receives null then.
poolError_t sp_copy_ahead(const struct sp_copy *copy, struct sp_ahead **ahead);

// Tells if the host's part is done; and waits for that, until a point in time.
bool sp_ahead_is_done(struct sp_ahead *ahead);
bool sp_ahead_await(struct sp_ahead *ahead, uint64_t until);

// Tells what has gone wrong with its file, when the host's part is done.
poolError_t sp_ahead_problem(struct sp_ahead *ahead);

// The context has failed, which ends the copy, and those of the context whose completions are gone:
// the host's memory isn't touched any more.
void sp_ahead_fail(struct sp_ahead *ahead, poolError_t error);

// The completion is gone.
void sp_ahead_drop(struct sp_ahead *ahead);

#endif
