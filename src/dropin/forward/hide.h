// Names that a library exports, and that nobody shall find in it.
#ifndef STREAMPOOL_DROPIN_FORWARD_HIDE_H
#define STREAMPOOL_DROPIN_FORWARD_HIDE_H

#include <link.h>
#include <stdbool.h>

// Takes the library's functions with a name of which `hides` says true out of its symbol table, as
// it is loaded. From then on a look-up finds none of them. What has been bound to them before stays
// bound. Does nothing where the system refuses to have the table written.
void sp_hide_functions(const struct link_map *library, bool (*hides)(const char *name));

#endif
