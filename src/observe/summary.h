// The summary: what each pool did and what was not freed, as text on standard error or as JSON in a
// file, and the leaks.
//
//   {"process", "when": "end" or "signal",
//    "pools": a list, or null where a call holds on to a pool, as one does inside of which the
//    process ends:
//        {"name", "kind": "default", "other" or "destroyed", "device" (if it has memory of one),
//         "place", "count", "used_bytes", "used_high_bytes", "reserved_bytes",
//         "reserved_high_bytes", "statistics", "gauges"},
//    "not_freed": {"blocks", "bytes", "bytes_high", "unnoted_blocks"}}
#ifndef STREAMPOOL_OBSERVE_SUMMARY_H
#define STREAMPOOL_OBSERVE_SUMMARY_H

#include "process/observe_table.h"

// Keeps what the environment asks for. A file is named from the folder that the program is in now.
void sp_summary_begin(const struct sp_options *options);

// Writes it. At a signal that is what STREAMPOOL_STATS asks for, text without it, and no leaks. Is
// not called by two threads at once.
enum sp_summary_when { SP_SUMMARY_AT_END, SP_SUMMARY_AT_SIGNAL };
void sp_summary_write(enum sp_summary_when when);

#endif
