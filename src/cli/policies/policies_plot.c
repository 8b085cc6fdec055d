// The picture of `streampool policies`: a panel for each trace, with a line for each combination of
// policies. The legend says what the combinations are compared by.
#include "cli/policies/policies.h"

#include "cli/plot/memory.h"
#include "cli/program/quantity.h"

#include <string.h>

// "events, waits"
static void name_policies(unsigned combination, char text[SP_QUANTITY_TEXT]) {
    static const char *const names[] = {"events", "opportunistic", "waits"};
    _Static_assert(sizeof names / sizeof names[0] == SP_POLICY_COUNT, "a name for each");
    snprintf(text, SP_QUANTITY_TEXT, "%s", combination == 0 ? "none" : "");
    for (unsigned i = 0; i < SP_POLICY_COUNT; i++)
        if (combination & 1u << i)
            snprintf(text + strlen(text), SP_QUANTITY_TEXT - strlen(text), "%s%s",
                     *text ? ", " : "", names[i]);
}

static void draw_trace(struct sp_plot *plot, const struct sp_policy_result *results,
                       const struct sp_drawn *drawn) {
    struct sp_holder holders[SP_POLICY_COMBINATIONS];
    char names[SP_POLICY_COMBINATIONS][2][SP_QUANTITY_TEXT];
    char notes[SP_POLICY_COMBINATIONS][3 * SP_QUANTITY_TEXT];
    for (unsigned i = 0; i < SP_POLICY_COMBINATIONS; i++) {
        const struct sp_result *result = &results[i].replay;
        char host[SP_QUANTITY_TEXT], end[SP_QUANTITY_TEXT];
        snprintf(names[i][0], SP_QUANTITY_TEXT, "%u", results[i].combination);
        name_policies(results[i].combination, names[i][1]);
        snprintf(notes[i], sizeof notes[i], ", host %s, end to end %s",
                 sp_time_text((double)result->total_ns, host),
                 sp_time_text((double)result->end_to_end_ns, end));
        holders[i] = (struct sp_holder){names[i][0],
                                        names[i][1],
                                        notes[i],
                                        &drawn[i].series,
                                        result->reserved_peak_bytes,
                                        result->errors,
                                        i};
    }
    sp_svg_begin_group(&plot->svg, NULL, "trace", results->replay.trace, SP_SVG_END);
    sp_plot_text(plot, "heading", results->replay.trace);
    sp_memory_legend(plot, holders, SP_POLICY_COMBINATIONS);
    sp_memory_panel(plot, holders, SP_POLICY_COMBINATIONS);
    sp_svg_end_group(&plot->svg);
    sp_svg_end_group(&plot->svg);
}

bool sp_policies_plot(const char *path, const struct sp_device *device,
                      const struct sp_policy_result *results, const struct sp_drawn *drawn,
                      size_t count) {
    struct sp_plot plot;
    char version[SP_VERSION_TEXT], second[512];
    snprintf(second, sizeof second,
             "%s, CUDA %s. Policies that are on: FollowEventDependencies (events), "
             "AllowOpportunistic, AllowInternalDependencies (waits).",
             device->name, sp_version_text(device->driver->version, version));
    if (!sp_plot_begin(&plot, path, SP_SERIES_COLUMNS, "streampool policies", second))
        return false;
    for (size_t i = 0; i < count; i += SP_POLICY_COMBINATIONS)
        draw_trace(&plot, &results[i], &drawn[i]);
    return sp_plot_end(&plot);
}
