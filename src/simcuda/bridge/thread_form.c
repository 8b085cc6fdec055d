#include "simcuda/bridge/thread_form.h"

#include "simcuda/queue/stream.h"

#define DEFINE(name, symbol, suffix, version, parameters, arguments)                               \
    CUresult symbol##_##suffix parameters {                                                        \
        sim_null_stream_is_own = true;                                                             \
        CUresult result = symbol arguments;                                                        \
        sim_null_stream_is_own = false;                                                            \
        return result;                                                                             \
    }
SIM_THREAD_TABLE(DEFINE)

static const struct sim_entry_info forms[] = {
#define FORM(name, symbol, suffix, version, parameters, arguments)                                 \
    {#name, version, (void (*)(void))symbol##_##suffix},
    SIM_THREAD_TABLE(FORM)};

const struct sim_entry_info *sim_thread_form_find(const char *name, int version) {
    const size_t count = sizeof forms / sizeof forms[0];
    size_t found = sim_entry_find_row(forms, count, name, version);
    return found < count ? &forms[found] : NULL;
}
