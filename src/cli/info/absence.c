#include "cli/info/absence.h"

#include <string.h>

#define NO_DEFAULT_POOL "the device's default pool of CUDA's own can't be compared with"
#define NO_CUDA_POOL    "replay --allocator driver is not possible"

// A driver that lacks what the library requires isn't loaded, so nothing of that stands here.
static const struct absence {
    const char *begin; // of the entry point's name
    const char *meaning;
} absences[] = {
    {"cuStreamGetId",
     "a new stream at a destroyed one's handle can't be told apart, so every free "
     "records an event"},
    {"cuCtxGetId", "a context is known by pinned host memory, which its first call may wait for"},
    {"cuCtxRecordEvent", "short of memory, the frees of a context can't be fenced by one event"},
    {"cuMemFreeAsync", "poolFreeAsync takes no memory of CUDA's own, and " NO_CUDA_POOL},
    {"cuMemAllocAsync", NO_DEFAULT_POOL},
    {"cuDeviceGetDefaultMemPool", NO_DEFAULT_POOL},
    {"cuMemAllocFromPoolAsync", NO_CUDA_POOL},
    {"cuMemPool", NO_CUDA_POOL},
};

bool sp_entry_is_missing(const struct sp_driver *driver, const struct sp_driver_entry *entry) {
    void *function;
    memcpy(&function, (const char *)driver + entry->offset, sizeof function);
    return !function;
}

const char *sp_need_name(enum sp_need need) {
    static const char *const names[] = {[SP_NEED_REQUIRED] = "required",
                                        [SP_NEED_OPTIONAL] = "optional",
                                        [SP_NEED_CLIENT] = "client"};
    return names[need];
}

const char *sp_absence_meaning(const struct sp_driver_entry *entry) {
    for (size_t i = 0; i < sizeof absences / sizeof absences[0]; i++)
        if (strncmp(absences[i].begin, entry->name, strlen(absences[i].begin)) == 0)
            return absences[i].meaning;
    return entry->need == SP_NEED_CLIENT
               ? "the library doesn't need it; commands, tests and benches that do can't run"
               : "the library works, but not as well";
}
