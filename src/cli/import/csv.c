#include "cli/import/csv.h"

struct reader {
    const char *next;
    const char *end;
    char *out; // where the next character of a field goes
};

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

static void skip_space(struct reader *reader) {
    while (reader->next < reader->end && is_space(*reader->next))
        reader->next++;
}

// False when the quotes aren't closed.
static bool read_quoted(struct reader *reader) {
    reader->next++;
    while (reader->next < reader->end) {
        char c = *reader->next++;
        if (c == '"') {
            if (reader->next == reader->end || *reader->next != '"')
                return true;
            reader->next++;
        }
        *reader->out++ = c;
    }
    return false;
}

static void read_plain(struct reader *reader) {
    const char *begin = reader->out;
    while (reader->next < reader->end && *reader->next != ',')
        *reader->out++ = *reader->next++;
    while (reader->out > begin && is_space(reader->out[-1]))
        reader->out--;
}

static bool read_field(struct reader *reader, const char **reason) {
    skip_space(reader);
    if (reader->next == reader->end || *reader->next != '"') {
        read_plain(reader);
        return true;
    }
    *reason = "a quote that is not closed";
    if (!read_quoted(reader))
        return false;
    skip_space(reader);
    *reason = "something behind a closing quote";
    return reader->next == reader->end || *reader->next == ',';
}

bool sp_csv_split(struct sp_csv *csv, const char *line, size_t length, const char **reason) {
    struct reader reader = {line, line + length, csv->buffer};
    for (csv->count = 0;;) {
        if (csv->count == SP_CSV_FIELDS_MAX) {
            *reason = "too many fields";
            return false;
        }
        struct sp_csv_field *field = &csv->fields[csv->count++];
        field->text = reader.out;
        if (!read_field(&reader, reason))
            return false;
        field->length = (size_t)(reader.out - field->text);
        if (reader.next == reader.end)
            return true;
        reader.next++;
    }
}
