// A recording of another program: finds out which of the known formats a file has, and reads it.
#ifndef STREAMPOOL_CLI_RECORDING_H
#define STREAMPOOL_CLI_RECORDING_H

#include "cli/import/snapshot.h"

enum sp_recording_format {
    SP_RECORDING_PICKLE,
    SP_RECORDING_JSON,
    SP_RECORDING_RMM,
    SP_RECORDING_BY_CONTENT, // pickles and JSON are known by their first bytes
};

struct sp_recording_options {
    enum sp_recording_format format;
    struct sp_snapshot_options snapshot; // for a log of RMM's as it is without any
};

// Reads a file, plain or gzipped, into an empty `mend`, which the caller releases in any case.
// False, with the place and the reason, when the file can't be read, is not as it should be, or has
// nothing that could be a trace.
bool sp_recording_read(const char *path, const struct sp_recording_options *options,
                       struct sp_mend *mend, struct sp_trace_error *error);

#endif
