// Reads a pickle of Python's, protocols 0 to 5, and runs nothing: opcodes that import, call or
// build objects are refused. What is left are numbers, texts, lists, tuples (lists here),
// dictionaries and sets (of which nothing is kept).
#ifndef STREAMPOOL_CLI_PICKLE_H
#define STREAMPOOL_CLI_PICKLE_H

#include "cli/import/values.h"
#include "cli/trace/source.h"
#include "cli/trace/trace.h"

// True when a file with these first bytes may be a pickle of a dictionary or list.
bool sp_pickle_begins(const unsigned char *bytes, size_t count);

// Reads the file to its end into values that began with the offset of the source. False, with the
// byte and the reason, when it is no such pickle, is cut off, or has something behind it.
bool sp_pickle_read(struct sp_source *source, struct sp_values *values, sp_value *root,
                    struct sp_trace_error *error);

#endif
