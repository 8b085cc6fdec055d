// The check and the end of a device's address space.
#ifndef STREAMPOOL_TESTS_INSIDE_SPACE_H
#define STREAMPOOL_TESTS_INSIDE_SPACE_H

#include "vmm/space.h"

// True when the trees of free spans are in order and agree, no two spans overlap or touch in one
// range, and each knows its range.
bool inside_space_check(struct sp_space *space);

// Frees every range. All spans must have been given back.
void inside_space_close(struct sp_space *space);

#endif
