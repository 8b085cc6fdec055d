// For files that include it by its old name.
#ifndef STREAMPOOL_BASE_CANCEL_H
#define STREAMPOOL_BASE_CANCEL_H

#include "base/thread.h"

#endif
