// loads PLUGIN: a right program that calls the driver while another of its threads loads a library,
// whose constructor calls it, too.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>

#include "check/driver.h"

static CUcontext context;
static sem_t begun, called;

// The constructor calls this.
__attribute__((visibility("default"))) void construct(void);
void construct(void) {
    sem_post(&begun);
    while (sem_wait(&called) != 0)
        ;
    OK(cuCtxSynchronize());
}

static void *load(void *plugin) {
    OK(cuCtxSetCurrent(context));
    void *library = dlopen(plugin, RTLD_NOW);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    return library;
}

int main(int argc, char **argv) {
    void *library = NULL;
    pthread_t thread;
    CUmodule module = start();
    OK(argc != 2);
    OK(cuCtxGetCurrent(&context));
    OK(sem_init(&begun, 0, 0));
    OK(sem_init(&called, 0, 0));
    OK(pthread_create(&thread, NULL, load, argv[1]));
    while (sem_wait(&begun) != 0)
        ;
    CUdeviceptr memory = allocate(100);
    sem_post(&called);
    OK(pthread_join(thread, &library));
    OK(!library);
    OK(cuMemFree_v2(memory));
    OK(cuModuleUnload(module));
    return 0;
}
