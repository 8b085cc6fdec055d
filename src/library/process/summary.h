// Summaries for people: what a pool has done and how it stands, and at the end of a process what
// the environment asks for: that of each pool (STREAMPOOL_STATS), and the blocks that were never
// freed (STREAMPOOL_LEAKS).
//
// The end of a process is a destructor of the library, which runs behind the program's own and its
// handlers of atexit(), so that what they free counts as freed. It calls no driver. A forked child
// writes nothing.
#ifndef STREAMPOOL_PROCESS_SUMMARY_H
#define STREAMPOOL_PROCESS_SUMMARY_H

#include "region/pool.h"

#include <stdio.h>

// Writes what a pool has done and how it stands. The caller has pinned the pool. False with errno
// when the file takes no more.
bool sp_summary_print(struct sp_pool *pool, FILE *out);

// Adds what a pool has done to the sum of destroyed pools, if a summary is asked for. The pool is
// about to be destroyed, and the caller has pinned it.
void sp_summary_note_destroyed(struct sp_pool *pool);

// Writes what the environment asks for. Called once, at the process's end.
void sp_summary_print_at_exit(void);

#endif
