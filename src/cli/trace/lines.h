// sp_lines reads the lines of a text file, one after the other, without a place to go back to: a
// pipe will do. A gzipped file is unpacked, which its first two bytes tell; as the format says,
// gzip streams that stand one behind the other are one file.
//
// A line that was handed out stays valid until the next call. It ends at a newline, with or without
// a carriage return before it, or at the end of the file. Not thread safe.
#ifndef STREAMPOOL_CLI_LINES_H
#define STREAMPOOL_CLI_LINES_H

#include <stddef.h>

#define SP_LINE_LENGTH_MAX 512

enum sp_line_result { SP_LINE_READ, SP_LINE_END, SP_LINE_FAILED };

struct sp_lines;

// Opens a file. Null, with the reason in words, when it can't be opened or is a directory, or
// without host memory.
struct sp_lines *sp_lines_open(const char *path, const char **reason);
void sp_lines_close(struct sp_lines *lines);

// Hands out the next line, without its end. SP_LINE_FAILED leaves the reason in `reason`: a line
// that is too long, a cut or corrupt gzip stream, something else behind one, a read error. Lines
// before the trouble are handed out first.
enum sp_line_result sp_lines_next(struct sp_lines *lines, const char **text, size_t *length,
                                  const char **reason);

#endif
