// A peer library whose two peers hold twice what is in use, and check that a free has the size and
// the pointer of an allocation. The environment variable PEER_FAULT lets it break a rule of the
// interface.
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <streampool/peer.h>
#include <string.h>

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_ERROR_OF_CUDA = 4242, BLOCKS_MAX = 4096 };
static const size_t refused = (size_t)1 << 40; // bytes of a request that fails

struct block {
    char *pointer;
    size_t size;
};

struct twice {
    pthread_mutex_t mutex;
    struct block blocks[BLOCKS_MAX];
    char *next; // no memory stands behind it
    uint64_t reserved;
    uint64_t high;
    bool open;
};

static struct twice states[2];

static int open_state(struct twice *twice, void **state) {
    if (twice->open)
        return INVALID_VALUE;
    *twice = (struct twice){.open = true, .next = (char *)4096};
    pthread_mutex_init(&twice->mutex, NULL);
    *state = twice;
    return 0;
}

static int open_first(void **state) {
    return open_state(&states[0], state);
}

static int open_second(void **state) {
    return open_state(&states[1], state);
}

static int open_never(void **state) {
    (void)state;
    return OUT_OF_MEMORY;
}

static int open_strangely(void **state) {
    (void)state;
    return NO_ERROR_OF_CUDA;
}

static int fail_with(void *state) {
    (void)state;
    return OUT_OF_MEMORY;
}

static int close_state(void *state) {
    struct twice *twice = state;
    bool good = twice->open && twice->reserved == 0;
    pthread_mutex_destroy(&twice->mutex);
    twice->open = false;
    return good ? 0 : INVALID_VALUE;
}

static struct block *find(struct twice *twice, const char *pointer) {
    for (size_t i = 0; i < BLOCKS_MAX; i++)
        if (twice->blocks[i].pointer == pointer)
            return &twice->blocks[i];
    return NULL;
}

static int allocate(void *state, void **pointer, size_t size, CUstream stream) {
    struct twice *twice = state;
    (void)stream;
    if (size == 0)
        return INVALID_VALUE;
    if (size >= refused)
        return OUT_OF_MEMORY;
    pthread_mutex_lock(&twice->mutex);
    struct block *block = find(twice, NULL);
    if (block) {
        *block = (struct block){twice->next, size};
        *pointer = twice->next;
        twice->next += size;
        twice->reserved += 2 * size;
        twice->high = twice->reserved > twice->high ? twice->reserved : twice->high;
    }
    pthread_mutex_unlock(&twice->mutex);
    return block ? 0 : OUT_OF_MEMORY;
}

static int release(void *state, void *pointer, size_t size, CUstream stream) {
    struct twice *twice = state;
    (void)stream;
    pthread_mutex_lock(&twice->mutex);
    struct block *block = find(twice, pointer);
    bool good = pointer && block && block->size == size;
    if (good) {
        block->pointer = NULL;
        twice->reserved -= 2 * size;
    }
    pthread_mutex_unlock(&twice->mutex);
    return good ? 0 : INVALID_VALUE;
}

static int reserved(void *state, uint64_t *bytes) {
    *bytes = ((const struct twice *)state)->reserved;
    return 0;
}

static int reserved_high(void *state, uint64_t *bytes) {
    *bytes = ((const struct twice *)state)->high;
    return 0;
}

static int reset_high(void *state) {
    ((struct twice *)state)->high = ((struct twice *)state)->reserved;
    return 0;
}

static poolPeer peers[] = {
    {STREAMPOOL_PEER_VERSION, "twice", open_first, close_state, allocate, release, reserved,
     reserved_high, reset_high},
    {STREAMPOOL_PEER_VERSION, "twice 2.0_b-c", open_second, close_state, allocate, release,
     reserved, reserved_high, reset_high},
};

static bool is_broken_by(const char *fault) {
    const char *wanted = getenv("PEER_FAULT");
    return wanted && strcmp(wanted, fault) == 0;
}

static void break_rules(poolPeer *peer) {
    if (is_broken_by("version"))
        peer->version++;
    if (is_broken_by("no name"))
        peer->name = NULL;
    if (is_broken_by("long name"))
        peer->name = "thirty-two-letters-and-no-fewer-!";
    if (is_broken_by("bad name"))
        peer->name = "a,b";
    if (is_broken_by("same name"))
        peer->name = peers[0].name;
    if (is_broken_by("no function"))
        peer->resetHigh = NULL;
    if (is_broken_by("open"))
        peer->open = open_never;
    if (is_broken_by("number"))
        peer->open = open_strangely;
    if (is_broken_by("close"))
        peer->close = fail_with;
    if (is_broken_by("reset"))
        peer->resetHigh = fail_with;
}

const poolPeer *poolPeerAt(unsigned index) {
    if (index >= sizeof peers / sizeof peers[0] || is_broken_by("empty"))
        return NULL;
    if (index == 1)
        break_rules(&peers[1]);
    return &peers[index];
}
