// sp_lines reads the lines of a text file, plain or gzipped, one after the other, without a place
// to go back to: a pipe will do.
//
// The caller owns the struct and the file in it; a line that was handed out stays valid until the
// next call. A line ends at a newline, with or without a carriage return before it, or at the end
// of the file. Not thread safe.
#ifndef STREAMPOOL_CLI_LINES_H
#define STREAMPOOL_CLI_LINES_H

#include <stdbool.h>
#include <stddef.h>

#define SP_LINE_LENGTH_MAX 512

enum sp_line_result { SP_LINE_READ, SP_LINE_END, SP_LINE_FAILED };

struct sp_lines {
    struct sp_unpack *file;
    char *buffer;
    size_t begin; // buffer[begin, end) is read and not handed out yet
    size_t end;
    bool exhausted;       // nothing more comes from the file
    const char *trouble;  // why the file ended before its time, or null
    unsigned long number; // of the line that was asked for last; the first one is 1
};

// Opens a file. False, with the reason in words, when it can't be opened or is a directory, or
// without host memory.
bool sp_lines_open(struct sp_lines *lines, const char *path, const char **reason);
void sp_lines_close(struct sp_lines *lines);

// Hands out the next line, without its end. SP_LINE_FAILED leaves the reason in `reason`: a line
// that is too long, a cut or corrupt gzip stream, something else behind one, a read error. Lines
// before the trouble are handed out first.
enum sp_line_result sp_lines_next(struct sp_lines *lines, const char **text, size_t *length,
                                  const char **reason);

#endif
