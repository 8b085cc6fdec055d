#include "cli/program/page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static bool continues(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t columns_in(const char *text, size_t length) {
    size_t columns = 0;
    for (size_t i = 0; i < length; i++)
        columns += !continues(text[i]);
    return columns;
}

size_t sp_page_columns_of(const char *text) {
    return columns_in(text, strlen(text));
}

// A line that is being printed.
struct line {
    FILE *out;
    size_t title, indent, column;
};

static void go_on(struct line *line) {
    fprintf(line->out, "\n%*s", (int)line->indent, "");
    line->column = line->indent;
}

// Prints a word, and before it the blanks that part it from the one before. Directly behind a title
// it stands in any case.
static void print_word(struct line *line, size_t blanks, const char *word, size_t length) {
    size_t columns = columns_in(word, length);
    bool is_cut = columns > SP_PAGE_COLUMNS - line->indent && !memchr(word, '/', length);
    if (line->column > 0 && line->column + blanks > line->title &&
        line->column + blanks + columns > SP_PAGE_COLUMNS) {
        go_on(line);
        blanks = 0;
    }
    fprintf(line->out, "%*s", (int)blanks, "");
    line->column += blanks;
    for (size_t i = 0; i < length; i++) {
        if (is_cut && line->column == SP_PAGE_COLUMNS && !continues(word[i]))
            go_on(line);
        fputc(word[i], line->out);
        line->column += !continues(word[i]);
    }
}

static void print_wrapped(const struct sp_page *page, const char *text) {
    struct line line = {page->out, page->title, page->title > 0 ? page->title : 4, 0};
    while (*text) {
        size_t blanks = strspn(text, " ");
        size_t length = strcspn(text + blanks, " \n");
        print_word(&line, blanks, text + blanks, length);
        text += blanks + length;
        if (*text != '\n')
            continue;
        fputc('\n', line.out);
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
        print_wrapped(page, text);
        free(text);
        return;
    }
    va_start(arguments, format);
    vfprintf(page->out, format, arguments);
    va_end(arguments);
}
