// A small program that uses a manager of streampool/mam.h, which needs no call of the driver.
#include <streampool/mam.h>

#include <stdio.h>

static int check(const char *call, poolError_t error) {
    if (error == poolSuccess)
        return 0;
    fprintf(stderr, "%s: %s: %s\n", call, poolGetErrorName(error), poolGetLastErrorDetail());
    return 1;
}

int main(void) {
    poolMam_t mam = NULL;
    void *block = NULL;
    if (check("poolMamCreate", poolMamCreate(&mam, 32 << 20, 0, poolMamFixed)) ||
        check("poolMamMalloc", poolMamMalloc(mam, &block, 32 << 20)) ||
        check("poolMamFree", poolMamFree(mam, block)) ||
        check("poolMamDestroy", poolMamDestroy(mam)))
        return 1;
    printf("a manager handed out its chunk of 32 MiB\n");
    return 0;
}
