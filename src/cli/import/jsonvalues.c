// The stack of pickles does for JSON, too: a bracket pushes a list or a dictionary and a mark, and
// its counterpart puts into it what was marked. So nothing recurses, and no value is held twice.
#include "cli/import/jsonvalues.h"

#include "cli/import/stack.h"

#include <string.h>

enum { DEPTH_MAX = 512, NUMBER_KEPT = 32, END = -1 };

struct reader {
    struct sp_source *source;
    struct sp_values *values;
    struct sp_stack stack;
    char closers[DEPTH_MAX]; // of the lists and objects that are open
    size_t depth;
    const char *reason; // of a failure, in words; null when the values have it
};

static bool fail(struct reader *reader, const char *reason) {
    reader->reason = reason;
    return false;
}

// The next byte, which stays; END where there is none.
static int look(struct reader *reader) {
    const unsigned char *bytes;
    return sp_source_peek(reader->source, 1, &bytes) > 0 ? bytes[0] : END;
}

static bool is_space(int c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int look_behind_space(struct reader *reader) {
    int c = look(reader);
    while (is_space(c)) {
        sp_source_skip(reader->source, 1);
        c = look(reader);
    }
    return c;
}

static bool fail_at(struct reader *reader, int c, const char *reason) {
    return fail(reader, c == END ? sp_source_reason(reader->source) : reason);
}

static bool expect(struct reader *reader, char wanted, const char *reason) {
    int c = look_behind_space(reader);
    return c == wanted ? sp_source_skip(reader->source, 1) : fail_at(reader, c, reason);
}

static bool push(struct reader *reader, sp_value value) {
    return sp_stack_push(&reader->stack, value);
}

// ------------------------------------------------------------------------------- texts and numbers

// No word has a character that JSON escapes, so an escape is good for "other".
static bool read_text(struct reader *reader) {
    char text[SP_WORDS_LENGTH_MAX];
    size_t length = 0;
    bool is_long = false;
    sp_source_skip(reader->source, 1);
    for (int c; (c = look(reader)) != '"'; sp_source_skip(reader->source, 1)) {
        if (c < ' ')
            return fail_at(reader, c, "a text ends with a quote");
        is_long = is_long || c == '\\' || length == sizeof text;
        if (!is_long)
            text[length++] = (char)c;
        else if (c == '\\')
            sp_source_skip(reader->source, 1);
        if (is_long && look(reader) == END)
            return fail_at(reader, END, NULL);
    }
    sp_source_skip(reader->source, 1);
    return push(reader, is_long ? sp_values_simple(SP_VALUE_OTHER) : sp_values_text(text, length));
}

static bool read_literal(struct reader *reader, const char *literal) {
    for (size_t i = 0; literal[i]; i++) {
        int c = look(reader);
        if (c != literal[i])
            return fail_at(reader, c, "this is no value of JSON");
        sp_source_skip(reader->source, 1);
    }
    return true;
}

static bool is_digit(int c) {
    return c >= '0' && c <= '9';
}

static bool read_number(struct reader *reader) {
    uint64_t number = 0;
    bool is_whole = true, has_digit = false;
    int c;
    while (is_digit(c = look(reader)) || (c != END && c != 0 && strchr("+-.eE", c))) {
        has_digit = has_digit || is_digit(c);
        is_whole = is_whole && is_digit(c) && !__builtin_mul_overflow(number, 10, &number) &&
                   !__builtin_add_overflow(number, (uint64_t)(c - '0'), &number);
        sp_source_skip(reader->source, 1);
    }
    if (!has_digit)
        return fail_at(reader, c, "this is no value of JSON");
    return is_whole ? sp_stack_push_number(&reader->stack, number)
                    : push(reader, sp_values_simple(SP_VALUE_OTHER));
}

// --------------------------------------------------------------------------------- lists, objects

static bool open_one(struct reader *reader, char closer) {
    sp_source_skip(reader->source, 1);
    if (reader->depth == DEPTH_MAX)
        return fail(reader, "this nests too deep");
    reader->closers[reader->depth++] = closer;
    bool good = closer == ']' ? sp_stack_push_list(&reader->stack)
                              : sp_stack_push_dictionary(&reader->stack);
    return good && push(reader, sp_values_simple(SP_VALUE_MARK));
}

static bool close_one(struct reader *reader) {
    sp_source_skip(reader->source, 1);
    return reader->closers[--reader->depth] == ']' ? sp_stack_append_marked(&reader->stack)
                                                   : sp_stack_set_marked(&reader->stack);
}

static bool read_value(struct reader *reader) {
    int c = look_behind_space(reader);
    switch (c) {
    case '[':
        return open_one(reader, ']');
    case '{':
        return open_one(reader, '}');
    case '"':
        return read_text(reader);
    case 't':
        return read_literal(reader, "true") && sp_stack_push_number(&reader->stack, 1);
    case 'f':
        return read_literal(reader, "false") && sp_stack_push_number(&reader->stack, 0);
    case 'n':
        return read_literal(reader, "null") && push(reader, sp_values_simple(SP_VALUE_OTHER));
    default:
        return read_number(reader);
    }
}

static bool read_key(struct reader *reader) {
    int c = look_behind_space(reader);
    if (c != '"')
        return fail_at(reader, c, "an object has a text as a key");
    return read_text(reader) && expect(reader, ':', "a colon follows a key");
}

static bool read_member(struct reader *reader) {
    bool is_list = reader->closers[reader->depth - 1] == ']';
    return (is_list || read_key(reader)) && read_value(reader);
}

static bool read_member_behind_comma(struct reader *reader) {
    return expect(reader, ',', "a comma or a bracket follows a value") && read_member(reader);
}

// `is_empty`: the innermost list or object was opened by the last step.
static bool read_step(struct reader *reader, bool is_empty) {
    if (look_behind_space(reader) == reader->closers[reader->depth - 1])
        return close_one(reader);
    return is_empty ? read_member(reader) : read_member_behind_comma(reader);
}

static bool read_all(struct reader *reader) {
    size_t depth = reader->depth;
    if (!read_value(reader))
        return false;
    while (reader->depth > 0) {
        bool is_empty = reader->depth > depth;
        depth = reader->depth;
        if (!read_step(reader, is_empty))
            return false;
    }
    int c = look_behind_space(reader);
    if (c != END)
        return fail(reader, "something stands behind the value");
    return !reader->source->trouble || fail(reader, reader->source->trouble);
}

bool sp_jsonvalues_read(struct sp_source *source, struct sp_values *values, sp_value *root,
                        struct sp_trace_error *error) {
    struct reader reader = {.source = source, .values = values, .stack = {.values = values}};
    bool good = read_all(&reader) && sp_stack_pop(&reader.stack, root);
    if (!good)
        snprintf(error->reason, sizeof error->reason, "byte %llu: %s",
                 (unsigned long long)source->offset,
                 reader.reason ? reader.reason : values->trouble);
    sp_stack_release(&reader.stack);
    return good;
}

bool sp_jsonvalues_begins(const unsigned char *bytes, size_t count) {
    size_t i = 0;
    while (i < count && is_space(bytes[i]))
        i++;
    return i < count && (bytes[i] == '{' || bytes[i] == '[');
}
