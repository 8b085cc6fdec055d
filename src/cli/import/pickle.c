// A pickle is a program for a machine with a stack (stack.h). Its opcodes stand in one table: code,
// the name that Python's pickletools has for it, and what is done.
#include "cli/import/pickle.h"

#include "cli/import/stack.h"

enum { PROTOCOL_MAX = 5, LINE_KEPT = 64 };

struct reader {
    struct sp_source *source;
    struct sp_values *values;
    struct sp_stack stack;
    unsigned char code;
    bool stopped;
    const char *reason; // of a failure, in words; null when the values have it
};

static bool fail(struct reader *reader, const char *reason) {
    reader->reason = reason;
    return false;
}

// ----------------------------------------------------------------------------------- the arguments

static bool take(struct reader *reader, void *bytes, size_t count) {
    return sp_source_take(reader->source, bytes, count) ||
           fail(reader, sp_source_reason(reader->source));
}

static bool skip(struct reader *reader, uint64_t count) {
    return sp_source_skip(reader->source, count) || fail(reader, sp_source_reason(reader->source));
}

// A number of `size` bytes, the lowest first.
static bool take_number(struct reader *reader, size_t size, uint64_t *number) {
    unsigned char bytes[8];
    if (!take(reader, bytes, size))
        return false;
    *number = 0;
    for (size_t i = size; i > 0; i--)
        *number = *number << 8 | bytes[i - 1];
    return true;
}

// A line without its newline. Of a long one, only the beginning is kept; `length` is the whole.
static bool take_line(struct reader *reader, char text[LINE_KEPT], uint64_t *length) {
    for (*length = 0;; (*length)++) {
        char c;
        if (!take(reader, &c, 1))
            return false;
        if (c == '\n')
            return true;
        if (*length < LINE_KEPT)
            text[*length] = c;
    }
}

static bool are_digits(const char *text, uint64_t length) {
    for (uint64_t i = 0; i < length; i++)
        if (i == LINE_KEPT || text[i] < '0' || text[i] > '9')
            return false;
    return length > 0;
}

// False when the digits are more than 64 bits.
static bool number_of_digits(const char *text, uint64_t length, uint64_t *number) {
    *number = 0;
    for (uint64_t i = 0; i < length; i++)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(text[i] - '0'), number))
            return false;
    return true;
}

// ------------------------------------------------------------------------------------------ values

static bool push_other(struct reader *reader) {
    return sp_stack_push(&reader->stack, sp_values_simple(SP_VALUE_OTHER));
}

static bool push_number(struct reader *reader, uint64_t number) {
    return sp_stack_push_number(&reader->stack, number);
}

static bool push_text(struct reader *reader, size_t size_of_length) {
    uint64_t length;
    char text[SP_WORDS_LENGTH_MAX];
    if (!take_number(reader, size_of_length, &length))
        return false;
    if (length > sizeof text)
        return skip(reader, length) && push_other(reader);
    return take(reader, text, (size_t)length) &&
           sp_stack_push(&reader->stack, sp_values_text(text, (size_t)length));
}

static bool push_text_4(struct reader *reader) {
    return push_text(reader, 4);
}

static bool push_text_1(struct reader *reader) {
    return push_text(reader, 1);
}

static bool push_text_8(struct reader *reader) {
    return push_text(reader, 8);
}

static bool push_unicode(struct reader *reader) {
    char text[LINE_KEPT];
    uint64_t length;
    if (!take_line(reader, text, &length))
        return false;
    if (length > LINE_KEPT)
        return push_other(reader);
    return sp_stack_push(&reader->stack, sp_values_text(text, (size_t)length));
}

// Python 2 writes a text in quotes.
static bool push_string(struct reader *reader) {
    char text[LINE_KEPT];
    uint64_t length;
    if (!take_line(reader, text, &length))
        return false;
    if (length > LINE_KEPT)
        return push_other(reader);
    if (length < 2 || (text[0] != '\'' && text[0] != '"') || text[length - 1] != text[0])
        return fail(reader, "the text has no quotes");
    return sp_stack_push(&reader->stack, sp_values_text(text + 1, (size_t)length - 2));
}

// "00" and "01" are False and True, which are 0 and 1 in Python, too. A number has an L behind it
// where the opcode is LONG. Negative ones and those beyond 64 bits are "other".
static bool push_int(struct reader *reader) {
    char text[LINE_KEPT];
    uint64_t length, number;
    if (!take_line(reader, text, &length))
        return false;
    if (length > LINE_KEPT)
        return push_other(reader);
    if (length > 0 && text[length - 1] == 'L')
        length--;
    size_t sign = length > 0 && text[0] == '-';
    if (!are_digits(text + sign, length - sign))
        return fail(reader, "this is no whole number");
    if (sign == 0 && number_of_digits(text, length, &number))
        return push_number(reader, number);
    return push_other(reader);
}

static bool push_float(struct reader *reader) {
    char text[LINE_KEPT];
    uint64_t length;
    return take_line(reader, text, &length) && push_other(reader);
}

static bool push_binfloat(struct reader *reader) {
    return skip(reader, 8) && push_other(reader);
}

static bool push_binint(struct reader *reader) {
    uint64_t number;
    if (!take_number(reader, 4, &number))
        return false;
    return number > INT32_MAX ? push_other(reader) : push_number(reader, number);
}

static bool push_binint1(struct reader *reader) {
    uint64_t number;
    return take_number(reader, 1, &number) && push_number(reader, number);
}

static bool push_binint2(struct reader *reader) {
    uint64_t number;
    return take_number(reader, 2, &number) && push_number(reader, number);
}

// The highest bit is the sign, so 2^63 and more have a ninth byte, which is 0.
static bool push_long(struct reader *reader, uint64_t length) {
    unsigned char high = 0;
    uint64_t number;
    if (length > 9)
        return skip(reader, length) && push_other(reader);
    if (!take_number(reader, length > 8 ? 8 : (size_t)length, &number))
        return false;
    if (length == 9 && !take(reader, &high, 1))
        return false;
    bool is_negative = length > 0 && length < 9 && number >> (8 * length - 1) != 0;
    return is_negative || high != 0 ? push_other(reader) : push_number(reader, number);
}

static bool push_long1(struct reader *reader) {
    uint64_t length;
    return take_number(reader, 1, &length) && push_long(reader, length);
}

static bool push_long4(struct reader *reader) {
    uint64_t length;
    if (!take_number(reader, 4, &length))
        return false;
    return length > INT32_MAX ? fail(reader, "the length is negative") : push_long(reader, length);
}

static bool push_true(struct reader *reader) {
    return push_number(reader, 1);
}

static bool push_false(struct reader *reader) {
    return push_number(reader, 0);
}

// ------------------------------------------------------------------------------ lists and the like

static bool push_mark(struct reader *reader) {
    return sp_stack_push(&reader->stack, sp_values_simple(SP_VALUE_MARK));
}

static bool push_list(struct reader *reader) {
    return sp_stack_push_list(&reader->stack);
}

static bool push_dictionary(struct reader *reader) {
    return sp_stack_push_dictionary(&reader->stack);
}

static bool append(struct reader *reader) {
    return sp_stack_append(&reader->stack);
}

static bool append_marked(struct reader *reader) {
    return sp_stack_append_marked(&reader->stack);
}

static bool set(struct reader *reader) {
    return sp_stack_set(&reader->stack);
}

static bool set_marked(struct reader *reader) {
    return sp_stack_set_marked(&reader->stack);
}

static bool make_list(struct reader *reader) {
    return sp_stack_make_marked_list(&reader->stack);
}

static bool make_dictionary(struct reader *reader) {
    return sp_stack_make_marked_dictionary(&reader->stack);
}

static bool make_tuple1(struct reader *reader) {
    return sp_stack_make_list(&reader->stack, 1);
}

static bool make_tuple2(struct reader *reader) {
    return sp_stack_make_list(&reader->stack, 2);
}

static bool make_tuple3(struct reader *reader) {
    return sp_stack_make_list(&reader->stack, 3);
}

static bool pop_marked(struct reader *reader) {
    return sp_stack_pop_marked(&reader->stack);
}

static bool make_set(struct reader *reader) {
    return pop_marked(reader) && push_other(reader);
}

static bool pop(struct reader *reader) {
    sp_value value;
    return sp_stack_pop(&reader->stack, &value);
}

static bool duplicate(struct reader *reader) {
    return sp_stack_duplicate(&reader->stack);
}

// ---------------------------------------------------------------------------------------- the memo

static bool take_memo_line(struct reader *reader, uint64_t *index) {
    char text[LINE_KEPT];
    uint64_t length;
    if (!take_line(reader, text, &length))
        return false;
    return (are_digits(text, length) && number_of_digits(text, length, index)) ||
           fail(reader, "this is no number of the memo");
}

static bool get(struct reader *reader) {
    uint64_t index;
    return take_memo_line(reader, &index) && sp_stack_get(&reader->stack, index);
}

static bool get_1(struct reader *reader) {
    uint64_t index;
    return take_number(reader, 1, &index) && sp_stack_get(&reader->stack, index);
}

static bool get_4(struct reader *reader) {
    uint64_t index;
    return take_number(reader, 4, &index) && sp_stack_get(&reader->stack, index);
}

static bool put(struct reader *reader) {
    uint64_t index;
    return take_memo_line(reader, &index) && sp_stack_put(&reader->stack, index);
}

static bool put_1(struct reader *reader) {
    uint64_t index;
    return take_number(reader, 1, &index) && sp_stack_put(&reader->stack, index);
}

static bool put_4(struct reader *reader) {
    uint64_t index;
    return take_number(reader, 4, &index) && sp_stack_put(&reader->stack, index);
}

static bool memoize(struct reader *reader) {
    return sp_stack_put_next(&reader->stack);
}

// --------------------------------------------------------------------------------------- the frame

static bool check_protocol(struct reader *reader) {
    uint64_t protocol;
    return take_number(reader, 1, &protocol) &&
           (protocol <= PROTOCOL_MAX || fail(reader, "only protocols 0 to 5 are known"));
}

// How long a frame is helps those who read ahead.
static bool skip_frame_length(struct reader *reader) {
    return skip(reader, 8);
}

static bool stop(struct reader *reader) {
    reader->stopped = true;
    return true;
}

static bool refuse(struct reader *reader) {
    return fail(reader, "it would run code or build an object, and nothing of that is done here");
}

static bool refuse_buffer(struct reader *reader) {
    return fail(reader, "the buffer that it names is not in the file");
}

// ------------------------------------------------------------------------------------- the opcodes

//   X(code, name, what is done)
#define OPCODES(X)                                                                                 \
    X('(', MARK, push_mark)                                                                        \
    X('.', STOP, stop)                                                                             \
    X('0', POP, pop)                                                                               \
    X('1', POP_MARK, pop_marked)                                                                   \
    X('2', DUP, duplicate)                                                                         \
    X('F', FLOAT, push_float)                                                                      \
    X('I', INT, push_int)                                                                          \
    X('J', BININT, push_binint)                                                                    \
    X('K', BININT1, push_binint1)                                                                  \
    X('L', LONG, push_int)                                                                         \
    X('M', BININT2, push_binint2)                                                                  \
    X('N', NONE, push_other)                                                                       \
    X('P', PERSID, refuse)                                                                         \
    X('Q', BINPERSID, refuse)                                                                      \
    X('R', REDUCE, refuse)                                                                         \
    X('S', STRING, push_string)                                                                    \
    X('T', BINSTRING, push_text_4)                                                                 \
    X('U', SHORT_BINSTRING, push_text_1)                                                           \
    X('V', UNICODE, push_unicode)                                                                  \
    X('X', BINUNICODE, push_text_4)                                                                \
    X('a', APPEND, append)                                                                         \
    X('b', BUILD, refuse)                                                                          \
    X('c', GLOBAL, refuse)                                                                         \
    X('d', DICT, make_dictionary)                                                                  \
    X('}', EMPTY_DICT, push_dictionary)                                                            \
    X('e', APPENDS, append_marked)                                                                 \
    X('g', GET, get)                                                                               \
    X('h', BINGET, get_1)                                                                          \
    X('i', INST, refuse)                                                                           \
    X('j', LONG_BINGET, get_4)                                                                     \
    X('l', LIST, make_list)                                                                        \
    X(']', EMPTY_LIST, push_list)                                                                  \
    X('o', OBJ, refuse)                                                                            \
    X('p', PUT, put)                                                                               \
    X('q', BINPUT, put_1)                                                                          \
    X('r', LONG_BINPUT, put_4)                                                                     \
    X('s', SETITEM, set)                                                                           \
    X('t', TUPLE, make_list)                                                                       \
    X(')', EMPTY_TUPLE, push_list)                                                                 \
    X('u', SETITEMS, set_marked)                                                                   \
    X('G', BINFLOAT, push_binfloat)                                                                \
    X('B', BINBYTES, push_text_4)                                                                  \
    X('C', SHORT_BINBYTES, push_text_1)                                                            \
    X(0x80, PROTO, check_protocol)                                                                 \
    X(0x81, NEWOBJ, refuse)                                                                        \
    X(0x82, EXT1, refuse)                                                                          \
    X(0x83, EXT2, refuse)                                                                          \
    X(0x84, EXT4, refuse)                                                                          \
    X(0x85, TUPLE1, make_tuple1)                                                                   \
    X(0x86, TUPLE2, make_tuple2)                                                                   \
    X(0x87, TUPLE3, make_tuple3)                                                                   \
    X(0x88, NEWTRUE, push_true)                                                                    \
    X(0x89, NEWFALSE, push_false)                                                                  \
    X(0x8a, LONG1, push_long1)                                                                     \
    X(0x8b, LONG4, push_long4)                                                                     \
    X(0x8c, SHORT_BINUNICODE, push_text_1)                                                         \
    X(0x8d, BINUNICODE8, push_text_8)                                                              \
    X(0x8e, BINBYTES8, push_text_8)                                                                \
    X(0x8f, EMPTY_SET, push_other)                                                                 \
    X(0x90, ADDITEMS, pop_marked)                                                                  \
    X(0x91, FROZENSET, make_set)                                                                   \
    X(0x92, NEWOBJ_EX, refuse)                                                                     \
    X(0x93, STACK_GLOBAL, refuse)                                                                  \
    X(0x94, MEMOIZE, memoize)                                                                      \
    X(0x95, FRAME, skip_frame_length)                                                              \
    X(0x96, BYTEARRAY8, push_text_8)                                                               \
    X(0x97, NEXT_BUFFER, refuse_buffer)                                                            \
    X(0x98, READONLY_BUFFER, refuse_buffer)

static const struct opcode {
    const char *name;
    bool (*run)(struct reader *reader);
} opcodes[256] = {
#define OPCODE_ROW(code, name, run) [code] = {#name, run},
    OPCODES(OPCODE_ROW)
#undef OPCODE_ROW
};

static bool run_opcode(struct reader *reader) {
    if (!take(reader, &reader->code, 1))
        return false;
    if (!opcodes[reader->code].run)
        return fail(reader, "this is no opcode of a pickle");
    return opcodes[reader->code].run(reader);
}

// Notes where it failed: at which byte, by which opcode, and why.
static void describe(const struct reader *reader, uint64_t offset, struct sp_trace_error *error) {
    const char *reason = reader->reason ? reader->reason : reader->values->trouble;
    const char *name = opcodes[reader->code].name;
    if (offset == reader->source->offset) // not even the opcode came
        snprintf(error->reason, sizeof error->reason, "byte %llu: %s", (unsigned long long)offset,
                 reason);
    else if (name)
        snprintf(error->reason, sizeof error->reason, "byte %llu: %s: %s",
                 (unsigned long long)offset, name, reason);
    else
        snprintf(error->reason, sizeof error->reason, "byte %llu: 0x%02x: %s",
                 (unsigned long long)offset, reader->code, reason);
}

static bool run_all(struct reader *reader, struct sp_trace_error *error) {
    uint64_t offset;
    do {
        offset = reader->source->offset;
        if (!run_opcode(reader)) {
            describe(reader, offset, error);
            return false;
        }
    } while (!reader->stopped);
    return true;
}

// The value that is left, and nothing behind it.
static bool finish(struct reader *reader, sp_value *root, struct sp_trace_error *error) {
    uint64_t offset = reader->source->offset;
    const unsigned char *behind;
    const char *reason = NULL;
    if (!sp_stack_pop(&reader->stack, root))
        reason = reader->values->trouble;
    else if (sp_source_peek(reader->source, 1, &behind) > 0)
        reason = "something stands behind the pickle";
    else if (reader->source->trouble)
        reason = reader->source->trouble;
    if (reason)
        snprintf(error->reason, sizeof error->reason, "byte %llu: %s", (unsigned long long)offset,
                 reason);
    return !reason;
}

bool sp_pickle_read(struct sp_source *source, struct sp_values *values, sp_value *root,
                    struct sp_trace_error *error) {
    struct reader reader = {.source = source, .values = values, .stack = {.values = values}};
    bool good = run_all(&reader, error) && finish(&reader, root, error);
    sp_stack_release(&reader.stack);
    return good;
}

// From protocol 2 on, a pickle begins with PROTO. Before that, with that of a dictionary or list,
// and where it is kept in the memo.
bool sp_pickle_begins(const unsigned char *bytes, size_t count) {
    if (count >= 1 && bytes[0] == 0x80)
        return true;
    if (count >= 2 && bytes[0] == '(')
        return bytes[1] == 'd' || bytes[1] == 'l';
    return count >= 2 && (bytes[0] == '}' || bytes[0] == ']') &&
           (bytes[1] == 'q' || bytes[1] == '.' || bytes[1] == '(');
}
