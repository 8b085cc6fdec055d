// The command `policies` replays each trace under every combination of the three reuse policies:
// each is the allocator `pool` with these policies set. The combination is the result's variant, in
// which bit i stands for the i-th policy.
#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/output.h"
#include "cli/replay/replay.h"
#include "cli/report/report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

//   X(key in JSON, first line of its title, second line, name in a picture, attribute of the pool)
#define POLICIES(X)                                                                                \
    X(follow_event_dependencies, "follow", "events", "events",                                     \
      poolMemPoolReuseFollowEventDependencies)                                                     \
    X(allow_opportunistic, "oppor-", "tunistic", "opportunistic",                                  \
      poolMemPoolReuseAllowOpportunistic)                                                          \
    X(allow_internal_dependencies, "internal", "waits", "waits",                                   \
      poolMemPoolReuseAllowInternalDependencies)

static const struct policy {
    const char *key, *name;
    enum poolMemPoolAttr attribute;
} policies[] = {
#define POLICY(key, first, second, name, attribute) {#key, name, attribute},
    POLICIES(POLICY)
#undef POLICY
};

enum {
#define INDEX(key, first, second, name, attribute) POLICY_##key,
    POLICIES(INDEX)
#undef INDEX
        POLICY_COUNT,
    COMBINATIONS = 1 << POLICY_COUNT,
};

// ----------------------------------------------------------------------------------- the arguments

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct sp_replay_request *request = state->input;
    switch (key) {
    case 'd':
        request->choice = sp_device_choice_of(argument, state);
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = request;
        state->child_inputs[1] = &request->settings;
        state->child_inputs[2] = &request->plan;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"device", 'd', "sim|gpu|auto", 0,
     "The simulated driver (the default), the real one, or (auto) the real one if it can be used, "
     "else the simulated one",
     0},
    {0},
};

static const struct argp_child children[] = {
    {&sp_replay_outputs_argp, 0, NULL, 0},
    {&sp_settings_argp, 0, "The pool:", 1},
    {&sp_plan_argp, 0, "Work and order in addition to the trace (default: --work 0.9):", 2},
    SP_HELP_CHILD,
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "TRACE...",
    .doc =
        "Replays traces of allocations under all eight combinations of the three reuse policies, "
        "with work after each allocation, and prints the memory and time that each combination "
        "took. docs/stream-order.md explains the figures.\v"
        "On the simulated driver times are virtual: the same trace, options and seed give the same "
        "figures. " SP_REPLAY_STATUSES,
    .children = children,
};

static void add_combination(struct sp_replay_request *request, unsigned combination) {
    struct sp_settings *variant = &request->variants[request->allocators.count];
    for (unsigned i = 0; i < POLICY_COUNT; i++)
        variant->list[i] = (struct sp_setting){policies[i].key, policies[i].attribute, sizeof(int),
                                               combination >> i & 1};
    variant->count = POLICY_COUNT;
    request->allocators.items[request->allocators.count++] = &sp_allocator_pool;
}

// ---------------------------------------------------------------------------------------- the rows

#define TELL(key, first, second, name, attribute)                                                  \
    static double tell_##key(const struct sp_result *result) {                                     \
        return result->variant >> POLICY_##key & 1;                                                \
    }
POLICIES(TELL)
#undef TELL

#define FIELD           SP_ROW_FIELD
#define STATISTIC(name) FIELD(statistics.values[SP_STATISTIC_##name])
#define POLICY_ROW(policy, first, second, name, attribute)                                         \
    {.key = #policy,                                                                               \
     SP_ROW_TITLE(first, second),                                                                  \
     .unit = SP_UNIT_FLAG,                                                                         \
     SP_ROW_FUNCTION(tell_##policy),                                                               \
     .where = SP_IN_TABLE | SP_NAMED},

// clang-format off
static const struct sp_row rows[] = {
    {.key = "trace", SP_ROW_TITLE("", "trace"), FIELD(trace),
     .where = SP_IN_TABLE | SP_NAMED},
    {.key = "device", FIELD(device)},
    POLICIES(POLICY_ROW)
    {.key = "operations", FIELD(operations)},
    {.key = "streams", FIELD(streams)},
    {.key = "errors", SP_ROW_TITLE("", "errors"), FIELD(errors), .least = 1, .where = SP_IN_WIDE},
    {.key = "live_peak_bytes", SP_ROW_TITLE("peak", "live"), SP_ROW_BYTES(live_peak_bytes),
     .where = SP_IN_WIDE},
    {.key = "reserved_peak_bytes", SP_ROW_TITLE("peak", "reserved"),
     SP_ROW_BYTES(reserved_peak_bytes), .where = SP_IN_TABLE},
    {SP_ROW_TITLE("reserved", "/ live"), SP_ROW_RATIO(sp_row_tell_ratio), .where = SP_IN_TABLE},
    {.key = "growths", SP_ROW_TITLE("", "growths"), STATISTIC(Growths), .where = SP_IN_WIDE},
    {.key = "growths_after_trim", SP_ROW_TITLE("growths", "by trim"), STATISTIC(GrowthsAfterTrim),
     .least = 1, .where = SP_IN_WIDE},
    {.key = "reuse_same_stream", SP_ROW_TITLE("taken: same", "stream"), STATISTIC(ReuseSameStream),
     .where = SP_IN_WIDE},
    {.key = "reuse_complete", SP_ROW_TITLE("known", "complete"), STATISTIC(ReuseComplete),
     .where = SP_IN_WIDE},
    {.key = "reuse_ordered", SP_ROW_TITLE("", "ordered"), STATISTIC(ReuseOrdered),
     .where = SP_IN_WIDE},
    {.key = "reuse_found_complete", SP_ROW_TITLE("found", "complete"),
     STATISTIC(ReuseFoundComplete), .where = SP_IN_WIDE},
    {.key = "reuse_made_ordered", SP_ROW_TITLE("made", "ordered"), STATISTIC(ReuseMadeOrdered),
     .where = SP_IN_WIDE},
    {.key = "remaps", SP_ROW_TITLE("", "remaps"), STATISTIC(Remaps), .least = 1,
     .where = SP_IN_WIDE},
    {.key = "other_region", SP_ROW_TITLE("other", "region"), STATISTIC(OtherRegion), .least = 1,
     .where = SP_IN_WIDE},
    {.key = "waits_inserted", SP_ROW_TITLE("waits", "inserted"), STATISTIC(WaitsInserted),
     .where = SP_IN_WIDE},
    {.key = "context_fences", SP_ROW_TITLE("context", "fences"), STATISTIC(ContextFences),
     .least = 1, .where = SP_IN_WIDE},
    {.key = "events_recorded", SP_ROW_TITLE("events", "recorded"), STATISTIC(EventsRecorded),
     .where = SP_IN_WIDE},
    {.key = "host_ns", SP_ROW_TITLE("calls", "total"), SP_ROW_TIME(total_ns), .where = SP_IN_TABLE},
    {.key = "work_ns", SP_ROW_TIME(work_ns)},
    {.key = "end_to_end_ns", SP_ROW_TITLE("end to", "end"), SP_ROW_TIME(end_to_end_ns),
     .where = SP_IN_TABLE},
    {SP_ROW_TITLE("device", "busy"), SP_ROW_RATIO(sp_row_tell_busy), .where = SP_IN_WIDE},
};
// clang-format on

static const struct sp_rows all = SP_ROWS_OF(rows);

// ------------------------------------------------------------------------------------- the results

// Writes the policies of a combination: "events, waits", or their keys.
static void name_policies(unsigned combination, bool by_key, char *text, size_t size) {
    snprintf(text, size, "%s", combination == 0 ? "no policy" : "");
    for (unsigned i = 0; i < POLICY_COUNT; i++)
        if (combination >> i & 1)
            snprintf(text + strlen(text), size - strlen(text), "%s%s", *text ? ", " : "",
                     by_key ? policies[i].key : policies[i].name);
}

static bool print_table(const struct sp_page *page, const struct sp_replay *replay) {
    struct sp_summaries summaries;
    if (!sp_summaries_open(&summaries, replay->results, replay->result_count, NULL))
        return false;
    bool good = sp_report_print(page, &all, &summaries);
    sp_summaries_release(&summaries);
    for (size_t i = 0; i < replay->result_count && good; i++) {
        const struct sp_result *result = &replay->results[i];
        char names[128];
        name_policies(result->variant, true, names, sizeof names);
        if (result->errors > 0)
            sp_page_say(page, "%s, %s: %s (errors in all: %" PRIu64 ")\n", result->trace, names,
                        result->first_error, result->errors);
    }
    return good;
}

static bool fill_object(cJSON *object, const void *items, size_t index) {
    const struct sp_result *result = (const struct sp_result *)items + index;
    size_t row = 0;
    while (row < all.count && sp_row_add(object, &rows[row], result))
        row++;
    return row == all.count;
}

// The picture is that of a replay, with a line for each combination. The legend says what they are
// compared by.
static bool draw(const struct sp_replay *replay) {
    struct sp_replay_plot plot = replay->plot;
    plot.title = "streampool policies";
    plot.compares_use = true;
    for (size_t i = 0; i < plot.count; i++) {
        const struct sp_result *result = &replay->results[i];
        char host[SP_QUANTITY_TEXT], end[SP_QUANTITY_TEXT];
        struct sp_drawn *line = &plot.list[i];
        name_policies(result->variant, false, line->title, sizeof line->title);
        snprintf(line->note, sizeof line->note, ", host %s, end to end %s",
                 sp_time_text((double)result->total_ns, host),
                 sp_time_text((double)result->end_to_end_ns, end));
    }
    return sp_replay_plot_write(replay->request->plot, &plot);
}

static bool print(const struct sp_replay *replay) {
    const struct sp_replay_request *request = replay->request;
    struct sp_page page = {.out = stdout, .wide = request->wide};
    if (replay->unavailable[0][0])
        return sp_complain("%s: %s", replay->traces.list->name, replay->unavailable[0]);
    if (!sp_output_is_standard(request->json) && !sp_output_is_standard(request->plot)) {
        sp_report_device(&page, &replay->device, SP_TIME_OF_VIRTUAL_CLOCK);
        if (!print_table(&page, replay))
            return sp_complain("out of host memory");
        if (!sp_output_flush())
            return false;
    }
    return (!request->json ||
            sp_json_write(request->json, replay->result_count, fill_object, replay->results)) &&
           (!request->plot || draw(replay));
}

int sp_command_policies(int argc, char **argv) {
    struct sp_replay_request request = SP_REPLAY_REQUEST_DEFAULT;
    request.choice = SP_DEVICE_SIM;
    request.plan.work = 0.9;
    request.with_work = request.warms_up = true;
    request.print = print;
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_FAILURE;
    for (unsigned i = 0; i < COMBINATIONS; i++)
        add_combination(&request, i);
    return sp_replay_run(&request);
}
