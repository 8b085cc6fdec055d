#include "cli/report/report.h"

#include <stdlib.h>
#include <streampool/lists.h>

static const struct {
    const char *name;
    const char *words;
} causes[] = {
#define CAUSE(name, words) [name] = {&#name[sizeof "poolGrowthCause" - 1], words},
    STREAMPOOL_GROWTH_CAUSES(CAUSE)
#undef CAUSE
};

enum { CAUSE_COUNT = sizeof causes / sizeof causes[0] };

const char *sp_growth_words(size_t cause) {
    return cause < CAUSE_COUNT ? causes[cause].words : NULL;
}

// ---------------------------------------------------------------------------------------- by cause

struct sum {
    uint64_t growths, mapped;
};

static const struct sp_growth *growth_at(const struct sp_result *result, size_t index) {
    return &result->growths->list[result->first_growth + index];
}

// Adds up the growths of all starts by their cause, and behind them all.
static void add_up(const struct sp_summary *summary, struct sum sums[CAUSE_COUNT + 1]) {
    for (size_t start = 0; start < summary->start_count; start++) {
        const struct sp_result *result = summary->starts[start];
        for (size_t i = 0; i < result->growth_count; i++) {
            const struct poolMemPoolGrowth *told = &growth_at(result, i)->told;
            const size_t places[] = {told->cause, CAUSE_COUNT};
            for (size_t place = 0; place < 2; place++) {
                sums[places[place]].growths++;
                sums[places[place]].mapped += told->mapped;
            }
        }
    }
}

static void fill_row(const struct sp_table *table, size_t row, const char *before,
                     const char *words, const struct sum *sum, size_t starts) {
    snprintf(sp_table_cell(table, row, 0), SP_CELL_TEXT, "%s%s", before, words);
    sp_cell_quantity(sp_table_cell(table, row, 1), SP_UNIT_COUNT,
                     (double)sum->growths / (double)starts);
    sp_cell_quantity(sp_table_cell(table, row, 2), SP_UNIT_BYTES,
                     (double)sum->mapped / (double)starts);
}

// The causes that mapped most come first; those of no growth are left out.
static void fill(const struct sp_table *table, size_t rows, struct sum sums[CAUSE_COUNT + 1],
                 size_t starts) {
    static const char *const titles[][2] = {{"", "cause"}, {"", "growths"}, {"", "mapped"}};
    for (size_t column = 0; column < 3; column++)
        sp_table_title(table, column, titles[column]);
    for (size_t row = 0; row + 1 < rows; row++) {
        size_t cause = 0;
        for (size_t i = 1; i < CAUSE_COUNT; i++)
            cause = sums[i].mapped > sums[cause].mapped ? i : cause;
        fill_row(table, row, cause == poolGrowthCauseNeed ? "" : "what is free is ",
                 causes[cause].words, &sums[cause], starts);
        sums[cause].mapped = 0;
    }
    fill_row(table, rows - 1, "", "all", &sums[CAUSE_COUNT], starts);
}

static bool print_causes(const struct sp_page *page, const struct sp_summary *summary) {
    const struct sp_result *first = sp_summary_first(summary);
    struct sum sums[CAUSE_COUNT + 1] = {{0}};
    struct sp_table table;
    add_up(summary, sums);
    if (sums[CAUSE_COUNT].growths == 0)
        return true;
    size_t rows = 1;
    for (size_t i = 0; i < CAUSE_COUNT; i++)
        rows += sums[i].growths > 0;
    if (!sp_table_open(&table, 3, 1, rows))
        return false;
    fill(&table, rows, sums, summary->start_count);
    sp_page_say(page, "\n%s, %s, pass %u: growths that raised the peak%s\n", first->trace,
                sp_allocator_title(first->allocator), first->pass,
                summary->start_count > 1 ? ", for each start" : "");
    sp_table_print(&table, page);
    sp_table_release(&table);
    return true;
}

// ------------------------------------------------------------------------------------------- lines

// False without host memory.
static bool print_line(const struct sp_page *page, const struct sp_growth *growth,
                       bool with_start) {
    char *text = NULL, start[32] = "";
    size_t length;
    FILE *line = open_memstream(&text, &length);
    bool good = line && poolMemPoolPrintGrowth(&growth->told, line) == poolSuccess;
    if (line && fclose(line) != 0)
        good = false;
    if (with_start)
        snprintf(start, sizeof start, "start %u, ", growth->start);
    if (good)
        sp_page_say(page, "%s, %s, %spass %u, operation %zu: %s", growth->trace,
                    sp_allocator_title(growth->allocator), start, growth->pass,
                    growth->operation + 1, text);
    free(text);
    return good;
}

bool sp_growths_report_print(const struct sp_page *page, const struct sp_growths *growths,
                             const struct sp_summaries *summaries) {
    bool several_starts = summaries->count > 0 && summaries->list[0].start_count > 1;
    for (size_t i = 0; i < summaries->count; i++)
        if (sp_summary_first(&summaries->list[i])->growths &&
            !print_causes(page, &summaries->list[i]))
            return false;
    if (growths->count > 0)
        fputc('\n', page->out);
    for (size_t i = 0; i < growths->count; i++)
        if (!print_line(page, &growths->list[i], several_starts))
            return false;
    return true;
}

// -------------------------------------------------------------------------------------------- JSON

//   X(key, bytes or count of the growth t), in the order of JSON
#define KEYS(X)                                                                                    \
    X("wanted_bytes", t->wanted)                                                                   \
    X("from_free_bytes", t->fromFree)                                                              \
    X("mapped_bytes", t->mapped)                                                                   \
    X("extents", t->extents)                                                                       \
    X("reserved_before_bytes", t->reservedBefore)                                                  \
    X("used_bytes", t->used)                                                                       \
    X("free_whole_bytes", t->freeWhole)                                                            \
    X("free_pinned_bytes", t->freePinned)                                                          \
    X("free_beside_pending_bytes", t->freeBesidePending)                                           \
    X("pending_whole_bytes", t->pendingWhole)                                                      \
    X("pending_pinned_bytes", t->pendingPinned)                                                    \
    X("unfenced_whole_bytes", t->unfencedWhole)                                                    \
    X("unfenced_pinned_bytes", t->unfencedPinned)                                                  \
    X("listed_free_bytes", t->listedFree)                                                          \
    X("listed_pending_bytes", t->listedPending)                                                    \
    X("other_kinds_bytes", t->otherKinds)                                                          \
    X("slack_bytes", t->slack)                                                                     \
    X("largest_piece_bytes", t->largestPiece)                                                      \
    X("remap_extents", t->remapExtents)                                                            \
    X("remap_missing_bytes", t->remapMissing)                                                      \
    X("pinning_blocks", t->pinningBlocks)                                                          \
    X("pinning_bytes", t->pinningBytes)                                                            \
    X("largest_pinning_bytes", t->largestPinning)

#define FLAGS(X)                                                                                   \
    X("asked_driver", t->askedDriver)                                                              \
    X("may_wait", t->mayWait)                                                                      \
    X("cut_short", t->cutShort)                                                                    \
    X("after_trim", t->afterTrim)                                                                  \
    X("after_waits", t->afterWaits)

static bool add_growth(cJSON *list, const struct sp_growth *growth) {
    static const char *const kinds[] = {
        [poolGrowthLarge] = "large", [poolGrowthPages] = "pages", [poolGrowthFixed] = "fixed"};
    static const char *const remaps[] = {
        [poolGrowthRemapUsed] = "used",           [poolGrowthRemapWrongKind] = "wrong kind",
        [poolGrowthRemapForbidden] = "forbidden", [poolGrowthRemapFilling] = "filling",
        [poolGrowthRemapNoPieces] = "no pieces",  [poolGrowthRemapSavesLittle] = "saves little",
        [poolGrowthRemapTooLong] = "too long",    [poolGrowthRemapFailed] = "failed",
    };
    const struct poolMemPoolGrowth *t = &growth->told;
    cJSON *object = sp_json_add_object(list);
    return object && sp_json_add_count(object, "operation", growth->operation + 1) &&
           sp_json_add_count(object, "stream", t->streamId) &&
           sp_json_add_text(object, "cause", causes[t->cause].name) &&
           sp_json_add_text(object, "kind", kinds[t->kind]) &&
           sp_json_add_text(object, "remap", remaps[t->remap])
#define ADD(key, value) &&sp_json_add_count(object, key, value)
               KEYS(ADD)
#undef ADD
#define ADD(key, value) &&sp_json_add_flag(object, key, value)
                   FLAGS(ADD)
#undef ADD
        ;
}

bool sp_growths_report_add(cJSON *object, const struct sp_result *result) {
    if (!result->growths)
        return true;
    cJSON *list = cJSON_AddArrayToObject(object, "growths");
    bool good = list != NULL;
    for (size_t i = 0; i < result->growth_count && good; i++)
        good = add_growth(list, growth_at(result, i));
    return good;
}
