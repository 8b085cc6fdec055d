#include "dropin/line.h"

static void put(struct sp_line *line, char byte) {
    if (line->length < line->room)
        line->text[line->length] = byte;
    line->length++;
}

static void put_all(struct sp_line *line, const char *text) {
    for (; *text; text++)
        put(line, *text);
}

// Control characters become spaces: no name that is told here has any.
static void put_quoted(struct sp_line *line, const char *text) {
    put(line, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            put(line, '\\');
        put(line, (unsigned char)*text < ' ' ? ' ' : *text);
    }
    put(line, '"');
}

// Begins a value: a comma stands between it and the one before.
static void begin(struct sp_line *line, const char *key) {
    char before = line->length > 0 && line->length <= line->room ? line->text[line->length - 1] : 0;
    if (before != 0 && before != '{' && before != '[')
        put(line, ',');
    if (key) {
        put_quoted(line, key);
        put(line, ':');
    }
}

void sp_line_open(struct sp_line *line, const char *key, char bracket) {
    begin(line, key);
    put(line, bracket);
}

void sp_line_close(struct sp_line *line, char bracket) {
    put(line, bracket == '{' ? '}' : ']');
}

void sp_line_number(struct sp_line *line, const char *key, uint64_t number) {
    char digits[20];
    int count = 0;
    begin(line, key);
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0)
        put(line, digits[--count]);
}

void sp_line_word(struct sp_line *line, const char *key, const char *word) {
    begin(line, key);
    put_all(line, word);
}

void sp_line_text(struct sp_line *line, const char *key, const char *text) {
    begin(line, key);
    put_quoted(line, text);
}

size_t sp_line_end(struct sp_line *line) {
    put(line, '\n');
    return line->length <= line->room ? line->length : 0;
}
