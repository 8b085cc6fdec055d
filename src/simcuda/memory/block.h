// Blocks: the pieces of memory that the program was given and may use until it frees them, of
// cuMemAlloc, cuMemAllocManaged and of allocators that tell (simcudaBlockBegin). They are watched
// while the program is checked.
//
// A block that was freed is kept as long as nobody has its bytes again: with the order of its free,
// so that work which touches them is told to come too late. Of a block whose bytes are in part
// somebody else's again the rest is kept.
//
// Work is looked at when it is enqueued: its order is known then, and whose bytes are whose does
// not depend on when it runs.
//
//   live and freed blocks are disjoint, and none is empty
//   at most so many freed ones are kept; the oldest go first
#ifndef STREAMPOOL_SIMCUDA_MEMORY_BLOCK_H
#define STREAMPOOL_SIMCUDA_MEMORY_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "simcuda/common/who.h"

struct sim_clock;
struct sim_context;
struct sim_item;

// A free runs after the work that its stream has, and after all that a clock holds. Without a
// stream it is the host's, and the clock that of what the host knows.
struct sim_block_order {
    bool has_slot;
    size_t slot;
    uint64_t sequence;
    struct sim_clock *clock;
    // It runs behind a wait for a word of memory that is pending, so after more than is known yet:
    // work that the clock lacks is no mistake.
    bool is_open;
    struct sim_who who;
    const char *call;
};

// Begins a block of cuMemAlloc or cuMemAllocManaged in a context, or, for null, of an allocator.
void sim_block_begin(uint64_t address, uint64_t size, const struct sim_context *context,
                     struct sim_who who);
// Finds the block that an address lies in, live or freed; false where none is known to.
bool sim_block_find(uint64_t address, uint64_t *begin, uint64_t *size);
// Returns whether a live block begins at the address.
bool sim_block_begins_at(uint64_t address);
// Adds to what the free of a block will run after.
void sim_block_behind(uint64_t address, const struct sim_block_order *order);
// Ends the block that begins at an address, and reports work that the free isn't ordered after:
// then it returns true. Does nothing where none begins there.
bool sim_block_end(uint64_t address, const struct sim_block_order *order);

// Reports an item that leaves its block, or touches one that was freed; then it returns true.
bool sim_block_check(const struct sim_item *item);
// The calling thread ends the process. Allocators end, too, and tell no more of blocks that other
// threads still use, so those threads' work isn't looked at from now on.
void sim_block_process_ends(void);

// Nothing is known any more of freed blocks in memory that got another use, and of live ones in
// memory that was given back.
void sim_block_forget(uint64_t address, uint64_t size);
void sim_block_forget_live(uint64_t address, uint64_t size);
void sim_block_reset(void);

#define SIM_BLOCK_TEXT 110
// Writes which block the bytes at an address are of, live or freed, as " of the block ..." for
// after a range of bytes, and returns the text. It is empty where no block is, or only one that
// began behind the piece of work with this serial.
const char *sim_block_text(uint64_t address, uint64_t serial, char text[SIM_BLOCK_TEXT]);
#define SIM_BLOCK_FATE (SIM_BLOCK_TEXT + SIM_WHO_LENGTH + 20)
// Writes where the block at an address ends, or who freed it, for behind a sentence, and returns
// the text. It is empty where no block is.
const char *sim_block_fate(uint64_t address, char text[SIM_BLOCK_FATE]);
// Returns whether an address is of memory that an allocator hands out, or has handed out.
bool sim_block_is_of_allocator(uint64_t address);
// Reports a free of an address at which no block may be freed.
void sim_block_report_bad_free(const char *call, uint64_t address);

// Reports each live block of an allocator as a leak; returns how many there are.
uint64_t sim_block_report_leaks(void);

#endif
