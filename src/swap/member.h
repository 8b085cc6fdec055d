// The pools that this library knows: those with a tag, and those that were to pause.
//
// Each device has a lock, which is held by the thread that pauses or resumes its pools, also while
// they are copied: they share the bus. It guards what is in a member. The list's own lock is held
// while a tagged pool is made, and else for moments; who frees a member has both.
#ifndef STREAMPOOL_SWAP_MEMBER_H
#define STREAMPOOL_SWAP_MEMBER_H

#include "swap/saved.h"

#include <stdbool.h>
#include <streampool/swap.h>

enum { SP_TAGS_MOST = 64, SP_TAG_BYTES = 64 };

struct sp_member {
    struct sp_member *next;
    poolMemPool_t pool;
    poolMemPool_t base; // that it is a tagged pool of; null: it is none
    char tag[SP_TAG_BYTES];
    int device;
    int level; // of enum poolPauseLevel; 0: it isn't paused
    size_t stayed;
    size_t discarded;
    struct sp_saved saved;
};

// A pool and its tagged pools, or one of them.
struct sp_group {
    int device;
    size_t count;
    struct sp_member *members[SP_TAGS_MOST + 1];
};

// Gives the tagged pool of a tag, which is made where there is none; of "" the pool itself.
poolError_t sp_member_tagged(poolMemPool_t base, const char *tag, poolMemPool_t *tagged);

// Takes the lock of the pool's device, drops its members whose pools are gone, and finds those that
// a call names. An error takes no lock.
poolError_t sp_member_enter(poolMemPool_t pool, const char *tag, struct sp_group *group);
void sp_member_leave(const struct sp_group *group);

// Drops a member inside of that, with what was saved of it.
void sp_member_drop(struct sp_member *member);

#endif
