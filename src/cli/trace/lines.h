// sp_lines reads the lines of a text file, plain or gzipped, one after the other.
//
// The caller owns the struct and the file in it; a line that was handed out stays valid until the
// next call. A line ends at a newline, with or without a carriage return before it, or at the end
// of the file. Not thread safe. A struct with nothing but a source in it, from which nothing was
// taken, is as good as one that was opened by its path.
#ifndef STREAMPOOL_CLI_LINES_H
#define STREAMPOOL_CLI_LINES_H

#include "cli/trace/source.h"

#include <stdbool.h>
#include <stddef.h>

#define SP_LINE_LENGTH_MAX 512

enum sp_line_result { SP_LINE_READ, SP_LINE_END, SP_LINE_FAILED };

struct sp_lines {
    struct sp_source source;
    size_t taken;         // bytes of the line that was handed out last, with its end
    bool has_newline;     // that line ended with one, and not with the file
    unsigned long number; // of the line that was asked for last; the first one is 1
};

// Opens a file, as sp_source_open() does.
bool sp_lines_open(struct sp_lines *lines, const char *path, const char **reason);
void sp_lines_close(struct sp_lines *lines);

// Hands out the next line, without its end. SP_LINE_FAILED leaves the reason in `reason`: a line
// that is too long, a cut or corrupt gzip stream, something else behind one, a read error. Lines
// before the trouble are handed out first.
enum sp_line_result sp_lines_next(struct sp_lines *lines, const char **text, size_t *length,
                                  const char **reason);

#endif
