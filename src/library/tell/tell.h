// Telling people what pools have done and how they stand: as text for poolMemPoolPrintStatistics
// and at the end of a process (process/observe.h), as figures for the drop-in's report.
//
// Pools that were destroyed are told of together: their statistics are sums, and the peaks those of
// the pool that had most.
#ifndef STREAMPOOL_TELL_TELL_H
#define STREAMPOOL_TELL_TELL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <streampool/lists.h>

#define SP_TELL_STATISTIC(name, number, text) SP_TELL_##name,
enum { STREAMPOOL_POOL_STATISTICS(SP_TELL_STATISTIC) SP_TELL_STATISTICS };
#undef SP_TELL_STATISTIC

enum sp_tell_kind { SP_TELL_DEFAULT, SP_TELL_OTHER, SP_TELL_DESTROYED };

struct sp_tell_pool {
    enum sp_tell_kind kind;
    int device;     // -1 for destroyed ones
    uint64_t count; // of pools
    uint64_t used_high, reserved_high;
    uint64_t statistics[SP_TELL_STATISTICS];
};

struct sp_pool;
struct sp_tell_pool sp_tell_read(struct sp_pool *pool);

// Adds pools to a sum, which isn't of one device.
void sp_tell_add(struct sp_tell_pool *sum, const struct sp_tell_pool *pool);

// Has pools noted that are destroyed from now on. The option *stats* does, too.
void sp_tell_keep_destroyed(void);
bool sp_tell_keeps_destroyed(void);

// Notes a pool that is about to be destroyed, and that the caller has pinned.
void sp_tell_note_destroyed(struct sp_pool *pool);

// Visits each pool that has had memory, and then the destroyed ones if there are any. Calls no
// driver. False, with some of them not visited, when a lock isn't had in a second: a process may
// end in the handler of a signal, above a call that holds it.
bool sp_tell_visit(void (*visit)(const struct sp_tell_pool *pool, void *data), void *data);

// Writes what a pool has done and how it stands. The caller has pinned the pool. False with errno
// when the file takes no more.
bool sp_tell_print(struct sp_pool *pool, FILE *out);

// Writes the sum of the destroyed ones, if there are any.
void sp_tell_print_destroyed(FILE *out);

// An amount in the largest unit of which there is one at least: "1.50 MiB".
struct sp_tell_words {
    char text[32];
};
struct sp_tell_words sp_tell_bytes(uint64_t number);

#endif
