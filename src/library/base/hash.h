// For files that include it by its old name.
#ifndef STREAMPOOL_BASE_HASH_H
#define STREAMPOOL_BASE_HASH_H

#include "base/number.h"

#endif
