#include "random/space.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/check.h"
#include "support/device.h"

static int statm;
static struct rlimit usual;
static void *heap; // the pieces that were left of it: each begins with the address of the next

// A stack that grows takes address space as well, and ends the process where there is none.
static void grow_stack(void) {
    volatile char frame[KIB(256)];
    for (size_t i = 0; i < sizeof frame; i += KIB(4))
        frame[i] = 0;
}

void space_prepare(void) {
    statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    REQUIRE(statm >= 0 && getrlimit(RLIMIT_AS, &usual) == 0);
    REQUIRE(mallopt(M_ARENA_MAX, 1)); // others are mapped in advance
    REQUIRE(mallopt(M_TOP_PAD, 0));   // what the driver takes leaves nothing for the library
    grow_stack();
}

static void set_limit(rlim_t bytes) {
    const struct rlimit limit = {bytes, usual.rlim_max};
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
}

static rlim_t mapped_bytes(void) {
    char text[128] = "";
    REQUIRE(pread(statm, text, sizeof text - 1, 0) > 0);
    return strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

// libc keeps freed pieces by their sizes, 16 bytes apart, up to the one at which the steps change.
static void use_up_heap(void) {
    enum { KEPT_MOST = 1032, KEPT_LEAST = 24 };
    for (size_t size = KEPT_MOST << 6; size >= KEPT_LEAST; size -= size > KEPT_MOST ? size / 2 : 16)
        for (void **piece; (piece = malloc(size)); heap = (void *)piece)
            *piece = heap;
}

void space_take(struct numbers *numbers) {
    static const rlim_t most[] = {1, KIB(16), KIB(256), MIB(4)};
    set_limit(mapped_bytes());
    if (!numbers_once_in(numbers, 4))
        use_up_heap();
    set_limit(mapped_bytes() + numbers_below(numbers, most[numbers_below(numbers, 4)]));
}

void space_give_back(void) {
    set_limit(usual.rlim_cur);
    while (heap) {
        void **piece = heap;
        heap = *piece;
        free(piece);
    }
}
