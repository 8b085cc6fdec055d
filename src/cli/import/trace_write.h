// Writes a trace that was mended as a file that sp_trace_read() reads.
#ifndef STREAMPOOL_CLI_TRACE_WRITE_H
#define STREAMPOOL_CLI_TRACE_WRITE_H

#include "cli/import/mend.h"

// Writes to a place (place.h), gzipped if the name ends with ".gz". Times are from the earliest
// operation on. False with a complaint on standard error.
bool sp_trace_write(const char *path, const struct sp_mend *mend);

#endif
