// The log: whole lines on standard error, each with the prefix "streampool: ", for a person who
// asks for them with STREAMPOOL_LOG=error|warn|info|debug. It is off unless asked for. What is
// wrong with an option is written at any level, as are answers to what other options ask for.
//
// The functions are thread safe. A line is written by one write(2) without stdio or an allocation,
// so it may be written from any place, and lines of several threads do not mix. A line longer than
// SP_LOG_LINE bytes is cut.
#ifndef STREAMPOOL_BASE_LOG_H
#define STREAMPOOL_BASE_LOG_H

#include <stdbool.h>

#define SP_LOG_LINE 1024

// X(level, name), from the level with the fewest lines to that with the most.
#define SP_LOG_LEVELS(X)                                                                           \
    X(SP_LOG_ERROR, "error")                                                                       \
    X(SP_LOG_WARN, "warn")                                                                         \
    X(SP_LOG_INFO, "info")                                                                         \
    X(SP_LOG_DEBUG, "debug")

enum sp_log_level {
    SP_LOG_OFF,
#define SP_LOG_ENUMERATOR(level, name) level,
    SP_LOG_LEVELS(SP_LOG_ENUMERATOR)
#undef SP_LOG_ENUMERATOR
};

// True when lines of this level are written.
bool sp_log_enabled(enum sp_log_level level);

// Writes one line at any level. The format has no newline at its end.
void sp_log_write(const char *format, ...) __attribute__((format(printf, 1, 2)));

// The arguments are evaluated only when the line is written.
#define sp_log(level, ...) (sp_log_enabled(level) ? sp_log_write(__VA_ARGS__) : (void)0)
#define sp_log_error(...)  sp_log(SP_LOG_ERROR, __VA_ARGS__)
#define sp_log_warn(...)   sp_log(SP_LOG_WARN, __VA_ARGS__)
#define sp_log_info(...)   sp_log(SP_LOG_INFO, __VA_ARGS__)
#define sp_log_debug(...)  sp_log(SP_LOG_DEBUG, __VA_ARGS__)

#endif
