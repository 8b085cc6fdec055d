// A small program that uses streampool/swap.h as far as it goes with no memory of a device.
#include <streampool/swap.h>

#include <stdio.h>

static int check(const char *call, poolError_t error) {
    if (error == poolSuccess)
        return 0;
    fprintf(stderr, "%s: %s: %s\n", call, poolGetErrorName(error), poolGetLastErrorDetail());
    return 1;
}

int main(void) {
    struct poolMemPoolPaused paused;
    poolMemPool_t pool = NULL, host = NULL;
    if (check("poolDeviceGetDefaultMemPool", poolDeviceGetDefaultMemPool(&pool, 0)) ||
        check("poolSwapSetHostLimit", poolSwapSetHostLimit(UINT64_MAX)) ||
        check("poolSwapGetHostPool", poolSwapGetHostPool(&host)) ||
        check("poolMemPoolGetPaused", poolMemPoolGetPaused(pool, NULL, &paused)) ||
        check("poolMemPoolResume", poolMemPoolResume(pool, NULL)))
        return 1;
    printf("%zu pools are paused\n", paused.pools);
    return 0;
}
