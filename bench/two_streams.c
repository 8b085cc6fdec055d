// Writes a trace of two streams that take turns to standard output:
// bench/traces/two_streams.csv.gz is what it writes, compressed.
//
// A program with two streams, as PyTorch programs are: in each step one stream does its part, and
// the other one waits for it. In its part a stream allocates blocks and frees most of them again.
// Then the program records an event there, lets the other stream wait for it, and only then frees
// the last blocks, as Python does with what a function has left behind. So the event tells the pool
// nothing of these frees, and the other stream's step begins when hardly any memory is its own.
// Where the host runs ahead of the device all of this is still pending. Numbers come from a
// generator of our own, so the trace is the same everywhere.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 60, BLOCKS_OF_STEP = 96, LIVE = 48, MICROSECONDS_EACH = 10 };
enum { STREAMS = 2, FIRST_STREAM = 1, EVENT = 0xE };

struct block {
    uint64_t pointer;
    uint64_t size;
};

// What a step has live: count <= LIVE + 1.
struct live {
    struct block blocks[LIVE + 1];
    unsigned count;
};

static uint64_t state = 20261123;
static uint64_t last_pointer = UINT64_C(0x7f0000000000);
static uint64_t time;

static uint64_t draw(uint64_t below) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}

// From 1 to 24 MiB.
static uint64_t draw_size(void) {
    return ((1 << 20) + draw(23 << 20)) / 512 * 512;
}

static void print(const char *action, struct block block, unsigned stream) {
    time += MICROSECONDS_EACH;
    printf("1,%" PRIu64 ",%s,0x%" PRIx64 ",%" PRIu64 ",%u\n", time, action, block.pointer,
           block.size, stream);
}

static void allocate(struct live *live, unsigned stream) {
    last_pointer += UINT64_C(0x2000000); // more than any size
    struct block block = {last_pointer, draw_size()};
    print("allocate", block, stream);
    live->blocks[live->count++] = block;
}

static void release(struct live *live, unsigned index, unsigned stream) {
    print("free", live->blocks[index], stream);
    live->blocks[index] = live->blocks[--live->count];
}

static void hand_over(unsigned stream, unsigned next) {
    struct block event = {EVENT, 0};
    print("record", event, stream);
    print("wait", event, next);
}

static void take_step(unsigned stream, unsigned next) {
    struct live live = {.count = 0};
    for (unsigned i = 0; i < BLOCKS_OF_STEP; i++) {
        allocate(&live, stream);
        if (live.count > LIVE)
            release(&live, (unsigned)draw(live.count), stream);
    }
    hand_over(stream, next);
    while (live.count > 0)
        release(&live, live.count - 1, stream);
}

int main(void) {
    puts("Thread,Time,Action,Pointer,Size,Stream");
    for (unsigned step = 0; step < STEPS; step++)
        take_step(FIRST_STREAM + step % STREAMS, FIRST_STREAM + (step + 1) % STREAMS);
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
