// Tests of what a refusal says: its detail, and the driver's error that goes with it.
#ifndef STREAMPOOL_UNIT_POOL_REFUSAL_H
#define STREAMPOOL_UNIT_POOL_REFUSAL_H

#include "unit/pool/scattered.h"

void says(const char *format, ...) __attribute__((format(printf, 1, 2)));
void does_not_say(const char *words);

// What stands behind the last semicolon.
void advises(const char *advice);

void names_driver(CUresult expected, const char *expected_name);

// Frees it behind work of the stream, with an event if that is more than so many bytes.
void free_behind_work(void *pointer, CUstream stream, size_t unfenced_max);

#endif
