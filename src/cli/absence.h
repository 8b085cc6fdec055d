// What it means when the driver lacks an entry point.
#ifndef STREAMPOOL_CLI_ABSENCE_H
#define STREAMPOOL_CLI_ABSENCE_H

#include "driver/driver.h"

#include <stdbool.h>

bool sp_entry_is_missing(const struct sp_driver *driver, const struct sp_driver_entry *entry);

// "required", "optional" or "client".
const char *sp_need_name(enum sp_need need);

// In words, for someone who knows CUDA and not this library. Never null.
const char *sp_absence_meaning(const struct sp_driver_entry *entry);

#endif
