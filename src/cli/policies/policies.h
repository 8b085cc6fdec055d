// A result of `streampool policies` says how a trace was replayed under one combination of the
// three reuse policies. It is that of a variant of the pool: bit i of its number stands for the
// i-th policy.
#ifndef STREAMPOOL_CLI_POLICIES_H
#define STREAMPOOL_CLI_POLICIES_H

#include "cli/program/json.h"
#include "cli/program/page.h"
#include "cli/replay/replay.h"

//   X(key in JSON, first line of its title, second line, attribute of the pool)
#define SP_POLICIES(X)                                                                             \
    X(follow_event_dependencies, "follow", "events", poolMemPoolReuseFollowEventDependencies)      \
    X(allow_opportunistic, "oppor-", "tunistic", poolMemPoolReuseAllowOpportunistic)               \
    X(allow_internal_dependencies, "internal", "waits", poolMemPoolReuseAllowInternalDependencies)

#define SP_COUNT_ROW(...) +1
enum {
    SP_POLICY_COUNT = 0 SP_POLICIES(SP_COUNT_ROW),
    SP_POLICY_COMBINATIONS = 1 << SP_POLICY_COUNT,
};
#undef SP_COUNT_ROW

// Prints the table, and a line for each combination that had errors. False without host memory.
bool sp_policies_print(const struct sp_page *page, const struct sp_result *results, size_t count);

// Writes a picture of the results, which are those of what is drawn, to a file as sp_output_write()
// does. False when that fails; standard error says why.
bool sp_policies_plot(const char *path, const struct sp_replay_plot *drawn,
                      const struct sp_result *results);

// Returns the results as a list for JSON, with an object for each. docs/stream-order.md has the
// keys.
struct sp_json_list sp_policies_list(const struct sp_result *results, size_t count);

#endif
