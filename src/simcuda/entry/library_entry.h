// The library's own things: memory, address ranges and events that its pools keep until the process
// ends, and the module of the kernel that copies batches. No program can give them back, so at exit
// they are no leaks.
//
// The library asks for its entry points here first. Those that make something note in it that it is
// the library's; all others it finds as a program does.
#ifndef STREAMPOOL_SIMCUDA_ENTRY_LIBRARY_ENTRY_H
#define STREAMPOOL_SIMCUDA_ENTRY_LIBRARY_ENTRY_H

#include "simcuda/entry/entry.h"

// Returns the library's own form of an entry point, null where it has none.
SIM_EXPORT void *simcudaLibraryEntry(const char *name);

#endif
