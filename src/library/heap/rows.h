// For files that include it by its old name.
#ifndef STREAMPOOL_HEAP_ROWS_H
#define STREAMPOOL_HEAP_ROWS_H

#include "heap/search.h"

#endif
