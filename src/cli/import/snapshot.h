// Turns a PyTorch snapshot (torch.cuda.memory._snapshot()) that was read into values into the
// operations of a trace.
#ifndef STREAMPOOL_CLI_SNAPSHOT_H
#define STREAMPOOL_CLI_SNAPSHOT_H

#include "cli/import/mend.h"
#include "cli/import/values.h"

#define SP_SNAPSHOT_ANY_DEVICE UINT64_MAX

struct sp_snapshot_options {
    uint64_t device;  // its number; SP_SNAPSHOT_ANY_DEVICE is the only one with a history
    bool of_segments; // the allocator's requests to the driver, in place of the program's to it
};

// False, with the place in the snapshot and the reason, when anything is not as it should be.
bool sp_snapshot_read(const struct sp_values *values, sp_value root,
                      const struct sp_snapshot_options *options, struct sp_mend *mend,
                      struct sp_trace_error *error);

#endif
