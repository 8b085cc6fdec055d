// The pieces of a remap: a choice among all free memory within a request's reach.
//
// Only whole extents can be mapped once more, so of a row of free blocks these parts can be of use:
//
//      row     ...##|====|--------|--------|==##...
//                    tail                   front
//
// Whole extents (-) go anywhere in the view. The free end of an extent (=) is a `tail`, which can
// only stand at the view's begin, or a `front`, which can only stand at its end.
//
// A call costs about the same for each extent, so the largest go first, and the row that fits what
// is left best goes last. The tail of one extent is only asked for where it doesn't go without.
// New memory makes up what all of that lacks. Behind it the longest front still has a place:
//
//      view    |--tail--|--whole--|--whole--| new memory |--front--...
#ifndef STREAMPOOL_SUPPLY_PIECES_H
#define STREAMPOOL_SUPPLY_PIECES_H

#include "region/request.h"

// A part of the home that goes into the view.
struct sp_piece {
    struct sp_segment *segment;
    uint64_t begin, end;
};

struct sp_pieces {
    struct sp_piece *list; // in the view's order
    size_t count;
    size_t before_new; // of them, the ones that stand in front of the new memory
    uint64_t missing;  // the bytes of new memory
};

// Chooses pieces for the request. False, and nothing to free, when there are none, when too much
// would be new memory for it to be worth a remap, or without host memory. The pool's lock and its
// map lock are held.
bool sp_pieces_choose(const struct sp_request *request, struct sp_pieces *pieces);

// Frees the list of chosen pieces.
void sp_pieces_free(struct sp_pieces *pieces);

#endif
