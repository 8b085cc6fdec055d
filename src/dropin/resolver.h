// The look-ups that would serve the process if this library weren't there: the next dlsym and
// dlvsym behind ours, which are the system's or those of another library that stands in for them.
//
// Every look-up of our own goes through here. Source of this folder never names dlsym or dlvsym
// otherwise: that would be our own one.
#ifndef STREAMPOOL_DROPIN_RESOLVER_H
#define STREAMPOOL_DROPIN_RESOLVER_H

typedef void *(*sp_resolver_by_name)(void *handle, const char *name);
typedef void *(*sp_resolver_by_version)(void *handle, const char *name, const char *version);

// Never null in a process that has the system's. They go by the address that they return to.
sp_resolver_by_name sp_resolver_dlsym(void);
sp_resolver_by_version sp_resolver_dlvsym(void);

// Looks a name up with the next dlsym. For RTLD_NEXT and RTLD_DEFAULT the caller is this library.
void *sp_resolver_find(void *handle, const char *name);

#endif
