#include "random/totals.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "support/pools.h"

static const struct {
    const char *name;
    enum poolMemPoolAttr attribute;
} table[] = {
#define TOTALS_ENTRY(name, number, text) {#name, poolMemPoolStat##name},
    STREAMPOOL_POOL_STATISTICS(TOTALS_ENTRY)
#undef TOTALS_ENTRY
};

struct totals *totals_open(void) {
    void *memory = mmap(NULL, sizeof(struct totals), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void totals_add_pool(struct totals *totals, poolMemPool_t pool) {
    for (unsigned i = 0; i < TOTALS_COUNT; i++)
        totals->statistics[i] += test_attribute(pool, table[i].attribute);
}

void totals_print(const struct totals *totals) {
    printf("%" PRIu64 " programs, %" PRIu64 " operations\n", totals->programs, totals->operations);
    for (unsigned i = 0; i < TOTALS_COUNT; i++)
        printf("%-18s %" PRIu64 "\n", table[i].name, totals->statistics[i]);
}

enum totals_index totals_find(const char *name) {
    enum totals_index index = 0;
    while (index < TOTALS_COUNT && strcmp(table[index].name, name) != 0)
        index++;
    return index;
}

const char *totals_name(enum totals_index index) {
    return table[index].name;
}
