#include "simcuda/queue/item.h"

#include <string.h>

#include "base/number.h"
#include "simcuda/common/clock.h"
#include "simcuda/common/host.h"

#define LONGEST_NAME 200 // bytes: a report has two names

uint64_t sim_item_last_serial;
struct sp_list sim_touching = {&sim_touching, &sim_touching};

// Names of work outlive the module and the registration that they are of: touches are told of
// later.
static struct name {
    struct name *next;
    size_t length;
    char text[];
} * names[1 << 8];

static struct name *keep_name(struct name *next, const char *name, size_t length) {
    static const char dots[] = "...";
    struct name *kept = sim_allocate(sizeof *kept + length + sizeof dots);
    kept->next = next;
    kept->length = length;
    memcpy(kept->text, name, length);
    if (name[length])
        memcpy(kept->text + length, dots, sizeof dots);
    return kept;
}

static bool is_that(const struct name *known, const char *name, size_t length) {
    return known->length == length && !known->text[length] == !name[length] &&
           memcmp(known->text, name, length) == 0;
}

void sim_job_name(struct sim_job *job, const char *name) {
    size_t length = strnlen(name, LONGEST_NAME);
    while (length > 0 && ((unsigned char)name[length] & 0xC0) == 0x80)
        length--; // not within a character
    uint64_t hash = length;
    for (size_t i = 0; i < length; i++)
        hash = sp_hash_bits(hash ^ (unsigned char)name[i], 64);
    struct name **bucket = &names[hash % (sizeof names / sizeof names[0])], *known = *bucket;
    while (known && !is_that(known, name, length))
        known = known->next;
    if (!known)
        known = *bucket = keep_name(*bucket, name, length);
    job->name = known->text;
}

void sim_item_reset(void) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        while (names[i]) {
            struct name *name = names[i];
            names[i] = name->next;
            sim_free(name);
        }
    }
}

void sim_job_touches(struct sim_job *job, uint64_t address, uint64_t size, simcudaAccessKind kind) {
    if (size > UINT64_MAX - address)
        size = UINT64_MAX - address;
    if (size == 0)
        return;
    job->accesses = sim_reallocate(job->accesses, job->count + 1, sizeof(*job->accesses));
    job->accesses[job->count++] = (simcudaAccess){address, size, kind};
}

uint64_t sim_job_bytes(const struct sim_job *job) {
    uint64_t sum = 0;
    for (size_t i = 0; i < job->count; i++) {
        uint64_t size = job->accesses[i].size;
        sum = size > UINT64_MAX - sum ? UINT64_MAX : sum + size;
    }
    return sum;
}

void sim_job_drop(struct sim_job *job) {
    sim_free(job->accesses);
    sim_free(job->copies);
    sim_free(job->owned);
    job->accesses = NULL;
    job->copies = NULL;
    job->owned = NULL;
    job->count = job->copy_count = 0;
}

void sim_item_destroy(struct sim_item *item) {
    while (item->dependency_count > 0)
        sim_item_drop(item->dependencies[--item->dependency_count]);
    sim_free(item->dependencies);
    sim_job_drop(&item->job);
    sim_clock_drop(item->clock);
    sim_free(item);
}

const simcudaAccess *sim_item_access_to(const struct sim_item *item, uint64_t address,
                                        uint64_t size) {
    const simcudaAccess *access = item->job.accesses;
    while (access->address >= address + size || address >= access->address + access->size)
        access++;
    return access;
}

const char *sim_touch_verb(const struct sim_touch *touch) {
    return touch->writes ? "writes" : "reads";
}

struct sim_side sim_touch_side(const struct sim_touch *touch) {
    return (struct sim_side){touch->who, touch->name, sim_touch_verb(touch), touch->address,
                             touch->size};
}

static bool concerns(const simcudaAccess *access, uint64_t address, uint64_t size, bool writes) {
    return (writes || access->kind == simcudaAccessWrite) && access->address < address + size &&
           address < access->address + access->size;
}

struct sim_touch sim_item_touch(const struct sim_item *item, const simcudaAccess *access) {
    struct sim_touch touch = {
        .slot = item->slot,
        .sequence = item->sequence,
        .serial = item->serial,
        .address = access->address,
        .size = access->size,
        .who = item->who,
        .writes = access->kind == simcudaAccessWrite,
        .is_told = item->job.is_told,
        .name = item->job.name,
    };
    return touch;
}

struct sim_item *sim_item_conflicting(uint64_t address, uint64_t size, bool writes) {
    SP_LIST_FOR_EACH(link, &sim_touching) {
        struct sim_item *item = SP_CONTAINER_OF(link, struct sim_item, touching_link);
        for (size_t i = 0; !item->job.is_told && i < item->job.count; i++) {
            if (concerns(&item->job.accesses[i], address, size, writes))
                return item;
        }
    }
    return NULL;
}

struct sim_item *sim_item_naming(uint64_t address, uint64_t size) {
    return sim_item_conflicting(address, size, true);
}
