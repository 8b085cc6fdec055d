// Reads JSON into values (values.h). Numbers with a sign, a fraction or an exponent, and those of
// more than 64 bits, are "other"; true and false are 1 and 0.
#ifndef STREAMPOOL_CLI_JSONVALUES_H
#define STREAMPOOL_CLI_JSONVALUES_H

#include "cli/import/values.h"
#include "cli/trace/source.h"
#include "cli/trace/trace.h"

// True when a file with these first bytes may be JSON with an object or a list.
bool sp_jsonvalues_begins(const unsigned char *bytes, size_t count);

// Reads the file to its end into values that began with the offset of the source. False, with the
// byte and the reason, when it is no JSON, is cut off, or nests deeper than 512 lists and objects.
bool sp_jsonvalues_read(struct sp_source *source, struct sp_values *values, sp_value *root,
                        struct sp_trace_error *error);

#endif
