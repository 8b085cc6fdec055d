// The columns stand in one table: name and parser. A parser says whether the text is well formed
// and whether it fits; the messages come from the table. The actions stand in another one: word,
// and what the columns hold.
#include "cli/trace/record.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct field {
    const char *text;
    size_t length;
};

enum verdict { FIELD_GOOD, FIELD_BAD, FIELD_TOO_LARGE };

enum { FIELD_COUNT = 6, QUOTED_MAX = 40 };

static bool field_is(struct field field, const char *text) {
    return field.length == strlen(text) && memcmp(field.text, text, field.length) == 0;
}

static unsigned digit_of(unsigned char c) {
    int letter = isxdigit(c) ? tolower(c) - 'a' + 10 : 16;
    return (unsigned)(isdigit(c) ? c - '0' : letter);
}

static enum verdict parse_digits(struct field field, unsigned base, uint64_t *value) {
    bool fits = true;
    uint64_t sum = 0;
    for (size_t i = 0; i < field.length; i++) {
        unsigned digit = digit_of((unsigned char)field.text[i]);
        if (digit >= base)
            return FIELD_BAD;
        fits = fits && !__builtin_mul_overflow(sum, base, &sum) &&
               !__builtin_add_overflow(sum, digit, &sum);
    }
    if (field.length == 0)
        return FIELD_BAD;
    if (!fits)
        return FIELD_TOO_LARGE;
    *value = sum;
    return FIELD_GOOD;
}

static bool has_hex_prefix(struct field field) {
    return field.length > 2 && field.text[0] == '0' &&
           (field.text[1] == 'x' || field.text[1] == 'X');
}

static enum verdict parse_pointer(struct field field, uint64_t *value) {
    *value = 0;
    if (field_is(field, "(nil)"))
        return FIELD_GOOD;
    size_t prefix = has_hex_prefix(field) ? 2 : 0;
    return parse_digits((struct field){field.text + prefix, field.length - prefix}, 16, value);
}

// RMM writes a stream as a handle, `(nil)` or hexadecimal; other recorders number streams in
// decimal.
static enum verdict parse_stream(struct field field, uint64_t *value) {
    if (field_is(field, "(nil)") || has_hex_prefix(field))
        return parse_pointer(field, value);
    return parse_digits(field, 10, value);
}

static enum verdict parse_decimal(struct field field, uint64_t *value) {
    return parse_digits(field, 10, value);
}

// Nothing is replayed at its time, so that is only checked: a number, one of seconds with a point,
// or hh:mm:ss and a fraction behind a point, or behind a colon as older versions of RMM wrote it.
static enum verdict parse_time(struct field field, uint64_t *value) {
    static const unsigned limits[] = {24, 60, 61};
    enum { CLOCK = sizeof "hh:mm:ss" - 1 };
    bool is_clock_time = memchr(field.text, ':', field.length);
    const char *point = memchr(field.text, '.', field.length);
    if (is_clock_time)
        point = field.length > CLOCK ? field.text + CLOCK : NULL;
    if (!point)
        return parse_digits(field, 10, value);
    struct field whole = {field.text, (size_t)(point - field.text)};
    struct field fraction = {point + 1, field.length - whole.length - 1};
    if (!strchr(".:", *point) || parse_digits(fraction, 10, value) == FIELD_BAD)
        return FIELD_BAD;
    if (!is_clock_time)
        return parse_digits(whole, 10, value);
    for (size_t i = 0; i < CLOCK; i += 3)
        if (parse_digits((struct field){field.text + i, 2}, 10, value) != FIELD_GOOD ||
            *value >= limits[i / 3] || (i < CLOCK - 2 && field.text[i + 2] != ':'))
            return FIELD_BAD;
    return FIELD_GOOD;
}

enum content { NOTHING, BLOCK, EVENT, BYTES, STREAM };

static const struct form {
    const char *word;
    enum content pointer, size, stream;
} forms[] = {
#define FORM(name, word, pointer, size, stream) [SP_TRACE_##name] = {word, pointer, size, stream},
    SP_TRACE_ACTIONS(FORM)
#undef FORM
};

static const char *const places[] = {
#define PLACE(name, word) word,
    SP_TRACE_PLACES(PLACE)
#undef PLACE
};

const char *sp_trace_place_word(enum sp_trace_place place) {
    return places[place];
}

// Takes the word of another place than a device from the field's end, if one is there.
static uint64_t take_place(struct field *field) {
    for (uint64_t place = 1; place < SP_TRACE_PLACE_COUNT; place++) {
        size_t length = strlen(places[place]) + 1;
        if (field->length <= length || field->text[field->length - length] != ' ')
            continue;
        struct field word = {field->text + field->length - length + 1, length - 1};
        if (!field_is(word, places[place]))
            continue;
        field->length -= length;
        return place;
    }
    return SP_TRACE_AT_DEVICE;
}

static bool may_have_place(uint64_t action) {
    return action == SP_TRACE_ALLOCATE || action == SP_TRACE_FAILURE || action == SP_TRACE_TRIM;
}

// The value has the place in its upper half.
static enum verdict parse_action(struct field field, uint64_t *value) {
    size_t count = sizeof forms / sizeof forms[0];
    uint64_t place = take_place(&field);
    *value = 0;
    while (*value < count && !field_is(field, forms[*value].word))
        ++*value;
    if (field_is(field, "deallocate")) // as a page of RMM's calls a free
        *value = SP_TRACE_FREE;
    bool is_good = *value < count && (place == 0 || may_have_place(*value));
    *value |= place << 32;
    return is_good ? FIELD_GOOD : FIELD_BAD;
}

enum { COLUMN_THREAD, COLUMN_TIME, COLUMN_ACTION, COLUMN_POINTER, COLUMN_SIZE, COLUMN_STREAM };

static const struct column {
    const char *name;
    enum verdict (*parse)(struct field field, uint64_t *value);
} columns[FIELD_COUNT] = {
    [COLUMN_THREAD] = {"thread", parse_decimal}, [COLUMN_TIME] = {"time", parse_time},
    [COLUMN_ACTION] = {"action", parse_action},  [COLUMN_POINTER] = {"pointer", parse_pointer},
    [COLUMN_SIZE] = {"size", parse_decimal},     [COLUMN_STREAM] = {"stream", parse_stream},
};

// Fills in the first FIELD_COUNT fields and returns how many there are.
static size_t split(const char *line, size_t length, struct field fields[FIELD_COUNT]) {
    size_t count = 0;
    const char *end = line + length;
    for (const char *begin = line, *stop;; begin = stop + 1) {
        const char *comma = memchr(begin, ',', (size_t)(end - begin));
        stop = comma ? comma : end;
        if (count < FIELD_COUNT)
            fields[count] = (struct field){begin, (size_t)(stop - begin)};
        count++;
        if (!comma)
            return count;
    }
}

bool sp_record_fail(struct sp_trace_error *error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->reason, sizeof error->reason, format, arguments);
    va_end(arguments);
    return false;
}

// Tells the field as a terminal can show it: cut where it is long, with question marks for bytes
// that can't be printed.
static bool complain(const char *name, enum verdict verdict, struct field field,
                     struct sp_trace_error *error) {
    char shown[QUOTED_MAX + 1];
    size_t length = field.length < QUOTED_MAX ? field.length : QUOTED_MAX;
    for (size_t i = 0; i < length; i++)
        shown[i] = isprint((unsigned char)field.text[i]) ? field.text[i] : '?';
    shown[length] = '\0';
    const char *dots = field.length > QUOTED_MAX ? "..." : "";
    if (verdict == FIELD_TOO_LARGE)
        return sp_record_fail(error, "%s '%s%s' does not fit in 64 bits", name, shown, dots);
    return sp_record_fail(error, "bad %s '%s%s'", name, shown, dots);
}

// A record is consistent when a null pointer has no bytes, an event has a handle, and a column that
// has no meaning for the action holds 0. The column of the stream may hold anything.
static bool is_consistent(const struct sp_record *record, struct sp_trace_error *error) {
    const struct form *form = &forms[record->action];
    unsigned long long pointer = record->pointer, size = record->size;
    if (form->pointer == NOTHING && pointer != 0)
        return sp_record_fail(error, "'%s' with the pointer 0x%llx", form->word, pointer);
    if (form->pointer == EVENT && pointer == 0)
        return sp_record_fail(error, "'%s' with a null pointer for the event", form->word);
    if (form->size == NOTHING && size != 0)
        return sp_record_fail(error, "'%s' with a size of %llu", form->word, size);
    if (form->pointer == BLOCK && pointer == 0 && size != 0)
        return sp_record_fail(error, "a null pointer with a size of %llu", size);
    return true;
}

bool sp_record_parse(const char *line, size_t length, struct sp_record *record,
                     struct sp_trace_error *error) {
    struct field fields[FIELD_COUNT];
    size_t count = split(line, length, fields);
    if (count != FIELD_COUNT)
        return sp_record_fail(error, "expected %d fields, found %zu", FIELD_COUNT, count);
    uint64_t values[FIELD_COUNT] = {0};
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        enum verdict verdict = columns[i].parse(fields[i], &values[i]);
        if (verdict != FIELD_GOOD)
            return complain(columns[i].name, verdict, fields[i], error);
    }
    uint32_t action = (uint32_t)values[COLUMN_ACTION];
    *record = (struct sp_record){
        .action = (enum sp_trace_action)action,
        .place = (enum sp_trace_place)(values[COLUMN_ACTION] >> 32),
        .thread = values[COLUMN_THREAD],
        .pointer = values[COLUMN_POINTER],
        .size = values[COLUMN_SIZE],
        .stream = values[COLUMN_STREAM],
        .has_stream = forms[action].stream == STREAM,
    };
    return is_consistent(record, error);
}
