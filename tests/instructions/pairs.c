// Pairs of an allocation and a free on one stream, so many of one kind, for counting the library's
// instructions: see count.sh.
//
//   instruction_pairs small|large[-promised|-recorded] COUNT
//
// Recorded: above the cap of unfenced bytes, so each free records an event.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <streampool/streampool.h>

#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"

enum { SMALL = 1000, LARGE = 1 << 20 };

static void run_pairs(poolMemPool_t pool, size_t size, CUstream stream, long count) {
    for (long i = 0; i < count; i++)
        test_free(test_malloc(pool, size, stream), stream);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("usage: instruction_pairs small|large[-promised|-recorded] COUNT\n", stderr);
        return 2;
    }
    test_use_device(0);
    poolMemPool_t pool = test_pool();
    test_set_flag(pool, poolMemPoolAttrStreamPromises,
                  strstr(argv[1], "promised") ? poolPromiseStreamDestroy | poolPromiseNoCapture
                                              : poolPromiseNothing);
    if (strstr(argv[1], "recorded"))
        test_set_attribute(pool, poolMemPoolAttrUnfencedBytesMax, SMALL / 2);
    run_pairs(pool, strncmp(argv[1], "small", 5) == 0 ? SMALL : LARGE, test_stream(),
              strtol(argv[2], NULL, 10));
    return 0;
}
