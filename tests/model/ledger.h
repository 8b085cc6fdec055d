// The simple model of a heap: what is live where, and what each pool's figures must be.
//
// It knows nothing of views, slabs or streams. It is told what the pool did, says whether that was
// possible, and is compared with what the pool says of itself.
#ifndef STREAMPOOL_TESTS_MODEL_LEDGER_H
#define STREAMPOOL_TESTS_MODEL_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <streampool/streampool.h>

enum { LEDGER_POOLS = 4, LEDGER_LIVE = 400 };

// A pool that was given up stays in its place without a handle while memory of it is live.
struct ledger_pool {
    poolMemPool_t handle; // null: given up, or never made
    uint64_t max_size;    // 0: no limit
    uint64_t used;
    uint64_t used_high;
};

struct ledger_block {
    char *address;
    size_t size;
    unsigned pool;
    CUstream stream; // whose order its contents are in
    unsigned char value;
};

struct ledger {
    struct ledger_pool pools[LEDGER_POOLS];
    struct ledger_block live[LEDGER_LIVE]; // by address
    unsigned count;
};

// Adds a live block. False when it shares a byte with another one.
bool ledger_add(struct ledger *ledger, const struct ledger_block *block);

// Takes out the block at an index, and returns it.
struct ledger_block ledger_remove(struct ledger *ledger, unsigned index);

uint64_t ledger_live_bytes(const struct ledger *ledger);

#endif
