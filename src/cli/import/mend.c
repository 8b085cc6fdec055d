#include "cli/import/mend.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

// The state of a pointer that is freed. Indices are below it.
#define FREED (SP_MAP_NONE - 1)

typedef unsigned long long ull;

__attribute__((format(printf, 2, 3))) static bool fail(struct sp_trace_error *error,
                                                       const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    return false;
}

void sp_mend_release(struct sp_mend *mend) {
    free(mend->older.operations);
    free(mend->rest.operations);
    sp_map_release(&mend->states);
}

bool sp_mend_repair(struct sp_mend *mend, enum sp_mend_repair repair, struct sp_trace_error *error,
                    const char *format, ...) {
    mend->repairs[repair]++;
    if (!mend->is_strict)
        return true;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    return false;
}

static bool push(struct sp_mend_list *list, const struct sp_mend_operation *operation,
                 struct sp_trace_error *error) {
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity + list->capacity / 2 : 1024;
        void *larger = reallocarray(list->operations, capacity, sizeof *list->operations);
        if (!larger)
            return fail(error, "out of host memory");
        list->operations = larger;
        list->capacity = capacity;
    }
    if (list->count == FREED)
        return fail(error, "more than %" PRIu32 " operations", FREED);
    list->operations[list->count++] = *operation;
    return true;
}

static bool set_state(struct sp_mend *mend, uint64_t pointer, uint32_t state,
                      struct sp_trace_error *error) {
    sp_map_remove(&mend->states, pointer);
    return sp_map_insert(&mend->states, pointer, state) || fail(error, "out of host memory");
}

static bool is_free(const struct sp_mend_operation *operation) {
    return operation->action == SP_TRACE_FREE || operation->action == SP_TRACE_FREE_UNORDERED;
}

// As this operation, but an allocation or a free.
static struct sp_mend_operation turned(const struct sp_mend_operation *operation,
                                       enum sp_trace_action action) {
    struct sp_mend_operation other = *operation;
    other.action = action;
    return other;
}

static bool free_lost(struct sp_mend *mend, const struct sp_mend_operation *allocation,
                      uint32_t state, struct sp_trace_error *error) {
    if (!sp_mend_repair(mend, SP_MEND_LOST_FREE, error, "allocation at 0x%llx, which is alive",
                        (ull)allocation->pointer))
        return false;
    struct sp_mend_operation lost = turned(&mend->rest.operations[state], SP_TRACE_FREE);
    lost.time = allocation->time;
    return push(&mend->rest, &lost, error);
}

static bool add_allocation(struct sp_mend *mend, const struct sp_mend_operation *operation,
                           struct sp_trace_error *error) {
    uint32_t state = sp_map_find(&mend->states, operation->pointer);
    bool is_alive = state != SP_MAP_NONE && state != FREED;
    if (is_alive && !free_lost(mend, operation, state, error))
        return false;
    return push(&mend->rest, operation, error) &&
           set_state(mend, operation->pointer, (uint32_t)(mend->rest.count - 1), error);
}

// The allocation that a free needs, which no operation was.
static bool allocate_lost(struct sp_mend *mend, const struct sp_mend_operation *operation,
                          uint32_t state, struct sp_trace_error *error) {
    bool is_older = state == SP_MAP_NONE;
    if (!sp_mend_repair(mend, is_older ? SP_MEND_OLDER : SP_MEND_LOST_ALLOCATION, error,
                        "free of 0x%llx, which is not alive", (ull)operation->pointer))
        return false;
    struct sp_mend_operation lost = turned(operation, SP_TRACE_ALLOCATE);
    return push(is_older ? &mend->older : &mend->rest, &lost, error);
}

static bool add_free(struct sp_mend *mend, const struct sp_mend_operation *operation,
                     struct sp_trace_error *error) {
    struct sp_mend_operation mended = *operation;
    uint32_t state = sp_map_find(&mend->states, operation->pointer);
    if (state == SP_MAP_NONE || state == FREED) {
        if (!allocate_lost(mend, operation, state, error))
            return false;
    } else {
        mended.size = mend->rest.operations[state].size;
    }
    if (mended.size != operation->size &&
        !sp_mend_repair(mend, SP_MEND_SIZE, error,
                        "free of %llu bytes at 0x%llx, allocated with %llu bytes",
                        (ull)operation->size, (ull)operation->pointer, (ull)mended.size))
        return false;
    return push(&mend->rest, &mended, error) && set_state(mend, operation->pointer, FREED, error);
}

bool sp_mend_add(struct sp_mend *mend, const struct sp_mend_operation *operation,
                 struct sp_trace_error *error) {
    bool has_block = operation->pointer != 0;
    if (has_block && operation->action == SP_TRACE_ALLOCATE)
        return add_allocation(mend, operation, error);
    if (has_block && is_free(operation))
        return add_free(mend, operation, error);
    return push(&mend->rest, operation, error);
}

bool sp_mend_add_alive(struct sp_mend *mend, const struct sp_mend_operation *allocation,
                       struct sp_trace_error *error) {
    uint32_t state = sp_map_find(&mend->states, allocation->pointer);
    if (state == FREED)
        return sp_mend_repair(mend, SP_MEND_CONTRADICTION, error,
                              "the block at 0x%llx is active, though the trace freed it",
                              (ull)allocation->pointer);
    if (state != SP_MAP_NONE)
        return true;
    return sp_mend_repair(mend, SP_MEND_OLDER, error,
                          "the block at 0x%llx is active, and the trace does not allocate it",
                          (ull)allocation->pointer) &&
           push(&mend->older, allocation, error) &&
           set_state(mend, allocation->pointer, FREED, error);
}

// ----------------------------------------------------------------------------------------- the end

static bool count_live(const struct sp_mend_list *list, uint64_t *live,
                       struct sp_trace_error *error) {
    for (size_t i = 0; i < list->count; i++) {
        const struct sp_mend_operation *operation = &list->operations[i];
        if (is_free(operation))
            *live -= operation->size;
        else if (operation->action == SP_TRACE_ALLOCATE &&
                 __builtin_add_overflow(*live, operation->size, live))
            return fail(error, "more than 2^64 bytes are alive");
    }
    return true;
}

bool sp_mend_finish(const struct sp_mend *mend, struct sp_trace_error *error) {
    uint64_t live = 0;
    if (mend->older.count + mend->rest.count == 0)
        return fail(error, "there is no operation in it");
    return count_live(&mend->older, &live, error) && count_live(&mend->rest, &live, error);
}

void sp_mend_print(FILE *out, const char *path, const struct sp_mend *mend) {
    static const char *const words[SP_MEND_REPAIR_COUNT][2] = {
#define REPAIR_ROW(name, singular, plural) {singular, plural},
        SP_MEND_REPAIRS(REPAIR_ROW)
#undef REPAIR_ROW
    };
    const char *separator = ": ";
    for (size_t i = 0; i < SP_MEND_REPAIR_COUNT; i++) {
        if (mend->repairs[i] == 0)
            continue;
        if (separator[0] == ':')
            fputs(path, out);
        fprintf(out, "%s%" PRIu64 " %s", separator, mend->repairs[i],
                words[i][mend->repairs[i] > 1]);
        separator = ", ";
    }
    if (separator[0] == ',')
        fputc('\n', out);
}
