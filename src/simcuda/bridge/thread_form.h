// The forms of entry points for programs whose null stream is the thread's own: those with the
// suffixes _ptds and _ptsz, which a program gets that is compiled with
// CUDA_API_PER_THREAD_DEFAULT_STREAM, or asks cuGetProcAddress for them. Each is a call of the
// entry point itself, while the thread's null stream is CU_STREAM_PER_THREAD.
#ifndef STREAMPOOL_SIMCUDA_BRIDGE_THREAD_FORM_H
#define STREAMPOOL_SIMCUDA_BRIDGE_THREAD_FORM_H

#include "simcuda/entry/entry.h"
#include "simcuda/entry/table_thread.h"

#define SIM_DECLARE(name, symbol, suffix, version, parameters, arguments)                          \
    SIM_EXPORT CUresult symbol##_##suffix parameters;
SIM_THREAD_TABLE(SIM_DECLARE)
#undef SIM_DECLARE

// Finds the form of a name for who asks for that version, as sim_entry_find does; null where an
// entry point has no such form. Needs no lock.
const struct sim_entry_info *sim_thread_form_find(const char *name, int version);

#endif
