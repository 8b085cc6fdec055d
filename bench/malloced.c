#include "malloced.h"

#include <malloc.h>

#ifdef STREAMPOOL_HAVE_MALLINFO2
bool malloced_bytes(double *bytes) {
    struct mallinfo2 info = mallinfo2();
    *bytes = (double)(info.uordblks + info.hblkhd);
    return true;
}
#else
bool malloced_bytes(double *bytes) {
    *bytes = 0;
    return false;
}
#endif

void malloced_print_absence(const struct bench *bench) {
    double bytes;
    if (malloced_bytes(&bytes))
        return;
    bench_print(bench, "what malloc handed out: left out, the C library has no mallinfo2");
    bench_end_line(bench);
}
