// The command `policies` replays each trace under every combination of the reuse policies: each is
// the allocator `pool` with these policies set.
#include "cli/policies/policies.h"

#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/output.h"
#include "cli/report/report.h"

#include <stdlib.h>

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
    static const struct sp_setting policies[] = {
#define POLICY(key, first, second, attribute) {#key, attribute, sizeof(int), 0},
        SP_POLICIES(POLICY)
#undef POLICY
    };
    struct sp_settings *variant = &request->variants[request->allocators.count];
    for (unsigned i = 0; i < SP_POLICY_COUNT; i++) {
        variant->list[i] = policies[i];
        variant->list[i].value = combination & 1u << i ? 1 : 0;
    }
    variant->count = SP_POLICY_COUNT;
    request->allocators.items[request->allocators.count++] = &sp_allocator_pool;
}

// ------------------------------------------------------------------------------------- the results

static bool print(const struct sp_replay *replay) {
    const struct sp_replay_request *request = replay->request;
    struct sp_page page = {.out = stdout, .wide = request->wide};
    if (replay->unavailable[0][0])
        return sp_complain("%s: %s", replay->traces.list->name, replay->unavailable[0]);
    if (!sp_output_is_standard(request->json) && !sp_output_is_standard(request->plot)) {
        sp_report_device(&page, &replay->device, SP_TIME_OF_VIRTUAL_CLOCK);
        if (!sp_policies_print(&page, replay->results, replay->result_count))
            return sp_complain("out of host memory");
        if (!sp_output_flush())
            return false;
    }
    struct sp_json_list list = sp_policies_list(replay->results, replay->result_count);
    return (!request->json || sp_json_write(request->json, &list)) &&
           (!request->plot || sp_policies_plot(request->plot, &replay->plot, replay->results));
}

int sp_command_policies(int argc, char **argv) {
    struct sp_replay_request request = SP_REPLAY_REQUEST_DEFAULT;
    request.choice = SP_DEVICE_SIM;
    request.plan.work = 0.9;
    request.with_work = request.warms_up = true;
    request.print = print;
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_FAILURE;
    for (unsigned i = 0; i < SP_POLICY_COMBINATIONS; i++)
        add_combination(&request, i);
    return sp_replay_run(&request);
}
