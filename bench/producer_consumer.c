// Writes a trace of producers and consumers to standard output:
// bench/traces/producer_consumer.csv.gz is what it writes, compressed.
//
// Each producer and each consumer is a host thread with a stream of its own. A producer makes a
// batch: it allocates a header and a payload on its stream, fills them with the help of a scratch
// block, and puts them into a consumer's queue. The consumer takes the oldest batch out of its
// queue, works on it with a block of its own, and frees header and payload on *its* stream. The
// queues are bounded, so who is to go on is drawn from those who can: producers whose consumer has
// room, consumers who have a batch. Numbers come from a generator of our own, so the trace is the
// same everywhere.
//
// Nobody would free on another stream without an order between the two. The log format has no
// events, so a player makes that order itself: before such a free it records an event in the one
// stream and lets the other wait for it (docs/replay.md).
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PAIRS = 4, BATCHES = 5000, QUEUE = 16, MICROSECONDS_EACH = 20 };

struct block {
    uint64_t pointer;
    uint64_t size;
};

struct batch {
    struct block header;
    struct block payload;
};

// Of one consumer: count <= QUEUE; the oldest batch is at `first`.
struct queue {
    struct batch batches[QUEUE];
    unsigned first;
    unsigned count;
};

static uint64_t state = 20240229;
static uint64_t last_pointer = UINT64_C(0x7f0000000000);
static uint64_t time;
static struct queue queues[PAIRS];

static uint64_t draw(uint64_t below) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

// Every power of two from 2^least to 2^most is as likely as the others, and what lies behind it
// too.
static uint64_t draw_size(unsigned least, unsigned most) {
    uint64_t power = UINT64_C(1) << (least + draw(most - least + 1));
    return (power + draw(power)) / 256 * 256;
}

// Threads and streams have the same numbers: producers from 1, consumers behind them.
static void print(unsigned who, const char *action, struct block block) {
    time += MICROSECONDS_EACH;
    printf("%u,%" PRIu64 ",%s,0x%" PRIx64 ",%" PRIu64 ",%u\n", who, time, action, block.pointer,
           block.size, who);
}

static struct block allocate(unsigned who, uint64_t size) {
    last_pointer += UINT64_C(0x2000000); // more than any size
    struct block block = {last_pointer, size};
    print(who, "allocate", block);
    return block;
}

static void produce(unsigned producer) {
    unsigned who = 1 + producer;
    struct queue *queue = &queues[draw(PAIRS)];
    if (queue->count == QUEUE)
        return; // the producer waits
    struct batch batch = {.header = allocate(who, draw_size(8, 11)),
                          .payload = allocate(who, draw_size(18, 23))};
    struct block scratch = allocate(who, draw_size(16, 22));
    print(who, "free", scratch);
    queue->batches[(queue->first + queue->count++) % QUEUE] = batch;
}

static void consume(unsigned consumer) {
    unsigned who = 1 + PAIRS + consumer;
    struct queue *queue = &queues[consumer];
    if (queue->count == 0)
        return; // the consumer waits
    struct batch batch = queue->batches[queue->first];
    queue->first = (queue->first + 1) % QUEUE;
    queue->count--;
    struct block result = allocate(who, draw_size(17, 23));
    print(who, "free", batch.payload);
    print(who, "free", batch.header);
    print(who, "free", result);
}

static unsigned queued(void) {
    unsigned sum = 0;
    for (unsigned i = 0; i < PAIRS; i++)
        sum += queues[i].count;
    return sum;
}

int main(void) {
    puts("Thread,Time,Action,Pointer,Size,Stream");
    unsigned made = 0;
    while (made < BATCHES) {
        unsigned before = queued();
        produce((unsigned)draw(PAIRS));
        made += queued() - before;
        consume((unsigned)draw(PAIRS));
    }
    for (unsigned consumer = 0; consumer < PAIRS; consumer++)
        while (queues[consumer].count > 0)
            consume(consumer);
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
