// The picture of `streampool policies` is that of a replay: a panel for each trace, with a line for
// each combination of policies. The legend says what the combinations are compared by.
#include "cli/policies/policies.h"

#include "cli/program/quantity.h"

#include <string.h>

// "events, waits"
static void name_policies(unsigned combination, char *text, size_t size) {
    static const char *const names[] = {"events", "opportunistic", "waits"};
    _Static_assert(sizeof names / sizeof names[0] == SP_POLICY_COUNT, "a name for each");
    snprintf(text, size, "%s", combination == 0 ? "no policy" : "");
    for (unsigned i = 0; i < SP_POLICY_COUNT; i++)
        if (combination & 1u << i)
            snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? ", " : "", names[i]);
}

bool sp_policies_plot(const char *path, const struct sp_replay_plot *drawn,
                      const struct sp_result *results) {
    struct sp_replay_plot plot = *drawn;
    plot.title = "streampool policies";
    plot.compares_use = true;
    for (size_t i = 0; i < plot.count; i++) {
        char host[SP_QUANTITY_TEXT], end[SP_QUANTITY_TEXT];
        struct sp_drawn *line = &plot.list[i];
        name_policies(results[i].variant, line->title, sizeof line->title);
        snprintf(line->note, sizeof line->note, ", host %s, end to end %s",
                 sp_time_text((double)results[i].total_ns, host),
                 sp_time_text((double)results[i].end_to_end_ns, end));
    }
    return sp_replay_plot_write(path, &plot);
}
