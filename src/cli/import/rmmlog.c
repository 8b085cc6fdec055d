// Each row is brought into the order of a trace's columns; then the parser of traces reads it, so
// both hold the same for a number.
#include "cli/import/rmmlog.h"

#include "cli/import/csv.h"
#include "cli/trace/lines.h"
#include "cli/trace/record.h"

#include <string.h>
#include <strings.h>

enum { COLUMN_COUNT = 6, NOWHERE = -1 };

#define DAY (UINT64_C(24) * 60 * 60 * 1000000)

struct reader {
    struct sp_lines lines;
    struct sp_csv header; // the trace's own
    struct sp_csv row;
    int places[COLUMN_COUNT]; // of a trace's columns in a row; NOWHERE where the log lacks one
    size_t width;             // how many fields a row has
    uint64_t time;            // of the row before
    struct sp_mend *mend;
    struct sp_trace_error *error;
};

static bool fail(struct reader *reader, const char *reason) {
    snprintf(reader->error->reason, sizeof reader->error->reason, "%s", reason);
    return false;
}

// --------------------------------------------------------------------------------------- the
// header

// The columns that a log may lack.
static const char *default_of(int column) {
    static const char *const defaults[COLUMN_COUNT] = {"0", "0", NULL, NULL, NULL, "0"};
    return defaults[column];
}

static bool is_named(const struct sp_csv_field *field, const struct sp_csv_field *name) {
    return field->length == name->length && strncasecmp(field->text, name->text, name->length) == 0;
}

static bool find_column(struct reader *reader, int column) {
    const struct sp_csv_field *name = &reader->header.fields[column];
    reader->places[column] = NOWHERE;
    for (size_t i = 0; i < reader->row.count; i++) {
        if (!is_named(&reader->row.fields[i], name))
            continue;
        if (reader->places[column] != NOWHERE) {
            snprintf(reader->error->reason, sizeof reader->error->reason,
                     "the header has two columns '%.*s'", (int)name->length, name->text);
            return false;
        }
        reader->places[column] = (int)i;
    }
    if (reader->places[column] != NOWHERE || default_of(column))
        return true;
    snprintf(reader->error->reason, sizeof reader->error->reason, "the header has no column '%.*s'",
             (int)name->length, name->text);
    return false;
}

// Names two of the columns that no log lacks.
static bool is_header(const struct reader *reader) {
    size_t named = 0;
    for (int column = 0; column < COLUMN_COUNT; column++)
        for (size_t i = 0; i < reader->row.count && !default_of(column); i++)
            named += is_named(&reader->row.fields[i], &reader->header.fields[column]);
    return named >= 2;
}

static bool read_header(struct reader *reader) {
    reader->width = reader->row.count;
    for (int column = 0; column < COLUMN_COUNT; column++)
        if (!find_column(reader, column))
            return false;
    return true;
}

static void begin_columns(struct reader *reader) {
    static const char header[] = SP_RECORD_HEADER;
    const char *reason;
    sp_csv_split(&reader->header, header, sizeof header - 1, &reason);
    reader->width = COLUMN_COUNT;
    for (int column = 0; column < COLUMN_COUNT; column++)
        reader->places[column] = column;
}

// ------------------------------------------------------------------------------------------ a row

static struct sp_csv_field field_of(const struct reader *reader, int column) {
    if (reader->places[column] != NOWHERE)
        return reader->row.fields[reader->places[column]];
    const char *value = default_of(column);
    return (struct sp_csv_field){value, strlen(value)};
}

// A clock begins anew at midnight, so a time that is half a day off stands for the day after or
// before.
static uint64_t on_its_day(uint64_t time, uint64_t before) {
    time += before / DAY * DAY;
    if (time + DAY / 2 < before)
        return time + DAY;
    return time > before + DAY / 2 && time >= DAY ? time - DAY : time;
}

static bool parse_row(struct reader *reader, struct sp_record *record) {
    char line[SP_LINE_LENGTH_MAX + COLUMN_COUNT * 2];
    size_t length = 0;
    if (reader->row.count != reader->width) {
        snprintf(reader->error->reason, sizeof reader->error->reason,
                 "expected %zu fields, found %zu", reader->width, reader->row.count);
        return false;
    }
    for (int column = 0; column < COLUMN_COUNT; column++) {
        struct sp_csv_field field = field_of(reader, column);
        memcpy(line + length, field.text, field.length);
        length += field.length;
        line[length++] = ',';
    }
    return sp_record_parse(line, length - 1, record, reader->error->reason,
                           sizeof reader->error->reason);
}

static bool add_row(struct reader *reader, const struct sp_record *record) {
    reader->time = record->is_clock_time ? on_its_day(record->time, reader->time) : record->time;
    struct sp_mend_operation operation = {
        .action = record->action,
        .thread = record->thread,
        .time = reader->time,
        .pointer = record->pointer,
        .size = record->size,
        .stream = record->stream,
    };
    return sp_mend_add(reader->mend, &operation, reader->error);
}

// ------------------------------------------------------------------------------------- the lines

// A row that can't be read may have been cut: as the first line of a log without a header, or as
// the last line, which then has no newline. Else the reason of the failure stays.
static bool forgive(struct reader *reader, bool is_first) {
    if (!is_first && reader->lines.has_newline)
        return false;
    struct sp_trace_error error = *reader->error;
    return sp_mend_repair(reader->mend, SP_MEND_CUT_LINE, reader->error, "%s", error.reason);
}

static bool read_row(struct reader *reader, const char *text, size_t length, bool is_first) {
    const char *reason;
    struct sp_record record;
    if (!sp_csv_split(&reader->row, text, length, &reason))
        return fail(reader, reason) || forgive(reader, is_first);
    if (is_header(reader)) {
        bool good = is_first || sp_mend_repair(reader->mend, SP_MEND_HEADER, reader->error,
                                               "a header between the lines");
        return good && read_header(reader);
    }
    if (is_first &&
        !sp_mend_repair(reader->mend, SP_MEND_NO_HEADER, reader->error, "the header is missing"))
        return false;
    return parse_row(reader, &record) ? add_row(reader, &record) : forgive(reader, is_first);
}

// Spreadsheets write a mark before a text in UTF-8.
static size_t byte_order_mark(const char *text, size_t length) {
    static const char mark[] = "\xef\xbb\xbf";
    size_t size = sizeof mark - 1;
    return length >= size && memcmp(text, mark, size) == 0 ? size : 0;
}

static bool is_blank(const char *text, size_t length) {
    size_t i = 0;
    while (i < length && (text[i] == ' ' || text[i] == '\t'))
        i++;
    return i == length;
}

static bool read_lines(struct reader *reader) {
    const char *text, *reason;
    size_t length;
    enum sp_line_result result;
    bool is_first = true;
    while ((result = sp_lines_next(&reader->lines, &text, &length, &reason)) == SP_LINE_READ) {
        size_t skipped = is_first ? byte_order_mark(text, length) : 0;
        if (is_blank(text + skipped, length - skipped))
            continue;
        if (!read_row(reader, text + skipped, length - skipped, is_first))
            return false;
        is_first = false;
    }
    return result == SP_LINE_END || fail(reader, reason);
}

bool sp_rmmlog_read(struct sp_source *source, struct sp_mend *mend, struct sp_trace_error *error) {
    struct reader reader = {.lines = {.source = *source}, .mend = mend, .error = error};
    begin_columns(&reader);
    bool good = read_lines(&reader);
    if (!good)
        error->line = reader.lines.number;
    sp_lines_close(&reader.lines);
    return good;
}
