#include "cli/info/absence.h"

#include <string.h>

//   X(entry point, what its absence means)
// clang-format off
#define ABSENCES(X) \
    X(cuStreamGetId, \
      "a new stream at a destroyed one's handle can't be told apart, " \
      "so every free records an event") \
    X(cuCtxGetId, "a context is known by pinned host memory, which its first call may wait for") \
    X(cuCtxRecordEvent, "short of memory, the frees of a context can't be fenced by one event") \
    X(cuMemAlloc, "replay --allocator direct is not possible") \
    X(cuMemFree, "replay --allocator direct is not possible") \
    X(cuMemAllocAsync, "the device's default pool of CUDA's own can't be compared with") \
    X(cuDeviceGetDefaultMemPool, "the device's default pool of CUDA's own can't be compared with") \
    X(cuMemAllocFromPoolAsync, "replay --allocator driver is not possible") \
    X(cuMemFreeAsync, "replay --allocator driver is not possible") \
    X(cuMemPoolCreate, "replay --allocator driver is not possible") \
    X(cuMemPoolDestroy, "replay --allocator driver is not possible") \
    X(cuMemPoolSetAttribute, "replay --allocator driver is not possible") \
    X(cuMemPoolGetAttribute, "replay --allocator driver is not possible") \
    X(cuMemPoolTrimTo, "replay --allocator driver is not possible")
// clang-format on

static const char *const need_names[] = {
    [SP_NEED_REQUIRED] = "required",
    [SP_NEED_OPTIONAL] = "optional",
    [SP_NEED_CLIENT] = "client",
};

static const char *const general_meanings[] = {
    [SP_NEED_REQUIRED] = "the library can't work",
    [SP_NEED_OPTIONAL] = "the library works, but not as well",
    [SP_NEED_CLIENT] = "the library doesn't need it; tests and benches that do are skipped",
};

bool sp_entry_is_missing(const struct sp_driver *driver, const struct sp_driver_entry *entry) {
    void *function;
    memcpy(&function, (const char *)driver + entry->offset, sizeof function);
    return !function;
}

const char *sp_need_name(enum sp_need need) {
    return need_names[need];
}

const char *sp_absence_meaning(const struct sp_driver_entry *entry) {
    static const struct {
        const char *name;
        const char *meaning;
    } absences[] = {
#define ABSENCE_ROW(name, meaning) {#name, meaning},
        ABSENCES(ABSENCE_ROW)
#undef ABSENCE_ROW
    };
    for (size_t i = 0; i < sizeof absences / sizeof absences[0]; i++)
        if (strcmp(absences[i].name, entry->name) == 0)
            return absences[i].meaning;
    return general_meanings[entry->need];
}
