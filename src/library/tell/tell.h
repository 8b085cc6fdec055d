// Telling people what pools have done and how they stand: as text for poolMemPoolPrintStatistics
// and at the end of a process (process/observe.h), as figures for the observer's JSON and for the
// drop-in's report.
//
// Pools that were destroyed are told of together: their statistics are sums, and the peaks those of
// the pool that had most. Pools in which nothing was ever done have nothing to tell.
#ifndef STREAMPOOL_TELL_TELL_H
#define STREAMPOOL_TELL_TELL_H

#include "tell/name.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <streampool/lists.h>

// The figures of a pool: its statistics, and then its gauges.
#define SP_TELL_FIGURE(name, number, text) SP_TELL_##name,
enum {
    STREAMPOOL_POOL_STATISTICS(SP_TELL_FIGURE) SP_TELL_STATISTICS,
    SP_TELL_BEFORE_GAUGES = SP_TELL_STATISTICS - 1,
    STREAMPOOL_POOL_GAUGES(SP_TELL_FIGURE) SP_TELL_FIGURES
};
#undef SP_TELL_FIGURE

enum sp_tell_kind { SP_TELL_DEFAULT, SP_TELL_OTHER, SP_TELL_DESTROYED };

struct sp_tell_pool {
    enum sp_tell_kind kind;
    struct sp_name name;
    int device;           // whose memory it is; -1 for none, and for destroyed ones
    struct sp_name place; // where the memory is, as "device 0" or "the host"; "" for destroyed ones
    uint64_t count;       // of pools
    uint64_t used, used_high, reserved, reserved_high;
    uint64_t figures[SP_TELL_FIGURES];
};

// Has pools noted that are destroyed from now on. The options *stats* and *stats_signal* do, too.
void sp_tell_keep_destroyed(void);
bool sp_tell_keeps_destroyed(void);

// Notes a pool that is about to be destroyed, and that the caller has pinned.
void sp_tell_note_destroyed(struct sp_pool *pool);

// Visits each pool in which something was done, and then the destroyed ones if there are any: with
// their statistics alone, and the gauges 0; or with the gauges, too. Calls no driver. False, with
// some of them not visited, when a lock isn't had in a second: a process may end in the handler of
// a signal, above a call that holds it.
enum sp_tell_depth { SP_TELL_COUNTS, SP_TELL_GAUGES };
bool sp_tell_visit(enum sp_tell_depth depth,
                   void (*visit)(const struct sp_tell_pool *pool, void *data), void *data);

// Writes what a pool has done and how it stands. The caller has pinned the pool. False with errno
// when the file takes no more.
bool sp_tell_print(struct sp_pool *pool, FILE *out);

// Writes what a visit has told.
void sp_tell_print_visited(const struct sp_tell_pool *told, FILE *out);

// An amount in the largest unit of which there is one at least: "1.50 MiB".
struct sp_tell_words {
    char text[32];
};
struct sp_tell_words sp_tell_bytes(uint64_t number);

#endif
