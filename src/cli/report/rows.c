#include "cli/report/rows.h"

#include <string.h>

// ------------------------------------------------------------------------------------------- told

static double quotient(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

double sp_row_tell_ratio(const struct sp_result *result) {
    return quotient((double)result->reserved_peak_bytes, (double)result->live_peak_bytes);
}

double sp_row_tell_busy(const struct sp_result *result) {
    return quotient((double)result->work_ns, (double)result->end_to_end_ns);
}

static double tell_measured(const struct sp_result *result) {
    return (double)sp_result_measured_ns(result);
}

// ---------------------------------------------------------------------------------------- the list

#define FIELD        SP_ROW_FIELD
#define ORIGIN       SP_ROW_ORIGIN_FIELD
#define TELLS        SP_ROW_FUNCTION
#define MALLOC(name) .within = "malloc_ns", .key = (name)
#define FREE(name)   .within = "free_ns", .key = (name)
#define BOTH(name)   .key = (name), .spread_key = (name)

enum { NAMED = SP_IN_TABLE | SP_NAMED | SP_OF_REPLAY };

// clang-format off
static const struct sp_row rows[] = {
    {.key = "trace", SP_ROW_TITLE("", "trace"), FIELD(trace), .where = NAMED},
    {.key = "allocator", SP_ROW_TITLE("", "allocator"), .store = SP_ROW_ALLOCATOR,
     .offset = offsetof(struct sp_result, allocator), .where = NAMED},
    {.key = "device", FIELD(device), .where = SP_OF_REPLAY},
    {.key = "driver_version", ORIGIN(driver_version), .where = SP_OF_REPLAY},
    {.key = "cuda_version", ORIGIN(cuda_version), .where = SP_OF_REPLAY},
    {.key = "streampool", ORIGIN(streampool), .where = SP_OF_REPLAY},
    {.key = "date", ORIGIN(date), .where = SP_OF_REPLAY},
    {.key = "pass", SP_ROW_TITLE("", "pass"), FIELD(pass), .least = 2, .where = NAMED},
    {.key = "turn", FIELD(turn), .need = SP_OF_TURNS, .where = SP_OF_REPLAY},
    {.key = "operations", SP_ROW_TITLE("", "operations"), FIELD(operations),
     .where = SP_IN_WIDE | SP_OF_REPLAY},
    {.key = "streams", SP_ROW_TITLE("", "streams"), FIELD(streams),
     .where = SP_IN_WIDE | SP_OF_REPLAY},
    {.key = "errors", SP_ROW_TITLE("", "errors"), FIELD(errors),
     .where = SP_IN_WIDE | SP_SUM_IN_WIDE},
    {.key = "live_peak_bytes", SP_ROW_TITLE("peak", "live"), SP_ROW_BYTES(live_peak_bytes),
     .where = SP_IN_TABLE},
    {.key = "reserved_peak_bytes", SP_ROW_TITLE("peak", "reserved"),
     SP_ROW_BYTES(reserved_peak_bytes), .where = SP_IN_TABLE},
    {.key = "turn_live_peak_bytes", FIELD(turn_live_peak_bytes), .need = SP_OF_TURNS},
    {.key = "turn_reserved_peak_bytes", FIELD(turn_reserved_peak_bytes), .need = SP_OF_TURNS},
    {.spread_key = "ratio", SP_ROW_TITLE("reserved", "/ live"), SP_ROW_RATIO(sp_row_tell_ratio),
     .where = SP_IN_TABLE | SP_MEDIAN_IN_TABLE | SP_RANGE_IN_TABLE},
    {MALLOC("mean"), SP_ROW_TITLE("malloc", "mean"), SP_ROW_TIME(malloc_ns.mean),
     .where = SP_IN_WIDE},
    {MALLOC("p50"), SP_ROW_TITLE("malloc", "p50"), SP_ROW_TIME(malloc_ns.p50), .where = SP_IN_WIDE},
    {MALLOC("p99"), SP_ROW_TITLE("malloc", "p99"), SP_ROW_TIME(malloc_ns.p99), .where = SP_IN_WIDE},
    {MALLOC("max"), .spread_key = "malloc_max_ns", SP_ROW_TITLE("malloc", "max"),
     SP_ROW_TIME(malloc_ns.max), .where = SP_IN_WIDE | SP_MEDIAN_IN_WIDE | SP_MEAN_IN_WIDE},
    {FREE("mean"), SP_ROW_TITLE("free", "mean"), SP_ROW_TIME(free_ns.mean), .where = SP_IN_WIDE},
    {FREE("p50"), FIELD(free_ns.p50)},
    {FREE("p99"), SP_ROW_TITLE("free", "p99"), SP_ROW_TIME(free_ns.p99), .where = SP_IN_WIDE},
    {FREE("max"), FIELD(free_ns.max)},
    {BOTH("total_ns"), SP_ROW_TITLE("calls", "total"), SP_ROW_TIME(total_ns),
     .where = SP_IN_TABLE | SP_MEDIAN_IN_TABLE | SP_RANGE_IN_WIDE},
    {BOTH("driver_calls_modelled_ns"), SP_ROW_TITLE("driver calls", "modelled"),
     SP_ROW_TIME(modelled_ns), .need = SP_OF_PARTS, .where = SP_IN_WIDE | SP_MEDIAN_IN_WIDE},
    {BOTH("library_measured_ns"), SP_ROW_TITLE("library", "measured"),
     TELLS(tell_measured), .unit = SP_UNIT_NANOSECONDS, .need = SP_OF_PARTS,
     .where = SP_IN_WIDE | SP_MEDIAN_IN_WIDE},
    {SP_ROW_TITLE("device", "busy"), SP_ROW_RATIO(sp_row_tell_busy), .need = SP_OF_WORK,
     .where = SP_IN_WIDE},
    {.key = "work_ns", FIELD(work_ns), .need = SP_OF_WORK},
    {BOTH("end_to_end_ns"), SP_ROW_TITLE("end to", "end"), SP_ROW_TIME(end_to_end_ns),
     .need = SP_OF_WORK, .where = SP_IN_WIDE | SP_MEDIAN_IN_WIDE},
    {SP_ROW_TITLE("", "growths"), FIELD(statistics.values[SP_STATISTIC_Growths]),
     .need = SP_OF_POOL, .where = SP_IN_WIDE | SP_MEDIAN_IN_WIDE},
};
// clang-format on

const struct sp_rows sp_rows_of_replay = SP_ROWS_OF(rows);

const struct sp_row *sp_row_of_spread(const char *spread_key) {
    const struct sp_row *row = rows;
    while (!row->spread_key || strcmp(row->spread_key, spread_key) != 0)
        row++;
    return row;
}

struct sp_row sp_row_of_statistic(size_t statistic) {
    return (struct sp_row){
        .key = sp_statistics_name(statistic),
        .unit = sp_statistics_unit(statistic),
        .store = SP_ROW_COUNT,
        .offset = offsetof(struct sp_result, statistics.values) + statistic * sizeof(uint64_t),
        .need = SP_OF_POOL,
    };
}

static struct sp_row of_place(enum sp_trace_place place, const char *key, size_t offset) {
    return (struct sp_row){
        .within = sp_trace_place_word(place),
        .key = key,
        .unit = SP_UNIT_BYTES,
        .store = SP_ROW_COUNT,
        .offset =
            offsetof(struct sp_result, places) + place * sizeof(struct sp_place_peaks) + offset,
    };
}

struct sp_row sp_row_of_live_at(enum sp_trace_place place) {
    return of_place(place, "live_peak_bytes", offsetof(struct sp_place_peaks, live_bytes));
}

struct sp_row sp_row_of_reserved_at(enum sp_trace_place place) {
    return of_place(place, "reserved_peak_bytes", offsetof(struct sp_place_peaks, reserved_bytes));
}

// --------------------------------------------------------------------------------------- the value

bool sp_row_is_of(const struct sp_row *row, const struct sp_result *result) {
    switch (row->need) {
    case SP_OF_TURNS:
        return result->turn > 0;
    case SP_OF_PARTS:
        return result->base == SP_TIME_OF_MODEL_AND_HOST;
    case SP_OF_WORK:
        return result->work_ns > 0;
    case SP_OF_POOL:
        return result->statistics.known;
    default:
        return true;
    }
}

static const char *text_of(const struct sp_row *row, const struct sp_result *result) {
    if (row->store == SP_ROW_ORIGIN)
        return (const char *)result->origin + row->offset;
    return *(const char *const *)((const char *)result + row->offset);
}

double sp_row_number(const struct sp_row *row, const struct sp_result *result) {
    const void *field = (const char *)result + row->offset;
    switch (row->store) {
    case SP_ROW_UNSIGNED:
        return *(const unsigned *)field;
    case SP_ROW_COUNT:
        return (double)*(const uint64_t *)field;
    case SP_ROW_NUMBER:
        return *(const double *)field;
    case SP_ROW_TOLD:
        return row->told(result);
    default:
        return 0;
    }
}

void sp_row_fill(char *cell, const struct sp_row *row, const struct sp_result *result) {
    if (!sp_row_is_of(row, result))
        return;
    if (row->store == SP_ROW_ALLOCATOR)
        sp_cell_text(cell, sp_allocator_title(result->allocator));
    else if (sp_row_is_text(row))
        sp_cell_text(cell, text_of(row, result));
    else
        sp_cell_quantity(cell, row->unit, sp_row_number(row, result));
}

// -------------------------------------------------------------------------------------------- JSON

// The object that a figure is in is made for its first one.
bool sp_row_add(cJSON *object, const struct sp_row *row, const struct sp_result *result) {
    if (!row->key || !sp_row_is_of(row, result))
        return true;
    cJSON *place = row->within ? cJSON_GetObjectItemCaseSensitive(object, row->within) : object;
    if (!place)
        place = cJSON_AddObjectToObject(object, row->within);
    if (!place)
        return false;
    if (row->unit == SP_UNIT_FLAG)
        return sp_json_add_flag(place, row->key, sp_row_number(row, result) > 0);
    return sp_row_is_text(row) ? sp_json_add_text(place, row->key, text_of(row, result))
                               : sp_json_add_number(place, row->key, sp_row_number(row, result));
}
