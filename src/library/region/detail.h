// The sentence of the calling thread's last failure, and the driver's entry point that failed. They
// aren't in thread-local memory, of which a library that is loaded into a running program gets
// little.
//
// Without host memory the sentence is cut sooner. Where very many threads are without it, some read
// instead that there was none.
#ifndef STREAMPOOL_REGION_DETAIL_H
#define STREAMPOOL_REGION_DETAIL_H

#include <stdarg.h>

// A longer sentence is cut.
enum { SP_ERROR_DETAIL = 1024 };

// Writes the sentence of a failure that the driver had no part in.
void sp_detail_write(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

// Adds an entry point to what was written last.
void sp_detail_set_entry_point(const char *entry_point);

// Each is "" where the thread has had no failure. The sentence is valid until the thread's next
// failure or end.
const char *sp_detail_read(void);
const char *sp_detail_entry_point(void);

#endif
