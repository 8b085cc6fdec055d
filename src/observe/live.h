// Live blocks: those that the program was given and hasn't freed, with where they were allocated.
//
//   blocks and bytes are of the blocks in the table
//   bytes <= bytes_high
//
// A lock of its own guards the table. No function here calls the driver.
#ifndef STREAMPOOL_OBSERVE_LIVE_H
#define STREAMPOOL_OBSERVE_LIVE_H

#include "base/tree.h"
#include "observe/stack.h"
#include "process/observe_table.h"

struct sp_live_block {
    struct sp_tree_node node;
    uint64_t address;
    uint64_t size;              // as the program asked for it
    uint64_t stream;            // the number that traces have for it
    const char *default_stream; // what it is called, or null for any other
    uint64_t thread;            // the system's number of it
    struct sp_stack *stack;     // a reference; null where none is kept
};

// Enters a block that was just allocated, and takes over its stack. Its node needs no content.
void sp_live_add(const struct sp_live_block *block);

// Takes a block out, to be given to one of the next two. Null when there is none at the address.
struct sp_live_block *sp_live_take(uint64_t address);

// Ends a block that was taken out, for it is freed. Null is allowed.
void sp_live_end(struct sp_live_block *block);

// Puts back a block that was taken out, for its free has failed.
void sp_live_put_back(struct sp_live_block *block);

// Waits a second at most until nobody changes the table. False when somebody still does, who was
// interrupted for good: then nothing here may be called any more.
bool sp_live_settle(void);

void sp_live_read(struct sp_observe_figures *copy);

// Copies the blocks, largest first, into a list for the caller to free(). Their stacks stay for
// ever. Null when there are none, or without host memory.
struct sp_live_block *sp_live_list(size_t *count);

#endif
