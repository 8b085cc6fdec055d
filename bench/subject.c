#include "subject.h"

#include "samples.h"

#include "cli/program/complain.h"

#include <sched.h>
#include <stdatomic.h>
#include <streampool/streampool.h>

static const struct {
    const struct subject *subject;
    const char *name;
} table[SUBJECT_COUNT] = {
#define KIND(name, NAME, text) [SUBJECT_##NAME] = {&subject_##name, text},
    SUBJECTS(KIND)
#undef KIND
};

static bool is_of_cuda(enum subject_kind kind) {
    return kind == SUBJECT_CUDAS || kind == SUBJECT_CUDAS_DEFAULT || kind == SUBJECT_CUDAS_HOST;
}

static bool has_pools(const struct sp_driver *driver) {
    int supported = 0;
    driver->cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0);
    return supported && driver->cuMemPoolCreate;
}

const char *subject_name(enum subject_kind kind) {
    return table[kind].name;
}

bool subject_init(struct subject *subject, enum subject_kind kind, const struct sp_driver *driver) {
    *subject = *table[kind].subject;
    subject->name = table[kind].name;
    subject->driver = driver;
    return !is_of_cuda(kind) || has_pools(driver);
}

void lineup_init(struct lineup *lineup, const struct sp_driver *driver,
                 const enum subject_kind kinds[], size_t count) {
    lineup->count = 0;
    for (size_t i = 0; i < count; i++)
        lineup->count += subject_init(&lineup->subjects[lineup->count], kinds[i], driver);
}

int lineup_try(struct lineup *lineup) {
    size_t count = 0;
    int error = 0;
    for (size_t i = 0; i < lineup->count && !error; i++) {
        struct subject subject = lineup->subjects[i];
        int opened = subject.open(&subject, 0);
        error = subject.close(&subject);
        if (!opened)
            lineup->subjects[count++] = lineup->subjects[i];
        else if (opened != CUDA_ERROR_NOT_SUPPORTED && !error)
            error = opened;
    }
    lineup->count = count;
    return error;
}

void lineup_add_peers(struct lineup *lineup, const struct sp_driver *driver,
                      const struct sp_peers *peers) {
    for (size_t i = 0; i < peers->count; i++)
        subject_init_peer(&lineup->subjects[lineup->count++], peers->list[i], driver);
}

int lineup_open(struct lineup *lineup, uint64_t threshold) {
    int error = 0;
    for (size_t i = 0; i < lineup->count && !error; i++) {
        error = lineup->subjects[i].open(&lineup->subjects[i], threshold);
        if (error)
            sp_complain("%s can't be opened", lineup->subjects[i].name);
    }
    return error;
}

int lineup_close(struct lineup *lineup) {
    int first = 0;
    for (size_t i = 0; i < lineup->count; i++) {
        int error = lineup->subjects[i].close(&lineup->subjects[i]);
        first = first ? first : error;
    }
    return first;
}

int subject_settle(const struct subject *subject) {
    const double limit = 10e9;
    bool later = subject->attribute == poolMemPoolAttrTrimByReaper;
    uint64_t reserved = later ? UINT64_MAX : 0;
    double begin = samples_clock();
    int error = 0;
    while (reserved > subject->threshold && samples_clock() - begin < limit && !error) {
        error = subject->reserved(subject, &reserved);
        sched_yield();
    }
    return error;
}

unsigned subject_place(void) {
    static atomic_uint taken;
    static _Thread_local unsigned place = SUBJECT_PLACES;
    if (place == SUBJECT_PLACES)
        place = atomic_fetch_add(&taken, 1) % SUBJECT_PLACES;
    return place;
}
