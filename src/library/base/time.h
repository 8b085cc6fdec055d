// For files that include it by its old name.
#ifndef STREAMPOOL_BASE_TIME_H
#define STREAMPOOL_BASE_TIME_H

#include "base/thread.h"

#endif
