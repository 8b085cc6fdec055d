// Reads a log of RMM's that need not be whole: a header may be missing, stand once more between the
// lines, name its columns in another order or have further ones, and the first and the last line
// may be cut.
#ifndef STREAMPOOL_CLI_RMMLOG_H
#define STREAMPOOL_CLI_RMMLOG_H

#include "cli/import/mend.h"
#include "cli/trace/source.h"

// Takes the source over. False, with the line and the reason, when the log is not as it should be.
bool sp_rmmlog_read(struct sp_source *source, struct sp_mend *mend, struct sp_trace_error *error);

#endif
