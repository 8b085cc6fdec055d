// These functions tell whether the driver lacks an entry point, and what its absence means.
#ifndef STREAMPOOL_CLI_ABSENCE_H
#define STREAMPOOL_CLI_ABSENCE_H

#include "driver/driver.h"

#include <stdbool.h>

bool sp_entry_is_missing(const struct sp_driver *driver, const struct sp_driver_entry *entry);

// Returns "required", "optional" or "client".
const char *sp_need_name(enum sp_need need);

// Returns what the absence of the entry point means, in words for someone who knows CUDA and not
// this library. It is never null.
const char *sp_absence_meaning(const struct sp_driver_entry *entry);

#endif
