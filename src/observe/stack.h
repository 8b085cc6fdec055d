// Call stacks of allocations. Equal stacks are kept once, as long as one block refers to them:
//
//   references = returned by sp_stack_here() + kept by sp_stack_keep() - dropped
#ifndef STREAMPOOL_OBSERVE_STACK_H
#define STREAMPOOL_OBSERVE_STACK_H

#include <stdio.h>

// No stack has more frames.
enum { SP_STACK_MOST = 64 };

struct sp_stack;

// Returns the stack of the calling thread: up to `depth` frames, from the one that returns to
// `caller` on. Null where depth is 0, or without host memory. Takes a lock of its own, and
// allocates host memory.
struct sp_stack *sp_stack_here(const void *caller, int depth);

// These take one reference more, and give one back. Null is allowed.
void sp_stack_keep(struct sp_stack *stack);
void sp_stack_drop(struct sp_stack *stack);

// Writes a line for each frame: "    at function+0x2a (file)", or the offset in the file where the
// function has no exported name, as addr2line takes it.
void sp_stack_print(const struct sp_stack *stack, FILE *out);

#endif
