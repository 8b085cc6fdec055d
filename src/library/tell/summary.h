// Summaries for people: what a pool has done and how it stands, for poolMemPoolPrintStatistics and
// at the end of a process (process/observe.h).
#ifndef STREAMPOOL_TELL_SUMMARY_H
#define STREAMPOOL_TELL_SUMMARY_H

#include "region/pool.h"

#include <stdio.h>

// Writes what a pool has done and how it stands. The caller has pinned the pool. False with errno
// when the file takes no more.
bool sp_summary_print(struct sp_pool *pool, FILE *out);

// Adds what a pool has done to the sum of destroyed pools, if a summary is asked for. The pool is
// about to be destroyed, and the caller has pinned it.
void sp_summary_note_destroyed(struct sp_pool *pool);

// Writes that sum, if there is one.
void sp_summary_print_destroyed(FILE *out);

// An amount in the largest unit of which there is one at least: "1.50 MiB".
struct sp_summary_words {
    char text[32];
};
struct sp_summary_words sp_summary_bytes(uint64_t number);

#endif
