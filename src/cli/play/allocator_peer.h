// A peer as one of the allocators that a trace is replayed through.
#ifndef STREAMPOOL_CLI_ALLOCATOR_PEER_H
#define STREAMPOOL_CLI_ALLOCATOR_PEER_H

#include "cli/play/allocator.h"

// The peer must outlive what is returned.
struct sp_allocator sp_allocator_of_peer(const poolPeer *peer);

#endif
