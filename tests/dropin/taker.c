// A library that takes static thread-local memory, of which the dynamic linker has little for what
// a running program loads. The one with COUNT loads so many of the others when it is loaded.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local __attribute__((tls_model("initial-exec"))) volatile char taken[256];

__attribute__((constructor)) static void use(void) {
    taken[0] = 1;
}

#ifdef COUNT
__attribute__((constructor)) static void load_others(void) {
    for (int i = 1; i <= COUNT; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/libdropin_taker_%d.so", FOLDER, i);
        if (!dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
            fprintf(stderr, "%s\n", dlerror());
            abort();
        }
    }
}
#endif
