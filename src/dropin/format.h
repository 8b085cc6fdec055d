// The report of a process to `streampool run`: a line of JSON for each event, appended to the file
// that the variable names, with one write. The drop-in writes it and `streampool run` reads it, so
// both have their words from here.
//
//   {"event": "load", "pid", "parent", "program"}     the drop-in is in a process
//   {"event": "start", "pid"}                         the process made its first pool call
//   {"event": "end", "pid", ...}                      the process ended by exit()
//
// The line of the end has also
//
//   "forked"      true in a forked child: it goes on with the parent's functions
//   "driver"      the path of the driver's library, or ""
//   "started"     "served", "refused" or "no"
//   "error"       the code with which the library refused
//   "counts"      an object with SP_REPORT_COUNTS
//   "pools"       a list of "device" (if it has memory of one), "place" (but for destroyed ones),
//                 "kind", "name", "count", "used_high", "reserved_high"; null where the process
//                 ended inside a call
//   "statistics"  an object with the sums of STREAMPOOL_POOL_STATISTICS; null likewise
//   "cuda"        the driver's own default pools: a list of "device", "used_high",
//                 "reserved_high"
//   "routes"      an object with SP_REPORT_ROUTES, each with "lookups" and "ours"
//   "askers"      the libraries that made look-ups: a list of "name", "lookups", "ours"
//   "linked"      those that are linked with names of ours: a list of "name", "names"
#ifndef STREAMPOOL_DROPIN_FORMAT_H
#define STREAMPOOL_DROPIN_FORMAT_H

#define SP_REPORT_VARIABLE "STREAMPOOL_DROPIN_REPORT"

// The counts of calls that succeeded, and times:
//   X(name, group, what)
// The groups: OURS and CUDAS are of allocations and frees. OTHER has the rest; times are in
// nanoseconds.
// clang-format off
#define SP_REPORT_COUNTS(X) \
    X(allocations, OURS, "allocations") \
    X(frees, OURS, "frees") \
    X(cuda_captured, CUDAS, "in streams that capture") \
    X(cuda_pool, CUDAS, "from pools that stay CUDA's, such as exportable and imported ones") \
    X(cuda_unsupported, CUDAS, "on a device without virtual memory management") \
    X(cuda_unserved, CUDAS, "because streampool couldn't start") \
    X(cuda_frees, OTHER, "frees of CUDA's memory") \
    X(pool_calls, OTHER, "pool calls that streampool answered") \
    X(pool_time, OTHER, "nanoseconds in them") \
    X(order_calls, OTHER, "calls about streams and events that streampool made for the program") \
    X(order_time, OTHER, "nanoseconds in them, with the driver's own and its waits") \
    X(start_time, OTHER, "nanoseconds in which streampool started")

// The ways by which a program asks for a function of the driver: X(name, what)
#define SP_REPORT_ROUTES(X) \
    X(dlsym, "dlsym, dlvsym") \
    X(ask1, "cuGetProcAddress") \
    X(ask2, "cuGetProcAddress_v2")
// clang-format on

#endif
