// For files that include it by its old name.
#ifndef STREAMPOOL_HEAP_LOWEST_H
#define STREAMPOOL_HEAP_LOWEST_H

#include "heap/search.h"

#endif
