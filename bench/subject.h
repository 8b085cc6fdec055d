// What is measured: the pool and CUDA's own, memory taken from the driver at each call, and
// *floors*: the least that a case can't avoid, with no pool around it, and peers, which are
// allocators of others. All stand behind one table of functions.
//
// A form of our pool that differs in one attribute is a row of SUBJECTS, and that attribute where
// the subject is defined.
#ifndef STREAMPOOL_BENCH_SUBJECT_H
#define STREAMPOOL_BENCH_SUBJECT_H

#include "cli/program/peer.h"
#include "driver/driver.h"

#include <stdbool.h>
#include <stdint.h>

// What a pool has mapped a second time so far, as far as it counts that.
struct remapped {
    uint64_t calls; // mallocs that did
    uint64_t extents;
    uint64_t bytes;
    bool has_extents; // and bytes
};

// What a pool holds so that it can remap, and what it did in the reaper, as far as it says.
struct held {
    uint64_t mappings; // of views that are kept
    uint64_t address_space;
    uint64_t reaper_time;  // nanoseconds so far
    uint64_t reaper_bytes; // that it released so far
};

// What the others are compared with is the reference, such as CUDA's pool.
enum subject_role { SUBJECT_IS_MEASURED, SUBJECT_IS_REFERENCE, SUBJECT_IS_FLOOR };

// One of them at work. All functions return 0 or the error's number. A subject may be copied while
// it is closed; one that could not be opened is closed by close() all the same.
//
// What is no pool has all functions up to `synchronize` but `prime` and `release_sized`, and no
// others. So has a peer, with release_sized() for release(), and reserved() and reserved_high().
struct subject {
    const char *name;
    enum subject_role role;
    const struct sp_driver *driver;
    const poolPeer *peer; // null: it is none
    void *pool;
    // Bytes that the next pool to be opened may reserve; 0: all that the device has.
    uint64_t limit;
    uint64_t threshold; // of the open pool
    int attribute;      // of our pools: one that is set to `value` while the pool is open; 0: none
    uint64_t value;
    uint64_t value_before; // of a default pool's
    // It takes microseconds or more from the driver in each call: cases of many pairs make fewer.
    bool slow;
    int (*open)(struct subject *subject, uint64_t threshold);
    int (*prime)(const struct subject *subject, uint64_t bytes); // null: it isn't primed
    int (*close)(struct subject *subject);
    int (*allocate)(const struct subject *subject, void **pointer, size_t size, CUstream stream);
    int (*release)(const struct subject *subject, void *pointer, CUstream stream);
    int (*release_sized)(const struct subject *subject, void *pointer, size_t size,
                         CUstream stream); // of a peer, which has no other
    int (*synchronize)(const struct subject *subject, CUstream stream);
    int (*record)(const struct subject *subject, CUevent event, CUstream stream);
    int (*wait)(const struct subject *subject, CUstream stream, CUevent event);
    // By the number that both have.
    int (*set_policy)(const struct subject *subject, int policy, int on);
    int (*reserved)(const struct subject *subject, uint64_t *bytes);
    int (*reserved_high)(const struct subject *subject, uint64_t *bytes);
    // Sets an attribute to what it is: UnfencedBytesMax of ours, the threshold of CUDA's.
    int (*set_again)(const struct subject *subject);
    // Gives back all that can go.
    int (*trim)(const struct subject *subject);
    // Waits for all work of the context.
    int (*synchronize_all)(const struct subject *subject);
    struct remapped (*remapped)(const struct subject *subject);
    struct held (*held)(const struct subject *subject);
    // Says in words why a call has failed; null: there are no words.
    const char *(*detail)(void);
};

//   X(name, NAME, what it is called), the two pools first
#define SUBJECTS(X)                                                                                \
    X(ours, OURS, "streampool")                                                                    \
    X(cudas, CUDAS, "CUDA's pool")                                                                 \
    X(reaper, REAPER, "streampool, TrimByReaper")                                                  \
    X(promised, PROMISED, "streampool, StreamPromises")                                            \
    X(bounded, BOUNDED, "streampool, beyond use 20")                                               \
    X(delayed, DELAYED, "streampool, ReleaseDelay 1")                                              \
    X(primed, PRIMED, "streampool, primed")                                                        \
    X(ours_default, OURS_DEFAULT, "streampool, default pool")                                      \
    X(promised_default, PROMISED_DEFAULT, "streampool, StreamPromises")                            \
    X(cudas_default, CUDAS_DEFAULT, "CUDA's default pool")                                         \
    X(mam, MAM, "streampool mam")                                                                  \
    X(direct, DIRECT, "cuMemAlloc")                                                                \
    X(device, DEVICE, "streampool, device")                                                        \
    X(host, HOST, "streampool, host")                                                              \
    X(at_once, AT_ONCE, "streampool, host, at once")                                               \
    X(node, NODE, "streampool, NUMA node 0")                                                       \
    X(staging, STAGING, "streampool, staging")                                                     \
    X(managed, MANAGED, "streampool, managed")                                                     \
    X(cudas_host, CUDAS_HOST, "CUDA's host pool")                                                  \
    X(pinned, PINNED, "cuMemHostAlloc")                                                            \
    X(list, LIST, "floor: lock and list")                                                          \
    X(extent, EXTENT, "floor: one extent")                                                         \
    X(node_extent, NODE_EXTENT, "floor: extent at node 0")                                         \
    X(block, BLOCK, "floor: one block kept")

//   device  ours by another name, beside pools of other memory
//   at_once  a pool of the host's memory, by poolMallocFromPool and poolFree
//   mam     a manager of mam.h: its chunk is fixed at the limit, or has 2 GiB at most and may grow
//   list    a lock and a list for each thread, of pieces of host memory
//   extent  the driver's calls for one extent: create, map and set access at a malloc; unmap and
//           release at the synchronise behind its free
//   block   one block for each thread, which a malloc returns again and again: what is left is what
//           the program does

enum subject_kind {
#define SUBJECT_NUMBER(name, NAME, text) SUBJECT_##NAME,
    SUBJECTS(SUBJECT_NUMBER)
#undef SUBJECT_NUMBER
        SUBJECT_COUNT
};

#define SUBJECT_DECLARE(name, NAME, text) extern const struct subject subject_##name;
SUBJECTS(SUBJECT_DECLARE)
#undef SUBJECT_DECLARE

// What it is called in tables.
const char *subject_name(enum subject_kind kind);

// Fills in one that is closed. False when the driver lacks what it needs: it has no pools of its
// own.
bool subject_init(struct subject *subject, enum subject_kind kind, const struct sp_driver *driver);

// Fills in one that is closed.
void subject_init_peer(struct subject *subject, const poolPeer *peer,
                       const struct sp_driver *driver);

// A free in a case that has peers.
static inline int subject_release(const struct subject *subject, void *pointer, size_t size,
                                  CUstream stream) {
    return subject->release ? subject->release(subject, pointer, stream)
                            : subject->release_sized(subject, pointer, size, stream);
}

// Those that stand side by side in a table, ours first.
enum { LINEUP_MAX = 7 + SP_PEERS_MAX };

struct lineup {
    struct subject subjects[LINEUP_MAX];
    size_t count;
};

// Of these kinds, the ones that the driver has.
void lineup_init(struct lineup *lineup, const struct sp_driver *driver,
                 const enum subject_kind kinds[], size_t count);
#define LINE_UP(lineup, driver, ...)                                                               \
    lineup_init(lineup, driver, (const enum subject_kind[]){__VA_ARGS__},                          \
                sizeof((const enum subject_kind[]){__VA_ARGS__}) / sizeof(enum subject_kind))

// Leaves out those that the driver doesn't support: it says so when they are opened.
int lineup_try(struct lineup *lineup);

// Adds all peers behind them.
void lineup_add_peers(struct lineup *lineup, const struct sp_driver *driver,
                      const struct sp_peers *peers);

// Opens all of them, and closes all that are open.
int lineup_open(struct lineup *lineup, uint64_t threshold);
int lineup_close(struct lineup *lineup);

// Waits until what a synchronise has left to the library's own thread is released too, for ten
// seconds at most.
int subject_settle(const struct subject *subject);

// The places of threads in subjects that have one for each: threads started together have different
// ones.
enum { SUBJECT_PLACES = 64 };
unsigned subject_place(void);

#endif
