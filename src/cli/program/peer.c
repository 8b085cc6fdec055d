#include "cli/program/peer.h"

#include "cli/program/complain.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

// -------------------------------------------------------------------------------------- the option

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct sp_peers *peers = state->input;
    if (key != 'p')
        return ARGP_ERR_UNKNOWN;
    if (peers->library_count == SP_PEER_LIBRARIES_MAX)
        argp_error(state, "--peer is given more than %d times", SP_PEER_LIBRARIES_MAX);
    peers->libraries[peers->library_count++] = argument;
    return 0;
}

static const struct argp_option options[] = {
    {"peer", 'p', "FILE", 0,
     "Measure the allocators of this shared library too (streampool/peer.h); may be given again",
     0},
    {0},
};

const struct argp sp_peers_argp = {.options = options, .parser = parse};

// ----------------------------------------------------------------------------------- the libraries

typedef const poolPeer *peer_at(unsigned index);

static bool name_is_good(const char *name) {
    if (!name || *name == '\0' || strlen(name) > SP_PEER_NAME_MAX)
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr(" -_.", *name))
            return false;
    return true;
}

static bool add(struct sp_peers *peers, const poolPeer *peer, unsigned index, const char *path) {
    if (peer->version != STREAMPOOL_PEER_VERSION)
        return sp_complain("%s: peer %u has version %u of the interface, not %u", path, index,
                           peer->version, STREAMPOOL_PEER_VERSION);
    if (!name_is_good(peer->name))
        return sp_complain("%s: peer %u has no name of 1 to %d letters, digits, spaces and -_.",
                           path, index, SP_PEER_NAME_MAX);
    if (!peer->open || !peer->close || !peer->allocate || !peer->free || !peer->reserved ||
        !peer->reservedHigh || !peer->resetHigh)
        return sp_complain("%s: the peer '%s' lacks a function", path, peer->name);
    for (size_t i = 0; i < peers->count; i++)
        if (strcmp(peers->list[i]->name, peer->name) == 0)
            return sp_complain("%s: there is a peer '%s' already", path, peer->name);
    if (peers->count == SP_PEERS_MAX)
        return sp_complain("%s: more than %d peers", path, SP_PEERS_MAX);
    peers->list[peers->count++] = peer;
    return true;
}

static bool add_all(struct sp_peers *peers, void *library, const char *path) {
    peer_at *at;
    *(void **)&at = dlsym(library, "poolPeerAt");
    if (!at)
        return sp_complain("%s is no peer library: it has no poolPeerAt", path);
    const poolPeer *peer = at(0);
    if (!peer)
        return sp_complain("%s has no peer", path);
    bool good = true;
    for (unsigned i = 0; peer && good; peer = at(++i))
        good = add(peers, peer, i, path);
    return good;
}

// dlopen() looks for a name without a slash in folders of its own. RTLD_NODELETE keeps the library,
// so its handle is given up.
static bool load(struct sp_peers *peers, const char *path) {
    char here[PATH_MAX];
    snprintf(here, sizeof here, "./%s", path);
    void *library = dlopen(strchr(path, '/') ? path : here, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return sp_complain("the peer library can't be loaded: %s", dlerror());
    bool good = add_all(peers, library, path);
    dlclose(library);
    return good;
}

bool sp_peers_load(struct sp_peers *peers) {
    bool good = true;
    for (size_t i = 0; i < peers->library_count && good; i++)
        good = load(peers, peers->libraries[i]);
    return good;
}
