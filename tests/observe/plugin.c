// A plugin whose constructor makes a call of the library that its host has loaded.
#include <dlfcn.h>
#include <stdlib.h>
#include <streampool/streampool.h>
#include <string.h>

__attribute__((constructor)) static void begin(void) {
    __typeof__(poolMallocAsync) *allocate;
    void *block, *symbol = dlsym(RTLD_DEFAULT, "poolMallocAsync");
    memcpy(&allocate, &symbol, sizeof allocate);
    if (!allocate || allocate(&block, 1000, NULL) != poolSuccess)
        abort();
}
