// Locating an address for the words of an error. All pools are looked through, so it takes its
// time; and another thread may change it at once.
#ifndef STREAMPOOL_CALLS_LOCATE_H
#define STREAMPOOL_CALLS_LOCATE_H

#include <stdint.h>

enum sp_place {
    SP_PLACE_FOREIGN, // no pool's address
    SP_PLACE_FREE,    // a pool's, with no live allocation there
    SP_PLACE_INSIDE   // in a live allocation, `offset` bytes behind its start
};

struct sp_location {
    enum sp_place place;
    uint64_t offset;
    uint64_t size; // of the allocation, as it was asked for
};

// Takes the locks of pools and lanes: none may be held.
struct sp_location sp_locate(uint64_t address);

#endif
