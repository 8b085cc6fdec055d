// This makes a text UTF-8, whatever it was: the name of a file is any bytes, and JSON is UTF-8.
#ifndef STREAMPOOL_CLI_UTF8_H
#define STREAMPOOL_CLI_UTF8_H

// Returns a copy of the text with U+FFFD in the place of each byte that is no part of a character;
// null without host memory. The caller frees it.
char *sp_utf8_of(const char *text);

#endif
