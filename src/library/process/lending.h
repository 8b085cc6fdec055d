// Lending: while no capture is open, the library may borrow seen streams, and their lanes are open
// (region/open_lanes.h). A capture that begins ends that before the driver begins it: what the open
// lanes hold back gets its events, for which it would be too late then.
#ifndef STREAMPOOL_PROCESS_LENDING_H
#define STREAMPOOL_PROCESS_LENDING_H

#include "order/captures.h"

// To be called when a capture was counted, and before the driver is asked to begin it.
void sp_lending_suspend(void);

// To be called when a capture may have been the last.
void sp_lending_resume(void);

// Notes the driver's answer to the question whether a stream captures, and suspends lending for
// good where that shows that not all captures are seen.
void sp_lending_note_capture(struct sp_outcome answer, CUstream stream);

#endif
