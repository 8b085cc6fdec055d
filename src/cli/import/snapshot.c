// A snapshot is a dictionary. Under device_traces it has a list for each device, whose entries are
// what happened, the oldest first. A ring buffer holds them, so the beginning may be lost. Under
// segments stands what there was at the end: the memory that PyTorch had of the driver, and the
// blocks in it.
#include "cli/import/snapshot.h"

#include <stdarg.h>
#include <string.h>

typedef unsigned long long ull;

struct reader {
    const struct sp_values *values;
    const struct sp_snapshot_options *options;
    struct sp_mend *mend;
    struct sp_trace_error *error;
    const char *list; // the entry that is being read is number `index` of this list
    uint64_t device;
    size_t index;
    size_t blocks; // how many were looked at
};

__attribute__((format(printf, 2, 3))) static bool fail(struct reader *reader, const char *format,
                                                       ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reader->error->reason, sizeof reader->error->reason, format, arguments);
    va_end(arguments);
    return false;
}

// Puts the place before the reason. Returns false.
static bool fail_at_entry(struct reader *reader) {
    struct sp_trace_error inner = *reader->error;
    if (strcmp(reader->list, sp_words_text(SP_WORD_SEGMENTS)) == 0)
        return fail(reader, "%s[%zu]: %s", reader->list, reader->index, inner.reason);
    return fail(reader, "%s[%llu][%zu]: %s", reader->list, (ull)reader->device, reader->index,
                inner.reason);
}

static bool has_number(struct reader *reader, sp_value dictionary, enum sp_word key,
                       uint64_t *number) {
    sp_value value = sp_values_find(reader->values, dictionary, key);
    if (sp_values_number_of(reader->values, value, number))
        return true;
    if (sp_values_kind_of(value) == SP_VALUE_ABSENT)
        return fail(reader, "it has no '%s'", sp_words_text(key));
    return fail(reader, "its '%s' is no whole number from 0 to 2^64 - 1", sp_words_text(key));
}

static bool has_address(struct reader *reader, sp_value dictionary, enum sp_word key,
                        uint64_t *address) {
    return has_number(reader, dictionary, key, address) &&
           (*address != 0 || fail(reader, "its '%s' is 0", sp_words_text(key)));
}

static bool is_dictionary(struct reader *reader, sp_value value) {
    return sp_values_kind_of(value) == SP_VALUE_DICTIONARY || fail(reader, "it is no dictionary");
}

// ------------------------------------------------------------------------------------- the entries

enum meaning { NOTHING, ALLOCATION, FREE, FAILURE, PART };

static const struct {
    enum sp_word action;
    enum meaning of_program;
    enum meaning of_segments;
} actions[] = {
    {SP_WORD_ALLOC, ALLOCATION, NOTHING},
    {SP_WORD_FREE_REQUESTED, FREE, NOTHING},
    {SP_WORD_FREE_COMPLETED, NOTHING, NOTHING},
    {SP_WORD_SEGMENT_ALLOC, NOTHING, ALLOCATION},
    {SP_WORD_SEGMENT_FREE, NOTHING, FREE},
    {SP_WORD_SEGMENT_MAP, NOTHING, PART},
    {SP_WORD_SEGMENT_UNMAP, NOTHING, PART},
    {SP_WORD_SNAPSHOT, NOTHING, NOTHING},
    {SP_WORD_OOM, FAILURE, NOTHING},
};

static bool refuse_part(struct reader *reader) {
    return fail(reader, "expandable segments are mapped in parts, which are no allocations");
}

static bool find_meaning(struct reader *reader, sp_value entry, enum meaning *meaning) {
    sp_value value = sp_values_find(reader->values, entry, SP_WORD_ACTION);
    if (sp_values_kind_of(value) == SP_VALUE_ABSENT)
        return fail(reader, "it has no 'action'");
    *meaning = NOTHING;
    enum sp_word word = sp_values_word_of(value);
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (actions[i].action != word)
            continue;
        *meaning = reader->options->of_segments ? actions[i].of_segments : actions[i].of_program;
        return *meaning != PART || refuse_part(reader);
    }
    return sp_mend_repair(reader->mend, SP_MEND_UNKNOWN_ACTION, reader->error,
                          "its 'action' is unknown");
}

// A request that failed has no address: in its place stands how much memory was free. Older
// versions note no times.
static bool read_operation(struct reader *reader, sp_value entry, enum meaning meaning,
                           struct sp_mend_operation *operation) {
    static const enum sp_trace_action of[] = {
        [ALLOCATION] = SP_TRACE_ALLOCATE, [FREE] = SP_TRACE_FREE, [FAILURE] = SP_TRACE_FAILURE};
    *operation = (struct sp_mend_operation){.action = of[meaning]};
    sp_value time = sp_values_find(reader->values, entry, SP_WORD_TIME_US);
    return (meaning == FAILURE || has_address(reader, entry, SP_WORD_ADDR, &operation->pointer)) &&
           has_number(reader, entry, SP_WORD_SIZE, &operation->size) &&
           has_number(reader, entry, SP_WORD_STREAM, &operation->stream) &&
           (sp_values_kind_of(time) == SP_VALUE_ABSENT ||
            has_number(reader, entry, SP_WORD_TIME_US, &operation->time));
}

static bool read_entry(struct reader *reader, sp_value entry) {
    enum meaning meaning = NOTHING;
    struct sp_mend_operation operation;
    if (!is_dictionary(reader, entry) || !find_meaning(reader, entry, &meaning))
        return false;
    return meaning == NOTHING || (read_operation(reader, entry, meaning, &operation) &&
                                  sp_mend_add(reader->mend, &operation, reader->error));
}

static bool read_history(struct reader *reader, sp_value history) {
    struct sp_values_position position = {.begun = false};
    sp_value entry;
    reader->list = sp_words_text(SP_WORD_DEVICE_TRACES);
    if (sp_values_length(reader->values, history) > reader->values->dictionaries.count)
        return fail(reader, "the history of device %llu has one entry many times",
                    (ull)reader->device);
    for (reader->index = 0; sp_values_next(reader->values, history, &position, &entry);
         reader->index++)
        if (!read_entry(reader, entry))
            return fail_at_entry(reader);
    return true;
}

// ------------------------------------------------------------------------------------ the segments

// Blocks lie side by side in their segment. Older versions give them no address, or rounded sizes
// only.
static bool read_block(struct reader *reader, sp_value block, uint64_t stream, uint64_t *address) {
    uint64_t size, requested;
    if (!is_dictionary(reader, block) || !has_number(reader, block, SP_WORD_SIZE, &size))
        return false;
    sp_values_number_of(reader->values, sp_values_find(reader->values, block, SP_WORD_ADDRESS),
                        address);
    sp_value exact = sp_values_find(reader->values, block, SP_WORD_REQUESTED_SIZE);
    if (!sp_values_number_of(reader->values, exact, &requested))
        requested = size;
    struct sp_mend_operation allocation = {SP_TRACE_ALLOCATE, 0, 0, *address, requested, stream};
    bool overflows = __builtin_add_overflow(*address, size, address);
    if (allocation.pointer == 0 || overflows)
        return fail(reader, "a block of it lies nowhere");
    sp_value state = sp_values_find(reader->values, block, SP_WORD_STATE);
    return sp_values_word_of(state) != SP_WORD_ACTIVE_ALLOCATED ||
           sp_mend_add_alive(reader->mend, &allocation, reader->error);
}

// A hostile file may name a list of many blocks in many segments, so that looking at them takes for
// ever. In any other, each block is a dictionary of its own.
static bool read_blocks(struct reader *reader, sp_value segment, uint64_t address,
                        uint64_t stream) {
    struct sp_values_position position = {.begun = false};
    sp_value blocks = sp_values_find(reader->values, segment, SP_WORD_BLOCKS), block;
    if (sp_values_kind_of(blocks) != SP_VALUE_LIST)
        return fail(reader, "it has no list 'blocks'");
    reader->blocks += sp_values_length(reader->values, blocks);
    if (reader->blocks > reader->values->dictionaries.count)
        return fail(reader, "its blocks are those of others, too");
    while (sp_values_next(reader->values, blocks, &position, &block))
        if (!read_block(reader, block, stream, &address))
            return false;
    return true;
}

static bool read_whole_segment(struct reader *reader, sp_value segment, uint64_t address,
                               uint64_t stream) {
    uint64_t size, is_expandable;
    sp_value flag = sp_values_find(reader->values, segment, SP_WORD_IS_EXPANDABLE);
    if (sp_values_number_of(reader->values, flag, &is_expandable) && is_expandable)
        return refuse_part(reader);
    if (!has_number(reader, segment, SP_WORD_TOTAL_SIZE, &size))
        return false;
    struct sp_mend_operation allocation = {SP_TRACE_ALLOCATE, 0, 0, address, size, stream};
    return sp_mend_add_alive(reader->mend, &allocation, reader->error);
}

static bool read_segment(struct reader *reader, sp_value segment) {
    uint64_t device, address, stream;
    if (!is_dictionary(reader, segment) || !has_number(reader, segment, SP_WORD_DEVICE, &device))
        return false;
    if (device != reader->device)
        return true;
    if (!has_address(reader, segment, SP_WORD_ADDRESS, &address) ||
        !has_number(reader, segment, SP_WORD_STREAM, &stream))
        return false;
    return reader->options->of_segments ? read_whole_segment(reader, segment, address, stream)
                                        : read_blocks(reader, segment, address, stream);
}

static bool read_segments(struct reader *reader, sp_value segments) {
    struct sp_values_position position = {.begun = false};
    sp_value segment;
    reader->list = sp_words_text(SP_WORD_SEGMENTS);
    if (sp_values_kind_of(segments) != SP_VALUE_LIST)
        return fail(reader, "there is no list 'segments' in it: is it a snapshot of PyTorch's?");
    for (reader->index = 0; sp_values_next(reader->values, segments, &position, &segment);
         reader->index++)
        if (!read_segment(reader, segment))
            return fail_at_entry(reader);
    return true;
}

// -------------------------------------------------------------------------------------- the device

static bool fail_with_choice(struct reader *reader, sp_value histories) {
    struct sp_values_position position = {.begun = false};
    sp_value history;
    char choices[128] = "";
    size_t used = 0;
    for (uint64_t i = 0; sp_values_next(reader->values, histories, &position, &history); i++)
        if (sp_values_length(reader->values, history) > 0 && used + 24 < sizeof choices)
            used += (size_t)snprintf(choices + used, sizeof choices - used, "%s%llu",
                                     used ? ", " : "", (ull)i);
    return fail(reader, "several devices have a history, choose by --device-index: %s", choices);
}

// Finds the history of the device that was asked for, or else of the only one that has any.
static bool find_history(struct reader *reader, sp_value histories, sp_value *found) {
    struct sp_values_position position = {.begun = false};
    sp_value history;
    uint64_t wanted = reader->options->device;
    size_t matching = 0;
    for (uint64_t i = 0; sp_values_next(reader->values, histories, &position, &history); i++) {
        bool matches = wanted == SP_SNAPSHOT_ANY_DEVICE
                           ? sp_values_length(reader->values, history) > 0
                           : wanted == i;
        if (!matches)
            continue;
        matching++;
        *found = history;
        reader->device = i;
    }
    if (matching > 1)
        return fail_with_choice(reader, histories);
    if (matching == 1 && sp_values_length(reader->values, *found) > 0)
        return true;
    if (wanted == SP_SNAPSHOT_ANY_DEVICE)
        return fail(reader,
                    "no device has a history: was it recorded? "
                    "(torch.cuda.memory._record_memory_history())");
    return fail(reader, "device %llu has no history", (ull)wanted);
}

bool sp_snapshot_read(const struct sp_values *values, sp_value root,
                      const struct sp_snapshot_options *options, struct sp_mend *mend,
                      struct sp_trace_error *error) {
    struct reader reader = {.values = values, .options = options, .mend = mend, .error = error};
    sp_value histories = sp_values_find(values, root, SP_WORD_DEVICE_TRACES);
    sp_value history = sp_values_simple(SP_VALUE_ABSENT);
    if (sp_values_kind_of(histories) != SP_VALUE_LIST)
        return fail(&reader,
                    "there is no list 'device_traces' in it: is it a snapshot of PyTorch's?");
    return find_history(&reader, histories, &history) && read_history(&reader, history) &&
           read_segments(&reader, sp_values_find(values, root, SP_WORD_SEGMENTS));
}
