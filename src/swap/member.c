#include "swap/member.h"

#include "base/lock.h"
#include "beside/refuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <streampool/lists.h>
#include <string.h>

enum { DEVICES = 256 }; // that a process can have

static struct sp_lock device_locks[DEVICES];
static struct sp_lock list_lock;
static struct sp_member *first; // guarded by it, as the links are

// ------------------------------------------------------------------------------------------- pools

// That there is no such pool is no error for the program to see.
static bool is_there(poolMemPool_t pool) {
    int ignored;
    poolError_t before = poolPeekAtLastError();
    if (poolMemPoolGetAttribute(pool, poolMemPoolAttrLocationId, &ignored) == poolSuccess)
        return true;
    sp_refuse_nothing(before);
    return false;
}

// Finds the device of a pool that can be paused.
static poolError_t find_device(poolMemPool_t pool, int *device) {
    int type = 0, location = 0;
    poolError_t error = poolMemPoolGetAttribute(pool, poolMemPoolAttrLocationType, &location);
    if (error == poolSuccess)
        error = poolMemPoolGetAttribute(pool, poolMemPoolAttrAllocationType, &type);
    if (error == poolSuccess)
        error = poolMemPoolGetAttribute(pool, poolMemPoolAttrLocationId, device);
    if (error == poolSuccess &&
        (location != poolMemLocationTypeDevice || type != poolMemAllocationTypePinned))
        return sp_refuse(poolErrorNotSupported, "the pool isn't of a device's own memory");
    return error;
}

// Sets what can be set. The others refuse that as a bad argument.
static poolError_t copy_attributes(poolMemPool_t to, poolMemPool_t from) {
    poolError_t before = poolPeekAtLastError(), error = poolSuccess;
#define COPY(name, number, type)                                                                   \
    {                                                                                              \
        type value;                                                                                \
        if (error == poolSuccess && poolMemPoolGetAttribute(from, name, &value) == poolSuccess)    \
            error = poolMemPoolSetAttribute(to, name, &value);                                     \
        if (error == poolErrorInvalidValue)                                                        \
            error = poolSuccess;                                                                   \
    }
    STREAMPOOL_POOL_ATTRIBUTES(COPY)
#undef COPY
    if (error == poolSuccess)
        sp_refuse_nothing(before);
    return error;
}

// Asks about devices until there is no such device, which is no error.
static poolError_t copy_access(poolMemPool_t to, poolMemPool_t from) {
    poolError_t before = poolPeekAtLastError(), error = poolSuccess;
    struct poolMemAccessDesc access = {.location = {poolMemLocationTypeDevice, 0}};
    for (; error == poolSuccess; access.location.id++) {
        if (poolMemPoolGetAccess(&access.flags, from, &access.location) != poolSuccess) {
            sp_refuse_nothing(before);
            break;
        }
        if (access.flags != poolMemAccessFlagsProtNone)
            error = poolMemPoolSetAccess(to, &access, 1);
    }
    return error;
}

static poolError_t name_pool(poolMemPool_t pool, poolMemPool_t base, const char *tag) {
    char name[STREAMPOOL_NAME_BYTES], both[2 * STREAMPOOL_NAME_BYTES];
    poolError_t error = poolMemPoolGetName(base, name, sizeof name);
    if (error != poolSuccess)
        return error;
    snprintf(both, sizeof both, "%s/%s", name, tag);
    return poolMemPoolSetName(pool, strlen(both) < STREAMPOOL_NAME_BYTES ? both : tag);
}

// The name comes last: the environment may set attributes by it.
static poolError_t make_pool(poolMemPool_t base, const char *tag, int device, poolMemPool_t *made) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, device}};
    uint64_t most = 0;
    int handles = 0;
    poolError_t error = poolMemPoolGetAttribute(base, poolMemPoolAttrMaxPoolSize, &most);
    if (error == poolSuccess)
        error = poolMemPoolGetAttribute(base, poolMemPoolAttrExportHandleTypes, &handles);
    if (error != poolSuccess)
        return error;
    props.maxSize = most;
    props.handleTypes = (enum poolMemAllocationHandleType)handles;
    error = poolMemPoolCreate(made, &props);
    if (error != poolSuccess)
        return error;
    error = copy_attributes(*made, base);
    if (error == poolSuccess)
        error = copy_access(*made, base);
    if (error == poolSuccess)
        error = name_pool(*made, base, tag);
    if (error != poolSuccess)
        poolMemPoolDestroy(*made);
    return error;
}

// -------------------------------------------------------------------------------------- the list

static struct sp_member *find_pool_locked(poolMemPool_t pool) {
    struct sp_member *member = first;
    while (member && member->pool != pool)
        member = member->next;
    return member;
}

static struct sp_member *find_tag_locked(poolMemPool_t base, const char *tag) {
    struct sp_member *member = first;
    while (member && (member->base != base || strcmp(member->tag, tag) != 0))
        member = member->next;
    return member;
}

static size_t count_tags_locked(poolMemPool_t base) {
    size_t count = 0;
    for (const struct sp_member *member = first; member; member = member->next)
        count += member->base == base && is_there(member->pool);
    return count;
}

static struct sp_member *add_locked(poolMemPool_t pool, int device) {
    struct sp_member *member = calloc(1, sizeof *member);
    if (!member)
        return NULL;
    member->pool = pool;
    member->device = device;
    member->saved = SP_SAVED_NOTHING;
    member->next = first;
    first = member;
    return member;
}

// A member whose pool was destroyed gives its tag to the new one.
static poolError_t add_tag_locked(poolMemPool_t base, const char *tag, int device,
                                  poolMemPool_t *tagged) {
    struct sp_member *before = find_tag_locked(base, tag), *member = NULL;
    if (before && is_there(before->pool)) {
        *tagged = before->pool;
        return poolSuccess;
    }
    if (count_tags_locked(base) >= SP_TAGS_MOST)
        return sp_refuse(poolErrorMemoryAllocation, "the pool has %d tags already", SP_TAGS_MOST);
    poolMemPool_t made = NULL;
    poolError_t error = make_pool(base, tag, device, &made);
    if (error != poolSuccess)
        return error;
    member = add_locked(made, device);
    if (!member) {
        poolMemPoolDestroy(made);
        return sp_refuse(poolErrorMemoryAllocation, "the host has no memory for a tag");
    }
    member->base = base;
    strcpy(member->tag, tag);
    if (before)
        before->base = NULL;
    *tagged = made;
    return poolSuccess;
}

poolError_t sp_member_tagged(poolMemPool_t base, const char *tag, poolMemPool_t *tagged) {
    int device = 0;
    poolError_t error = find_device(base, &device);
    if (error != poolSuccess)
        return error;
    if (strlen(tag) >= SP_TAG_BYTES)
        return sp_refuse(poolErrorInvalidValue, "a tag has at most %d bytes", SP_TAG_BYTES - 1);
    sp_lock_acquire(&list_lock);
    const struct sp_member *member = find_pool_locked(base);
    if (member && member->base && is_there(member->base))
        error =
            sp_refuse(poolErrorInvalidValue, "the pool is itself that of the tag %s", member->tag);
    else if (tag[0] == '\0')
        *tagged = base;
    else
        error = add_tag_locked(base, tag, device, tagged);
    sp_lock_release(&list_lock);
    return error;
}

// ----------------------------------------------------------------------------------------- groups

static struct sp_member *unlink_gone_locked(int device) {
    struct sp_member *gone = NULL;
    for (struct sp_member **link = &first; *link;) {
        struct sp_member *member = *link;
        if (member->base && !is_there(member->base))
            member->base = NULL;
        if (member->device != device || is_there(member->pool)) {
            link = &member->next;
            continue;
        }
        *link = member->next;
        member->next = gone;
        gone = member;
    }
    return gone;
}

static void drop_all(struct sp_member *member) {
    while (member) {
        struct sp_member *next = member->next;
        sp_saved_drop(&member->saved);
        free(member);
        member = next;
    }
}

// Also what has no tag is among the members once a call names it.
static poolError_t find_group_locked(poolMemPool_t pool, const char *tag, struct sp_group *group) {
    bool is_one = tag && tag[0] != '\0';
    struct sp_member *own = find_pool_locked(pool);
    if (!is_one && !own && !(own = add_locked(pool, group->device)))
        return sp_refuse(poolErrorMemoryAllocation, "the host has no memory to note a pool");
    if (!is_one)
        group->members[group->count++] = own;
    for (struct sp_member *member = first; member && (!tag || is_one); member = member->next) {
        if (member->base == pool && (!tag || strcmp(member->tag, tag) == 0))
            group->members[group->count++] = member;
    }
    return group->count > 0 ? poolSuccess
                            : sp_refuse(poolErrorInvalidValue, "the pool has no tag %s", tag);
}

poolError_t sp_member_enter(poolMemPool_t pool, const char *tag, struct sp_group *group) {
    group->count = 0;
    poolError_t error = find_device(pool, &group->device);
    if (error != poolSuccess)
        return error;
    sp_lock_acquire(&device_locks[group->device % DEVICES]);
    sp_lock_acquire(&list_lock);
    struct sp_member *gone = unlink_gone_locked(group->device);
    error = find_group_locked(pool, tag, group);
    sp_lock_release(&list_lock);
    drop_all(gone);
    if (error != poolSuccess)
        sp_member_leave(group);
    return error;
}

void sp_member_leave(const struct sp_group *group) {
    sp_lock_release(&device_locks[group->device % DEVICES]);
}

void sp_member_drop(struct sp_member *member) {
    sp_lock_acquire(&list_lock);
    struct sp_member **link = &first;
    while (*link != member)
        link = &(*link)->next;
    *link = member->next;
    sp_lock_release(&list_lock);
    member->next = NULL;
    drop_all(member);
}
