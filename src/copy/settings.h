// How copies of pageable memory are made: threads, chunks and their size. Each is what the program
// has set, else what a measurement has found, in this process or in one before it that has
// remembered it in a file, else what copies begin with.
#ifndef STREAMPOOL_COPY_SETTINGS_H
#define STREAMPOOL_COPY_SETTINGS_H

#include <stdbool.h>
#include <streampool/copy.h>

enum { SP_COPY_THREADS_MOST = 8, SP_COPY_DEPTH_MOST = 16 };

struct poolCopySettings sp_settings_get(void);

// How many the calling thread may use.
unsigned int sp_settings_processors(void);

// Null where they are good, else what is wrong.
const char *sp_settings_problem(const struct poolCopySettings *settings);

// Sets them; 0 stands for what the library chooses.
void sp_settings_set(const struct poolCopySettings *settings);

// Takes what a file remembers, and has it remember what is found; null: no file any more.
poolError_t sp_settings_remember(const char *path);

// True once in a process, where something is to be found: then the caller tells what it has found.
// A field that is 0 wasn't looked for, or not found.
bool sp_settings_begin_finding(struct poolCopySettings *set);
void sp_settings_end_finding(const struct poolCopySettings *result);

#endif
