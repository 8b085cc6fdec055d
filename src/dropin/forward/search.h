// The search for a library as the dynamic linker makes it, without the one that it would find
// first.
#ifndef STREAMPOOL_DROPIN_FORWARD_SEARCH_H
#define STREAMPOOL_DROPIN_FORWARD_SEARCH_H

#include <stdbool.h>

// Where to look, in this order.
struct sp_search {
    const char *folders;         // with colons or semicolons between them, as in LD_LIBRARY_PATH;
                                 // an empty one is the current folder. Null: none
    const char *cache;           // a file that ldconfig has written
    const char *const *defaults; // more folders, with a null behind the last
};

// Calls `visit` with each path that a library of this name may have, whether or not there is a
// file, until it returns true. Returns what the last call returned.
bool sp_search_visit(const struct sp_search *search, const char *name,
                     bool (*visit)(const char *path));

#endif
