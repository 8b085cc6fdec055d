// Call stacks of the program, for reports. Equal ones are kept once, until the reset: so a stack is
// a pointer that nobody has to give back.
#ifndef STREAMPOOL_SIMCUDA_COMMON_STACK_H
#define STREAMPOOL_SIMCUDA_COMMON_STACK_H

#include <stddef.h>

struct sim_stack;

// Returns the calling thread's stack; null where the configuration doesn't ask for stacks.
const struct sim_stack *sim_stack_here(void);

// Returns the number of frames, and the first one that is the program's: those above it are of this
// driver and of streampool's libraries. 0 for null. Frames are looked up here and below only: a
// look-up waits for a dlopen() of another thread, which may wait in a call of the driver.
size_t sim_stack_count(const struct sim_stack *stack);
size_t sim_stack_first(const struct sim_stack *stack);

// Writes where a frame is: "function+0x2a (file)", or "file+0x2a" where the function has no
// exported name, as addr2line takes it.
void sim_stack_frame(const struct sim_stack *stack, size_t index, char *text, size_t size);

void sim_stack_reset(void);

#endif
