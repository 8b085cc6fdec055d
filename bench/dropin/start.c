// start LIBRARY: what a program that never allocates in stream order pays for the drop-in: the time
// from its start to its end, without and with the library preloaded, in turn, and one look-up.
//
// It starts itself as such a program: with the word "nothing" it ends at once, with "look-ups" it
// looks a name up a million times.
#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

enum { STARTS = 201, LOOKUPS = 1000000 };

extern char **environ;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

// The time until a program that does nothing has ended.
static double start(char *program, char **environment) {
    char *arguments[] = {program, "nothing", NULL};
    pid_t child;
    int status;
    double begin = now();
    if (posix_spawn(&child, program, NULL, NULL, arguments, environment) != 0)
        exit(1);
    waitpid(child, &status, 0);
    if (status != 0)
        exit(1);
    return now() - begin;
}

static void look_up(void) {
    static const char *const names[] = {"cuMemAllocAsync", "cuLaunchKernel", "malloc"};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    for (int i = 0; i < 3; i++) {
        void *handle = i < 2 ? driver : RTLD_DEFAULT;
        double begin = now();
        for (int j = 0; j < LOOKUPS; j++) {
            if (!dlsym(handle, names[i]) && driver)
                exit(1);
        }
        printf("look-up of %s\t%.1f\n", names[i], (now() - begin) / LOOKUPS);
    }
}

int main(int count, char **arguments) {
    double without[STARTS], with[STARTS];
    char preload[4096];
    if (count > 1 && strcmp(arguments[1], "nothing") == 0)
        return 0;
    if (count > 1 && strcmp(arguments[1], "look-ups") == 0)
        return look_up(), 0;
    if (count != 2)
        return fprintf(stderr, "usage: start LIBRARY | look-ups\n"), 2;
    snprintf(preload, sizeof preload, "LD_PRELOAD=%s", arguments[1]);
    size_t size = 0;
    while (environ[size])
        size++;
    char **environment = calloc(size + 2, sizeof *environment);
    memcpy(environment, environ, size * sizeof *environment);
    environment[size] = preload;
    for (int i = 0; i < STARTS; i++) {
        without[i] = start("/proc/self/exe", environ);
        with[i] = start("/proc/self/exe", environment);
    }
    qsort(without, STARTS, sizeof *without, compare);
    qsort(with, STARTS, sizeof *with, compare);
    printf("start without\t%.0f\nstart with\t%.0f\nstart more\t%.0f\n", without[STARTS / 2],
           with[STARTS / 2], with[STARTS / 2] - without[STARTS / 2]);
    return 0;
}
