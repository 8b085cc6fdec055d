#include "cli/report/rows.h"

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

#define KEY(name)        .key = (name)
#define IN(object, name) .within = (object), .key = (name)
#define FIELD            SP_ROW_FIELD
#define ORIGIN           SP_ROW_ORIGIN_FIELD
#define TELLS            SP_ROW_FUNCTION

//   X(its name here, its key, key of its spread, first line of the title, second line, unit, from
//     where, who has it, left out unless above, where it is shown)
// clang-format off
#define ROWS(X) \
    X(trace, KEY("trace"), NULL, "", "trace", COUNT, \
      FIELD(trace), ALL, -1, SP_IN_TABLE | SP_NAMED | SP_OF_REPLAY) \
    X(allocator, KEY("allocator"), NULL, "", "allocator", COUNT, \
      FIELD(allocator), ALL, -1, SP_IN_TABLE | SP_NAMED | SP_OF_REPLAY) \
    X(device, KEY("device"), NULL, "", "", COUNT, FIELD(device), ALL, -1, SP_OF_REPLAY) \
    X(driver, KEY("driver_version"), NULL, "", "", COUNT, \
      ORIGIN(driver_version), ALL, -1, SP_OF_REPLAY) \
    X(cuda, KEY("cuda_version"), NULL, "", "", COUNT, \
      ORIGIN(cuda_version), ALL, -1, SP_OF_REPLAY) \
    X(version, KEY("streampool"), NULL, "", "", COUNT, \
      ORIGIN(streampool), ALL, -1, SP_OF_REPLAY) \
    X(date, KEY("date"), NULL, "", "", COUNT, ORIGIN(date), ALL, -1, SP_OF_REPLAY) \
    X(pass, KEY("pass"), NULL, "", "pass", COUNT, \
      FIELD(pass), ALL, 1, SP_IN_TABLE | SP_NAMED | SP_OF_REPLAY) \
    X(turn, KEY("turn"), NULL, "", "", COUNT, FIELD(turn), TURNS, -1, SP_OF_REPLAY) \
    X(operations, KEY("operations"), NULL, "", "operations", COUNT, \
      FIELD(operations), ALL, -1, SP_IN_WIDE | SP_OF_REPLAY) \
    X(streams, KEY("streams"), NULL, "", "streams", COUNT, \
      FIELD(streams), ALL, -1, SP_IN_WIDE | SP_OF_REPLAY) \
    X(errors, KEY("errors"), NULL, "", "errors", COUNT, \
      FIELD(errors), ALL, -1, SP_IN_WIDE | SP_SUM_IN_WIDE) \
    X(live, KEY("live_peak_bytes"), NULL, "peak", "live", BYTES, \
      FIELD(live_peak_bytes), ALL, -1, SP_IN_TABLE) \
    X(reserved, KEY("reserved_peak_bytes"), NULL, "peak", "reserved", BYTES, \
      FIELD(reserved_peak_bytes), ALL, -1, SP_IN_TABLE) \
    X(turn_live, KEY("turn_live_peak_bytes"), NULL, "", "", BYTES, \
      FIELD(turn_live_peak_bytes), TURNS, -1, 0) \
    X(turn_reserved, KEY("turn_reserved_peak_bytes"), NULL, "", "", BYTES, \
      FIELD(turn_reserved_peak_bytes), TURNS, -1, 0) \
    X(ratio, KEY(NULL), "ratio", "reserved", "/ live", RATIO, \
      TELLS(sp_row_tell_ratio), ALL, -1, SP_IN_TABLE | SP_MEDIAN_IN_TABLE | SP_RANGE_IN_TABLE) \
    X(malloc_mean, IN("malloc_ns", "mean"), NULL, "malloc", "mean", NANOSECONDS, \
      FIELD(malloc_ns.mean), ALL, -1, SP_IN_WIDE) \
    X(malloc_p50, IN("malloc_ns", "p50"), NULL, "malloc", "p50", NANOSECONDS, \
      FIELD(malloc_ns.p50), ALL, -1, SP_IN_WIDE) \
    X(malloc_p99, IN("malloc_ns", "p99"), NULL, "malloc", "p99", NANOSECONDS, \
      FIELD(malloc_ns.p99), ALL, -1, SP_IN_WIDE) \
    X(malloc_max, IN("malloc_ns", "max"), "malloc_max_ns", "malloc", "max", NANOSECONDS, \
      FIELD(malloc_ns.max), ALL, -1, SP_IN_WIDE | SP_MEDIAN_IN_WIDE | SP_MEAN_IN_WIDE) \
    X(free_mean, IN("free_ns", "mean"), NULL, "free", "mean", NANOSECONDS, \
      FIELD(free_ns.mean), ALL, -1, SP_IN_WIDE) \
    X(free_p50, IN("free_ns", "p50"), NULL, "free", "p50", NANOSECONDS, \
      FIELD(free_ns.p50), ALL, -1, 0) \
    X(free_p99, IN("free_ns", "p99"), NULL, "free", "p99", NANOSECONDS, \
      FIELD(free_ns.p99), ALL, -1, SP_IN_WIDE) \
    X(free_max, IN("free_ns", "max"), NULL, "free", "max", NANOSECONDS, \
      FIELD(free_ns.max), ALL, -1, 0) \
    X(total, KEY("total_ns"), "total_ns", "calls", "total", NANOSECONDS, \
      FIELD(total_ns), ALL, -1, SP_IN_TABLE | SP_MEDIAN_IN_TABLE | SP_RANGE_IN_WIDE) \
    X(modelled, KEY("driver_calls_modelled_ns"), "driver_calls_modelled_ns", "driver calls", \
      "modelled", NANOSECONDS, FIELD(modelled_ns), PARTS, -1, SP_IN_WIDE | SP_MEDIAN_IN_WIDE) \
    X(measured, KEY("library_measured_ns"), "library_measured_ns", "library", "measured", \
      NANOSECONDS, TELLS(tell_measured), PARTS, -1, SP_IN_WIDE | SP_MEDIAN_IN_WIDE) \
    X(busy, KEY(NULL), NULL, "device", "busy", RATIO, \
      TELLS(sp_row_tell_busy), WORK, -1, SP_IN_WIDE) \
    X(work, KEY("work_ns"), NULL, "", "", NANOSECONDS, FIELD(work_ns), WORK, -1, 0) \
    X(end_to_end, KEY("end_to_end_ns"), "end_to_end_ns", "end to", "end", NANOSECONDS, \
      FIELD(end_to_end_ns), WORK, -1, SP_IN_WIDE | SP_MEDIAN_IN_WIDE) \
    X(growths, KEY(NULL), NULL, "", "growths", COUNT, \
      FIELD(statistics.values[SP_STATISTIC_Growths]), POOL, -1, SP_IN_WIDE | SP_MEDIAN_IN_WIDE)
// clang-format on

enum {
#define INDEX(name, ...) ROW_##name,
    ROWS(INDEX) ROW_COUNT
#undef INDEX
};

const struct sp_row sp_rows[] = {
#define ROW(name, place, spread, first, second, quantity, from, owner, least, shown)               \
    {place, .spread_key = (spread), .title = {first, second}, .unit = SP_UNIT_##quantity,          \
     from,  .need = SP_OF_##owner,  .above = (least),         .where = (shown)},
    ROWS(ROW)
#undef ROW
};

const size_t sp_row_count = ROW_COUNT;
const struct sp_row *const sp_row_ratio = &sp_rows[ROW_ratio];
const struct sp_row *const sp_row_total = &sp_rows[ROW_total];
const struct sp_row *const sp_row_modelled = &sp_rows[ROW_modelled];

struct sp_row sp_row_of_statistic(size_t statistic) {
    return (struct sp_row){
        .key = sp_statistics_name(statistic),
        .unit = sp_statistics_unit(statistic),
        .store = SP_ROW_COUNT,
        .offset = offsetof(struct sp_result, statistics.values) + statistic * sizeof(uint64_t),
        .need = SP_OF_POOL,
    };
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

const char *sp_row_text(const struct sp_row *row, const struct sp_result *result) {
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

bool sp_row_is_worth_a_column(const struct sp_row *row, const struct sp_result *result) {
    return sp_row_is_of(row, result) && sp_row_number(row, result) > row->above;
}

void sp_row_fill(char *cell, const struct sp_row *row, const struct sp_result *result) {
    if (!sp_row_is_of(row, result))
        return;
    if (row == &sp_rows[ROW_allocator])
        sp_cell_text(cell, sp_allocator_title(result->allocator));
    else if (sp_row_is_text(row))
        sp_cell_text(cell, sp_row_text(row, result));
    else
        sp_cell_quantity(cell, row->unit, sp_row_number(row, result));
}

// ---------------------------------------------------------------------------------------------
// JSON

// Returns an object of this key in the object, which is made for its first figure; null without
// host memory.
static cJSON *object_in(cJSON *object, const char *key) {
    cJSON *inner = cJSON_GetObjectItemCaseSensitive(object, key);
    return inner ? inner : cJSON_AddObjectToObject(object, key);
}

bool sp_row_add(cJSON *object, const struct sp_row *row, const struct sp_result *result) {
    if (!row->key || !sp_row_is_of(row, result))
        return true;
    cJSON *place = row->within ? object_in(object, row->within) : object;
    if (!place)
        return false;
    return sp_row_is_text(row) ? sp_json_add_text(place, row->key, sp_row_text(row, result))
                               : sp_json_add_number(place, row->key, sp_row_number(row, result));
}
