// The figures of a growth stand in one list: where each comes from, its title and its key.
#include "cli/report/growths_report.h"

#include "cli/program/table.h"

#include <stdlib.h>

//   X(first line of the title, second line, the bytes of the growth t)
#define CAUSES(X)                                                                                  \
    X("", "in use", t->used)                                                                       \
    X("free here", "whole", t->freeWhole)                                                          \
    X("free here", "pinned", t->freePinned)                                                        \
    X("beside", "pending", t->freeBesidePending)                                                   \
    X("pending", "whole", t->pendingWhole)                                                         \
    X("pending", "pinned", t->pendingPinned)                                                       \
    X("unfenced", "whole", t->unfencedWhole)                                                       \
    X("unfenced", "pinned", t->unfencedPinned)                                                     \
    X("listed", "here", t->listedFree)                                                             \
    X("listed", "pending", t->listedPending)                                                       \
    X("other", "kinds", t->otherKinds)                                                             \
    X("", "slack", t->slack)

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
    X("remap_missing_bytes", t->remapMissing)

// ------------------------------------------------------------------------------------------- table

enum { TITLE_ROWS = 2, TEXT_COLUMNS = 2, FIRST_CAUSE = 5 };

static const char *const titles[][TITLE_ROWS] = {
    {"", "trace"}, {"", "allocator"}, {"", "pass"}, {"peak", "growths"}, {"", "mapped"},
#define TITLE(first, second, bytes) {first, second},
    CAUSES(TITLE)
#undef TITLE
};

enum { COLUMNS = sizeof titles / sizeof titles[0], CAUSE_COUNT = COLUMNS - FIRST_CAUSE };

static uint64_t cause(const struct poolMemPoolGrowth *t, size_t index) {
    const uint64_t bytes[CAUSE_COUNT] = {
#define BYTES(first, second, bytes) bytes,
        CAUSES(BYTES)
#undef BYTES
    };
    return bytes[index];
}

static const struct sp_growth *growth_at(const struct sp_result *result, size_t index) {
    return &result->growths->list[result->first_growth + index];
}

// The last one for a large block, of which there is most; where there is none the last one of all.
static const struct sp_growth *last_of(const struct sp_result *result) {
    size_t count = result->growth_count;
    while (count > 0 && growth_at(result, count - 1)->told.kind != poolGrowthLarge)
        count--;
    if (count == 0)
        count = result->growth_count;
    return count > 0 ? growth_at(result, count - 1) : NULL;
}

static uint64_t mapped_by(const struct sp_result *result) {
    uint64_t sum = 0;
    for (size_t i = 0; i < result->growth_count; i++)
        sum += growth_at(result, i)->told.mapped;
    return sum;
}

static double median(double *values, size_t count) {
    return sp_spread_of(values, count).median;
}

// The starts of which nothing grew in the pass have no last growth.
static void fill_causes(const struct sp_table *table, size_t row, const struct sp_summary *summary,
                        double *values) {
    for (size_t i = 0; i < CAUSE_COUNT; i++) {
        size_t count = 0;
        for (size_t start = 0; start < summary->start_count; start++) {
            const struct sp_growth *last = last_of(summary->starts[start]);
            if (last)
                values[count++] = (double)cause(&last->told, i);
        }
        char *cell = sp_table_cell(table, row, FIRST_CAUSE + i);
        if (count > 0)
            sp_cell_bytes(cell, (uint64_t)median(values, count));
        else
            sp_cell_text(cell, "-");
    }
}

static void fill_row(const struct sp_table *table, size_t row, const struct sp_summary *summary,
                     double *values) {
    const struct sp_result *first = sp_summary_first(summary);
    sp_cell_text(sp_table_cell(table, row, 0), first->trace);
    sp_cell_text(sp_table_cell(table, row, 1), first->allocator);
    sp_cell_count(sp_table_cell(table, row, 2), first->pass);
    for (size_t i = 0; i < summary->start_count; i++)
        values[i] = (double)summary->starts[i]->growth_count;
    snprintf(sp_table_cell(table, row, 3), SP_CELL_TEXT, "%.10g",
             median(values, summary->start_count));
    for (size_t i = 0; i < summary->start_count; i++)
        values[i] = (double)mapped_by(summary->starts[i]);
    sp_cell_bytes(sp_table_cell(table, row, 4), (uint64_t)median(values, summary->start_count));
    fill_causes(table, row, summary, values);
}

static bool has_growths(const struct sp_summary *summary) {
    return sp_summary_first(summary)->growths != NULL;
}

static void fill(const struct sp_table *table, const struct sp_summaries *summaries) {
    size_t row = TITLE_ROWS;
    for (size_t line = 0; line < TITLE_ROWS; line++)
        for (size_t column = 0; column < COLUMNS; column++)
            sp_cell_text(sp_table_cell(table, line, column), titles[column][line]);
    for (size_t i = 0; i < summaries->count; i++)
        if (has_growths(&summaries->list[i]))
            fill_row(table, row++, &summaries->list[i], summaries->values);
}

static size_t count_rows(const struct sp_summaries *summaries) {
    size_t rows = 0;
    for (size_t i = 0; i < summaries->count; i++)
        rows += has_growths(&summaries->list[i]);
    return rows;
}

static bool print_table(FILE *out, const struct sp_summaries *summaries, size_t rows) {
    struct sp_table table;
    if (!sp_table_open(&table, COLUMNS, TEXT_COLUMNS, TITLE_ROWS + rows))
        return false;
    fill(&table, summaries);
    fputs("\ngrowths that raised the peak, and what was free at the last one for a large block\n",
          out);
    sp_table_print(&table, out);
    sp_table_release(&table);
    return true;
}

// ------------------------------------------------------------------------------------------- lines

static void print_line(FILE *out, const struct sp_growth *growth, bool with_start) {
    fprintf(out, "%s, %s, ", growth->trace, growth->allocator);
    if (with_start)
        fprintf(out, "start %u, ", growth->start);
    fprintf(out, "pass %u, operation %zu on stream %llu: ", growth->pass, growth->operation + 1,
            (unsigned long long)growth->stream);
    poolMemPoolPrintGrowth(&growth->told, out);
}

static bool has_several_starts(const struct sp_summaries *summaries) {
    return summaries->count > 0 && summaries->list[0].start_count > 1;
}

bool sp_growths_report_print(FILE *out, const struct sp_growths *growths,
                             const struct sp_summaries *summaries) {
    size_t rows = count_rows(summaries);
    if (rows > 0 && !print_table(out, summaries, rows))
        return false;
    if (growths->count > 0)
        fputc('\n', out);
    for (size_t i = 0; i < growths->count; i++)
        print_line(out, &growths->list[i], has_several_starts(summaries));
    return true;
}

// -------------------------------------------------------------------------------------------- JSON

static const char *kind_name(enum poolGrowthKind kind) {
    static const char *const names[] = {
        [poolGrowthLarge] = "large", [poolGrowthPages] = "pages", [poolGrowthFixed] = "fixed"};
    return names[kind];
}

static const char *remap_name(enum poolGrowthRemap remap) {
    static const char *const names[] = {
        [poolGrowthRemapUsed] = "used",           [poolGrowthRemapWrongKind] = "wrong kind",
        [poolGrowthRemapForbidden] = "forbidden", [poolGrowthRemapFilling] = "filling",
        [poolGrowthRemapNoPieces] = "no pieces",  [poolGrowthRemapSavesLittle] = "saves little",
        [poolGrowthRemapTooLong] = "too long",    [poolGrowthRemapFailed] = "failed",
    };
    return names[remap];
}

static bool add_figures(cJSON *object, const struct poolMemPoolGrowth *t) {
    return true
#define ADD(key, value) &&sp_json_add_count(object, key, value)
           KEYS(ADD)
#undef ADD
           && sp_json_add_flag(object, "asked_driver", t->askedDriver) &&
           sp_json_add_flag(object, "may_wait", t->mayWait) &&
           sp_json_add_flag(object, "cut_short", t->cutShort) &&
           sp_json_add_flag(object, "after_trim", t->afterTrim) &&
           sp_json_add_flag(object, "after_waits", t->afterWaits);
}

static bool add_growth(cJSON *list, const struct sp_growth *growth) {
    cJSON *object = cJSON_CreateObject();
    if (!object || !cJSON_AddItemToArray(list, object)) {
        cJSON_Delete(object);
        return false;
    }
    return sp_json_add_count(object, "operation", growth->operation + 1) &&
           sp_json_add_count(object, "stream", growth->stream) &&
           sp_json_add_text(object, "kind", kind_name(growth->told.kind)) &&
           sp_json_add_text(object, "remap", remap_name(growth->told.remap)) &&
           add_figures(object, &growth->told);
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
