// Peers are allocators of others, in shared libraries that export streampool/peer.h's function.
//
// A library stays loaded until the process ends, since a peer may have threads and destructors.
#ifndef STREAMPOOL_CLI_PEER_H
#define STREAMPOOL_CLI_PEER_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>
#include <streampool/peer.h>

enum { SP_PEER_LIBRARIES_MAX = 8, SP_PEERS_MAX = 8, SP_PEER_NAME_MAX = 31 };

struct sp_peers {
    const char *libraries[SP_PEER_LIBRARIES_MAX]; // their paths
    size_t library_count;
    const poolPeer *list[SP_PEERS_MAX]; // in the order of the libraries
    size_t count;
};

// This parser has the option --peer, which notes a library. Its input is a struct sp_peers.
extern const struct argp sp_peers_argp;

// Loads the libraries. False, with a complaint, when one can't be loaded, has no peer, has one that
// is not as the interface wants it, or has a name that is taken.
bool sp_peers_load(struct sp_peers *peers);

#endif
