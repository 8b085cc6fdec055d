#include "simcuda/common/who.h"

#include <inttypes.h>
#include <stdio.h>

#include "simcuda/common/stack.h"
#include "simcuda/common/thread.h"

struct sim_who sim_who_calls(void) {
    return (struct sim_who){.thread = sim_thread_self()->ordinal, .stack = sim_stack_here()};
}

const char *sim_who_stream(const struct sim_who *who, char text[SIM_WHO_LENGTH]) {
    if (who->kind == SIM_WHO_STREAM)
        snprintf(text, SIM_WHO_LENGTH, "stream %" PRIu64, who->number);
    else if (who->kind == SIM_WHO_PER_THREAD)
        snprintf(text, SIM_WHO_LENGTH, "the default stream of thread %" PRIu64, who->number);
    else
        snprintf(text, SIM_WHO_LENGTH, "the default stream");
    return text;
}

const char *sim_who_thread(const struct sim_who *who, char text[SIM_WHO_LENGTH]) {
    char name[SIM_THREAD_NAME];
    if (sim_thread_name(who->thread, name))
        snprintf(text, SIM_WHO_LENGTH, "thread %u, \"%s\"", who->thread, name);
    else
        snprintf(text, SIM_WHO_LENGTH, "thread %u", who->thread);
    return text;
}

const char *sim_who_text(const struct sim_who *who, char text[SIM_WHO_LENGTH]) {
    char stream[SIM_WHO_LENGTH], thread[SIM_WHO_LENGTH];
    sim_who_thread(who, thread);
    if (who->kind == SIM_WHO_HOST)
        snprintf(text, SIM_WHO_LENGTH, "by %.100s", thread);
    else
        snprintf(text, SIM_WHO_LENGTH, "on %.60s (%.50s)", sim_who_stream(who, stream), thread);
    return text;
}
