#include "cli/program/page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 4 };

static bool continues(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t sp_page_columns_of(const char *text) {
    size_t columns = 0;
    for (; *text; text++)
        columns += !continues(*text);
    return columns;
}

// A line that is being printed.
struct line {
    FILE *out;
    size_t column;
};

static void go_on(struct line *line) {
    fprintf(line->out, "\n%*s", INDENT, "");
    line->column = INDENT;
}

static void print(struct line *line, const char *text, size_t length, size_t columns) {
    fwrite(text, 1, length, line->out);
    line->column += columns;
}

static void print_in_parts(struct line *line, const char *word, size_t length) {
    for (size_t i = 0; i < length; i++) {
        bool begins = !continues(word[i]);
        if (begins && line->column == SP_PAGE_COLUMNS)
            go_on(line);
        print(line, &word[i], 1, begins);
    }
}

// Prints a word, and before it the blanks that part it from the one before.
static void print_word(struct line *line, size_t blanks, const char *word, size_t length) {
    size_t columns = 0;
    for (size_t i = 0; i < length; i++)
        columns += !continues(word[i]);
    if (line->column > 0 && line->column + blanks + columns > SP_PAGE_COLUMNS) {
        go_on(line);
        blanks = 0;
    }
    fprintf(line->out, "%*s", (int)blanks, "");
    line->column += blanks;
    if (columns <= SP_PAGE_COLUMNS - INDENT || memchr(word, '/', length))
        print(line, word, length, columns);
    else
        print_in_parts(line, word, length);
}

static void print_wrapped(FILE *out, const char *text) {
    struct line line = {.out = out};
    while (*text) {
        size_t blanks = strspn(text, " ");
        size_t length = strcspn(text + blanks, " \n");
        print_word(&line, blanks, text + blanks, length);
        text += blanks + length;
        if (*text != '\n')
            continue;
        fputc('\n', out);
        line.column = 0;
        text++;
    }
}

// Without host memory the lines are printed as long as they are.
void sp_page_say(const struct sp_page *page, const char *format, ...) {
    va_list arguments;
    char *text = NULL;
    va_start(arguments, format);
    if (page->wide || vasprintf(&text, format, arguments) < 0)
        text = NULL;
    va_end(arguments);
    if (text) {
        print_wrapped(page->out, text);
        free(text);
        return;
    }
    va_start(arguments, format);
    vfprintf(page->out, format, arguments);
    va_end(arguments);
}
