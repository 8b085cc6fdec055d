// A crew of threads that do random operations on shared pools until they have done their share.
#ifndef STREAMPOOL_TESTS_STRESS_CREW_H
#define STREAMPOOL_TESTS_STRESS_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <streampool/streampool.h>

enum { CREW = 8, CREW_BLOCKS = 64, CREW_BOX = 256 };

struct crew_block {
    void *address; // null: none
    size_t size;
    CUstream stream; // whose order its contents are in; any thread may use it
    unsigned char value;
    bool filled;
};

// Blocks on their way from one thread to another.
struct crew_box {
    pthread_mutex_t lock;
    unsigned count;
    struct crew_block blocks[CREW_BOX];
};

struct crew_member {
    struct crew *crew;
    pthread_t thread;
    unsigned number;
    CUstream stream;
    uint64_t random;
    struct crew_block blocks[CREW_BLOCKS];
};

struct crew {
    poolMemPool_t pool; // that members allocate from; null: the device's current one
    struct crew_box box;
    void (*work)(struct crew_member *member);
    unsigned rounds;
    _Atomic bool ready; // the members begin together
    struct crew_member members[CREW];
};

// Members with streams of their own, or all with one.
void crew_open(struct crew *crew, poolMemPool_t pool);
void crew_share_stream(struct crew *crew);

// Starts the threads; waits for all of them. Each member calls `work` `rounds` times, then frees
// its own blocks.
void crew_start(struct crew *crew, void (*work)(struct crew_member *member), unsigned rounds);
void crew_join(struct crew *crew);

// Frees what is in the box, and destroys the streams.
void crew_close(struct crew *crew);

// With all threads gone and everything freed: the pool is in order and empty, and the device has
// every byte back.
void crew_require_all_back(poolMemPool_t pool);

uint64_t crew_draw(struct crew_member *member, uint64_t below);

// What members do. A place is taken or empty by turns: allocate_or_free fills an empty one and
// frees a taken one.
void crew_allocate_or_free(struct crew_member *member);
void crew_allocate_large_or_free(struct crew_member *member); // for a pool that may have no room
void crew_pass_on(struct crew_member *member);                // puts one block in the box
void crew_free_from_box(struct crew_member *member);          // frees one of whoever put it there

#endif
