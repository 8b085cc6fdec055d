// A small program that uses streampool/copy.h as far as it goes with no memory of a device.
#include <streampool/copy.h>

#include <stdio.h>

static int check(const char *call, poolError_t error) {
    if (error == poolSuccess)
        return 0;
    fprintf(stderr, "%s: %s: %s\n", call, poolGetErrorName(error), poolGetLastErrorDetail());
    return 1;
}

int main(void) {
    struct poolCopySettings settings;
    poolCopyCompletion_t completion = NULL;
    poolMemPool_t pool = NULL;
    char byte = 0;
    if (check("poolCopyGetSettings", poolCopyGetSettings(&settings)) ||
        check("poolCopyGetPool", poolCopyGetPool(&pool)) ||
        check("poolCopyToHostAsyncWithCompletion",
              poolCopyToHostAsyncWithCompletion(&byte, NULL, 0, NULL, &completion)) ||
        check("poolCopyCompletionSynchronize", poolCopyCompletionSynchronize(completion)) ||
        check("poolCopyCompletionDestroy", poolCopyCompletionDestroy(completion)))
        return 1;
    printf("copies have %u chunks of %zu bytes\n", settings.depth, settings.chunkBytes);
    return 0;
}
