// The list of libraries that ldconfig writes, by which the dynamic linker finds them
// (/etc/ld.so.cache).
#ifndef STREAMPOOL_DROPIN_FORWARD_CACHE_H
#define STREAMPOOL_DROPIN_FORWARD_CACHE_H

#include <stdbool.h>

// Calls `visit` with the path of each library of that name for x86-64 in the cache, in its order,
// until it returns true. Returns what the last call returned. A file that can't be read, or isn't
// such a cache, has none.
bool sp_cache_visit(const char *file, const char *name, bool (*visit)(const char *path));

#endif
