// A program that loads the library while it runs, as a plugin's host does:
//
//   streampool_loading LIBRARY THREADS [PLUGIN]
//
// It leaves its folder then, as a daemon does. So many threads make their first calls at once, and
// leave a block each. The plugin makes the first call of all in its constructor. Then the program
// says if the observer is mapped.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <streampool/streampool.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = 16 };

static __typeof__(poolMallocAsync) *allocate;
static pthread_barrier_t barrier;

static void require(int good, const char *what) {
    if (good)
        return;
    fprintf(stderr, "FAILED: %s\n", what);
    exit(1);
}

static void *use(void *argument) {
    void *block;
    (void)argument;
    pthread_barrier_wait(&barrier);
    require(allocate(&block, 1000, NULL) == poolSuccess, "poolMallocAsync");
    return NULL;
}

static void use_at_once(unsigned count) {
    pthread_t threads[MOST_THREADS];
    require(count > 0 && count <= MOST_THREADS, "the number of threads");
    pthread_barrier_init(&barrier, NULL, count);
    for (unsigned i = 0; i < count; i++)
        require(pthread_create(&threads[i], NULL, use, NULL) == 0, "pthread_create");
    for (unsigned i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
}

static int is_mapped(const char *name) {
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    require(maps != NULL, "/proc/self/maps");
    while (fgets(line, sizeof line, maps))
        found = found || strstr(line, name) != NULL;
    fclose(maps);
    return found;
}

int main(int argc, char **argv) {
    require(argc == 3 || argc == 4, "the arguments");
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    require(library != NULL, "the library");
    require(chdir("/") == 0, "chdir");
    void *symbol = dlsym(library, "poolMallocAsync");
    memcpy(&allocate, &symbol, sizeof allocate);
    require(argc < 4 || dlopen(argv[3], RTLD_NOW) != NULL, "the plugin");
    use_at_once((unsigned)atoi(argv[2]));
    printf("%s\n", is_mapped("libstreampool_observe") ? "mapped" : "not mapped");
    return 0;
}
