// The engine's top: each driver call's first and last step, and the engine's start, reset and exit.
//
// A module of the simulated driver calls only modules that stand before it here:
//
//   ground   shared, host, random, slab, clock, entry, error_text, absent, config, cost, fault,
//            stack, thread, who, finding_file, finding, report, schedule, meter, grid
//   images   image, image_ptx, image_elf, image_packed, image_fatbin, image_load
//   memory   address, history, device, page_table, item, mapping, pinned, block, bytes, virtual,
//            allocation
//   streams  queue, setting, context, peer, capture, stream, pointer
//   work     heap, work, event, question, launch, kernel, copy, word, pointed, registered,
//            unregistered, function, module, host_function
//   life     context_end, live, engine
//   bridge   bridge_*.c, control, library_entry, thread_form
//
// So what ends many things stands behind all of them: a context's end, a reset, a look for leaks.
// Two things go the other way, by pointers to functions: a piece of work's effect (item.h), and the
// end of a thread, which the system tells to thread.c alone (thread.h).
#ifndef STREAMPOOL_SIMCUDA_ENGINE_H
#define STREAMPOOL_SIMCUDA_ENGINE_H

#include <stdint.h>
#include <streampool/simcuda.h>

#include "simcuda/entry/entry.h"

// The beginning of a driver call. CUDA_SUCCESS: the lock is held, go on and end with sim_call_end.
// Anything else: return it. Refuses the call where the life, the API level, a host function or an
// injected fault says so; lets the scheduler switch threads, counts the call, advances the clock by
// its cost and lets work complete.
CUresult sim_call_begin(enum sim_entry entry);
// The end: returns the result, and gives back the lock.
CUresult sim_call_end(enum sim_entry entry, CUresult result);

// The beginning of a call that only reads atomic state or the thread's own. CUDA_SUCCESS: go on,
// nothing is held. Much cheaper than sim_call_begin, and does the same.
CUresult sim_query_begin(enum sim_entry entry);

// cuInit.
CUresult sim_engine_start(void);
// simcudaReset. Takes the lock itself.
CUresult sim_engine_reset(const struct simcudaConfig *config);

// A number made from the calls of all registered threads, their order and results.
uint64_t sim_trace_digest(void);

#endif
