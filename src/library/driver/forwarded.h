// A library may stand in front of the driver under the driver's soname, and forward calls to it. By
// the function here it tells which library the driver is, to code that must not call the front.
#ifndef STREAMPOOL_DRIVER_FORWARDED_H
#define STREAMPOOL_DRIVER_FORWARDED_H

// The name that it exports.
#define SP_FORWARDED_FUNCTION "sp_forward_library"

// Returns a handle of the driver's library, which stays open, or null where there is none.
typedef void *(*sp_forwarded_library)(void);

#endif
