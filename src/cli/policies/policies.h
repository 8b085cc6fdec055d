// A result of `streampool policies` says how a trace was replayed under one combination of the
// three reuse policies.
#ifndef STREAMPOOL_CLI_POLICIES_H
#define STREAMPOOL_CLI_POLICIES_H

#include "cli/play/player.h"
#include "cli/program/json.h"

#include <stdio.h>

//   X(key in JSON, first line of its title, second line, attribute of the pool)
#define SP_POLICIES(X)                                                                             \
    X(follow_event_dependencies, "follow", "events", poolMemPoolReuseFollowEventDependencies)      \
    X(allow_opportunistic, "oppor-", "tunistic", poolMemPoolReuseAllowOpportunistic)               \
    X(allow_internal_dependencies, "internal", "waits", poolMemPoolReuseAllowInternalDependencies)

// The table has some columns always, and others only where a figure in them is not 0.
enum sp_column_need { SP_COLUMN_ALWAYS, SP_COLUMN_WHERE_ANY };

//   X(key in JSON, first line of its title, second line, attribute of the pool, when the table has
//       it)
// clang-format off
#define SP_POLICY_STATISTICS(X) \
    X(growths, "", "growths", poolMemPoolStatGrowths, SP_COLUMN_ALWAYS) \
    X(growths_after_trim, "growths", "by trim", poolMemPoolStatGrowthsAfterTrim, \
      SP_COLUMN_WHERE_ANY) \
    X(reuse_same_stream, "reuse: same", "stream", poolMemPoolStatReuseSameStream, \
      SP_COLUMN_ALWAYS) \
    X(reuse_complete, "known", "complete", poolMemPoolStatReuseComplete, SP_COLUMN_ALWAYS) \
    X(reuse_ordered, "", "ordered", poolMemPoolStatReuseOrdered, SP_COLUMN_ALWAYS) \
    X(reuse_found_complete, "found", "complete", poolMemPoolStatReuseFoundComplete, \
      SP_COLUMN_ALWAYS) \
    X(reuse_made_ordered, "made", "ordered", poolMemPoolStatReuseMadeOrdered, SP_COLUMN_ALWAYS) \
    X(remaps, "", "remaps", poolMemPoolStatRemaps, SP_COLUMN_WHERE_ANY) \
    X(other_region, "other", "region", poolMemPoolStatOtherRegion, SP_COLUMN_WHERE_ANY) \
    X(waits_inserted, "waits", "inserted", poolMemPoolStatWaitsInserted, SP_COLUMN_ALWAYS) \
    X(context_fences, "context", "fences", poolMemPoolStatContextFences, SP_COLUMN_WHERE_ANY) \
    X(events_recorded, "events", "recorded", poolMemPoolStatEventsRecorded, SP_COLUMN_ALWAYS)
// clang-format on

#define SP_COUNT_ROW(...) +1
enum {
    SP_POLICY_COUNT = 0 SP_POLICIES(SP_COUNT_ROW),
    SP_POLICY_COMBINATIONS = 1 << SP_POLICY_COUNT,
    SP_POLICY_STATISTIC_COUNT = 0 SP_POLICY_STATISTICS(SP_COUNT_ROW),
};
#undef SP_COUNT_ROW

struct sp_policy_result {
    struct sp_result replay;
    unsigned combination; // bit i stands for the i-th policy
    uint64_t statistics[SP_POLICY_STATISTIC_COUNT];
};

// Prints the table, and a line for each combination that had errors. False without host memory.
bool sp_policies_print(FILE *out, const struct sp_policy_result *results, size_t count);

// Writes a picture of the results, which are those of whole traces, to a file as sp_output_write()
// does. There is a series for each. False when that fails; standard error says why.
bool sp_policies_plot(const char *path, const struct sp_device *device,
                      const struct sp_policy_result *results, const struct sp_series *series,
                      size_t count);

// Returns the results as a list for JSON, with an object for each. docs/stream-order.md has the
// keys.
struct sp_json_list sp_policies_list(const struct sp_policy_result *results, size_t count);

#endif
