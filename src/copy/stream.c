#include "copy/stream.h"

#define DRIVER(call, ...) sp_outcome_of_driver(sp_driver->call(__VA_ARGS__), #call)

struct sp_outcome sp_stream_await(CUstream stream) {
    CUevent event = NULL;
    struct sp_outcome outcome = DRIVER(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
    if (sp_is_done(outcome))
        outcome = DRIVER(cuEventRecord, event, stream);
    if (sp_is_done(outcome))
        outcome = DRIVER(cuEventSynchronize, event);
    if (event)
        sp_driver->cuEventDestroy(event);
    return outcome;
}
