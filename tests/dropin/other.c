// A library of somebody else's, with a function that only has a name of the driver's, and a look-up
// of the next function: the second of two copies of this file answers 2.
#include <dlfcn.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT int cuMemPoolTrimTo(void *pool, unsigned long keep);
EXPORT int other_value(void);
EXPORT int other_value_of_next(void);

int cuMemPoolTrimTo(void *pool, unsigned long keep) {
    return pool && keep;
}

int other_value(void) {
    return OTHER_VALUE;
}

int other_value_of_next(void) {
    int (*next)(void) = 0;
    for (int i = 0; i < 3; i++) // a repeated look-up is no mistake
        *(void **)&next = dlsym(RTLD_NEXT, "other_value");
    return next ? next() : 0;
}
