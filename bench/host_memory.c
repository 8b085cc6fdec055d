#include "host_memory.h"
#include "malloced.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

struct host_memory host_memory_now(void) {
    malloc_trim(0);
    struct host_memory memory = {.resident = 0};
    memory.is_counted = malloced_bytes(&memory.handed_out);
    long total, resident;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file && fscanf(file, "%ld %ld", &total, &resident) == 2)
        memory.resident = (double)resident * (double)sysconf(_SC_PAGESIZE);
    if (file)
        fclose(file);
    return memory;
}
