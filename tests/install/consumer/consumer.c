// A small program that uses streampool: one allocation and one free. consumer.cc does that in C++.
//
// It has no toolkit, so it takes the few driver calls that make a context from the library that
// STREAMPOOL_DRIVER names.
#include <streampool/streampool.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int (*init_function)(unsigned int flags);
typedef int (*retain_function)(void **context, int device);
typedef int (*release_function)(int device);
typedef int (*set_current_function)(void *context);

static void *open_driver(void) {
    const char *path = getenv("STREAMPOOL_DRIVER");
    void *driver = path ? dlopen(path, RTLD_NOW) : NULL;
    if (!driver)
        fprintf(stderr, "no driver at STREAMPOOL_DRIVER=%s\n", path ? path : "");
    return driver;
}

// 0 when the thread has the primary context of device 0.
static int make_context(void *driver) {
    init_function init = (init_function)dlsym(driver, "cuInit");
    retain_function retain = (retain_function)dlsym(driver, "cuDevicePrimaryCtxRetain");
    set_current_function set_current = (set_current_function)dlsym(driver, "cuCtxSetCurrent");
    void *context = NULL;
    return !init || !retain || !set_current || init(0) || retain(&context, 0) ||
           set_current(context);
}

static int drop_context(void *driver) {
    release_function release = (release_function)dlsym(driver, "cuDevicePrimaryCtxRelease");
    set_current_function set_current = (set_current_function)dlsym(driver, "cuCtxSetCurrent");
    return !release || set_current(NULL) || release(0);
}

static int check(const char *call, poolError_t error) {
    if (error != poolSuccess)
        fprintf(stderr, "%s: %s: %s\n", call, poolGetErrorName(error), poolGetLastErrorDetail());
    return error != poolSuccess;
}

static int allocate_and_free(void) {
    void *memory = NULL;
    if (check("poolMallocAsync", poolMallocAsync(&memory, 1 << 20, NULL)))
        return 1;
    if (check("poolFreeAsync", poolFreeAsync(memory, NULL)))
        return 1;
    if (check("poolStreamSynchronize", poolStreamSynchronize(NULL)))
        return 1;
    printf("1 MiB at %p and back\n", memory);
    return memory == NULL;
}

int main(void) {
    void *driver = open_driver();
    if (!driver || make_context(driver))
        return 1;
    return allocate_and_free() + drop_context(driver);
}
