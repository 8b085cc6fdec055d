// A peer, whose state stands where a pool stands otherwise.
#include "subject.h"

static int open_peer(struct subject *subject, uint64_t threshold) {
    subject->threshold = threshold;
    return subject->peer->open(&subject->pool);
}

static int close_peer(struct subject *subject) {
    int error = subject->pool ? subject->peer->close(subject->pool) : 0;
    subject->pool = NULL;
    return error;
}

static int allocate_peer(const struct subject *subject, void **pointer, size_t size,
                         CUstream stream) {
    return subject->peer->allocate(subject->pool, pointer, size, stream);
}

static int release_peer(const struct subject *subject, void *pointer, size_t size,
                        CUstream stream) {
    return subject->peer->free(subject->pool, pointer, size, stream);
}

static int synchronize_peer(const struct subject *subject, CUstream stream) {
    return (int)subject->driver->cuStreamSynchronize(stream);
}

static int reserved_peer(const struct subject *subject, uint64_t *bytes) {
    return subject->peer->reserved(subject->pool, bytes);
}

static int reserved_high_peer(const struct subject *subject, uint64_t *bytes) {
    return subject->peer->reservedHigh(subject->pool, bytes);
}

void subject_init_peer(struct subject *subject, const poolPeer *peer,
                       const struct sp_driver *driver) {
    *subject = (struct subject){.name = peer->name,
                                .driver = driver,
                                .peer = peer,
                                .open = open_peer,
                                .close = close_peer,
                                .allocate = allocate_peer,
                                .release_sized = release_peer,
                                .synchronize = synchronize_peer,
                                .reserved = reserved_peer,
                                .reserved_high = reserved_high_peer};
}
