// The end of a file needs care: where a gzip stream is cut or corrupt, the lines before the trouble
// are handed out, and a line without its end is not.
#include "cli/trace/lines.h"

#include <string.h>

#define SP_TEXT(value)    #value
#define SP_TEXT_OF(macro) SP_TEXT(macro)

// The longest line, with a carriage return and a newline.
enum { WITH_END_MAX = SP_LINE_LENGTH_MAX + 2 };

bool sp_lines_open(struct sp_lines *lines, const char *path, const char **reason) {
    *lines = (struct sp_lines){.number = 0};
    return sp_source_open(&lines->source, path, reason);
}

void sp_lines_close(struct sp_lines *lines) {
    sp_source_close(&lines->source);
}

static size_t without_carriage_return(const char *text, size_t length) {
    return length > 0 && text[length - 1] == '\r' ? length - 1 : length;
}

enum sp_line_result sp_lines_next(struct sp_lines *lines, const char **text, size_t *length,
                                  const char **reason) {
    sp_source_skip(&lines->source, lines->taken);
    lines->taken = 0;
    lines->number++;
    const unsigned char *bytes;
    size_t available = sp_source_peek(&lines->source, WITH_END_MAX, &bytes);
    size_t searched = available < WITH_END_MAX ? available : WITH_END_MAX;
    const unsigned char *newline = memchr(bytes, '\n', searched);
    size_t raw = newline ? (size_t)(newline - bytes) : searched;
    bool at_end = !newline && searched < WITH_END_MAX;
    if (at_end && lines->source.trouble) {
        *reason = lines->source.trouble;
        return SP_LINE_FAILED;
    }
    if (at_end && raw == 0)
        return SP_LINE_END;
    *text = (const char *)bytes;
    *length = without_carriage_return(*text, raw);
    if (*length > SP_LINE_LENGTH_MAX) {
        *reason = "line longer than " SP_TEXT_OF(SP_LINE_LENGTH_MAX) " characters";
        return SP_LINE_FAILED;
    }
    lines->has_newline = newline != NULL;
    lines->taken = raw + lines->has_newline;
    return SP_LINE_READ;
}
