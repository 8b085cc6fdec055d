// The sentence of the calling thread's last failure. It isn't in thread-local memory, of which a
// library that is loaded into a running program gets little.
#ifndef STREAMPOOL_REGION_DETAIL_H
#define STREAMPOOL_REGION_DETAIL_H

#include <stdarg.h>

// A longer sentence is cut.
enum { SP_ERROR_DETAIL = 1024 };

// Writes it. Without host memory for it, it is cut sooner.
void sp_detail_write(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

// Reads it: "" where the thread has had no failure. Valid until the thread's next failure or end.
const char *sp_detail_read(void);

#endif
