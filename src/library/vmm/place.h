// A *place* is where memory of pools is: a device, the host, or a NUMA node of the host. For
// managed memory each of these is another place, where that prefers to be. Memory of the host for
// staging (vmm/staged.h) has places of its own, too.
#ifndef STREAMPOOL_VMM_PLACE_H
#define STREAMPOOL_VMM_PLACE_H

#include "driver/abi.h"

#include <stdbool.h>

// The id counts for devices and nodes alone, and is else 0.
struct sp_place {
    CUmemLocation location;
    bool is_managed;
    bool is_staged;
};

bool sp_place_is_same(const struct sp_place *a, const struct sp_place *b);

// The number of the NUMA node, or -1 for the whole host.
int sp_place_node(const struct sp_place *place);

// Writes what a place is called, such as "device 0", "NUMA node 1 (managed)", or, of managed memory
// that prefers none, "any place (managed)".
#define SP_PLACE_NAME 40
void sp_place_text(const struct sp_place *place, char name[SP_PLACE_NAME]);

#endif
