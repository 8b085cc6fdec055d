// `lock` guards the list and is taken to write `current`, and to fork. The counts are read without
// it: a program that uses a pool has got it before.
#include "dropin/theirs.h"
#include "dropin/real.h"
#include "dropin/served.h"

#include <pthread.h>
#include <stdlib.h>

// Places by the type of their memory, the kind of location, and the number of the device or node.
enum { TYPES = 2, KINDS = CU_MEM_LOCATION_TYPE_HOST_NUMA + 1, NUMBERS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static CUmemoryPool *list;
static size_t room;
static _Atomic size_t count;
static CUmemoryPool _Atomic current[TYPES][KINDS][NUMBERS];
_Atomic int sp_theirs_current_count; // of devices

static void take_lock(void) {
    pthread_mutex_lock(&lock);
}

static void give_lock(void) {
    pthread_mutex_unlock(&lock);
}

// A child that uses a pool must hear that it can't, and not find the lock taken.
static void watch_forks(void) {
    pthread_atfork(take_lock, give_lock, give_lock);
}

// The place in the list, or `count`.
static size_t find_locked(CUmemoryPool pool) {
    size_t place = 0;
    while (place < count && list[place] != pool)
        place++;
    return place;
}

static bool add_locked(CUmemoryPool pool) {
    if (count == room) {
        size_t larger = room ? 2 * room : 8;
        CUmemoryPool *moved = realloc(list, larger * sizeof *list);
        if (!moved)
            return false;
        list = moved;
        room = larger;
    }
    list[count] = pool;
    sp_store_release(&count, count + 1);
    return true;
}

bool sp_theirs_note(CUmemoryPool pool) {
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lock);
    bool noted = find_locked(pool) < count || add_locked(pool);
    pthread_mutex_unlock(&lock);
    return noted;
}

bool sp_theirs_has(CUmemoryPool pool) {
    if (sp_load_acquire(&count) == 0)
        return false;
    pthread_mutex_lock(&lock);
    bool has = find_locked(pool) < count;
    pthread_mutex_unlock(&lock);
    return has;
}

static bool has_number(CUmemLocationType kind) {
    return kind == CU_MEM_LOCATION_TYPE_DEVICE || kind == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

// Null where no pool is current.
static CUmemoryPool _Atomic *find_current(CUmemLocation location, CUmemAllocationType type) {
    unsigned int row = (unsigned int)type - CU_MEM_ALLOCATION_TYPE_PINNED;
    unsigned int kind = (unsigned int)location.type;
    unsigned int number = has_number(location.type) ? (unsigned int)location.id : 0;
    bool exists = row < TYPES && kind < KINDS && number < NUMBERS;
    return exists ? &current[row][kind][number] : NULL;
}

CUmemoryPool sp_theirs_current(CUmemLocation location, CUmemAllocationType type) {
    CUmemoryPool _Atomic *place = find_current(location, type);
    return place ? sp_load_acquire(place) : NULL;
}

// Streams allocate from pinned memory of their device.
void sp_theirs_make_current(CUmemLocation location, CUmemAllocationType type, CUmemoryPool pool) {
    CUmemoryPool _Atomic *place = find_current(location, type);
    bool serves =
        type == CU_MEM_ALLOCATION_TYPE_PINNED && location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (!place)
        return;
    pthread_mutex_lock(&lock);
    if (serves)
        sp_add_relaxed(&sp_theirs_current_count, (pool != NULL) - (*place != NULL));
    sp_store_release(place, pool);
    pthread_mutex_unlock(&lock);
}

// The library's current pool comes first, as other threads allocate from it at once.
static void end_current_at(CUmemLocation location, CUmemAllocationType type, CUmemoryPool pool) {
    const struct poolMemLocation place = {(enum poolMemLocationType)location.type, location.id};
    poolMemPool_t standard;
    if (sp_theirs_current(location, type) != pool)
        return;
    if (poolMemGetDefaultMemPool(&standard, &place, (enum poolMemAllocationType)type) ==
        poolSuccess)
        poolMemSetMemPool(&place, (enum poolMemAllocationType)type, standard);
    sp_theirs_make_current(location, type, NULL);
}

void sp_theirs_end_current(CUmemoryPool pool) {
    for (int type = 0; type < TYPES; type++) {
        for (int kind = 0; kind < KINDS; kind++) {
            for (int number = 0; number < NUMBERS; number++)
                end_current_at((CUmemLocation){(CUmemLocationType)kind, number},
                               (CUmemAllocationType)(CU_MEM_ALLOCATION_TYPE_PINNED + type), pool);
        }
    }
}

void sp_theirs_forget(CUmemoryPool pool) {
    pthread_mutex_lock(&lock);
    size_t place = find_locked(pool);
    if (place < count) {
        list[place] = list[count - 1];
        sp_store_release(&count, count - 1);
    }
    pthread_mutex_unlock(&lock);
}

bool sp_theirs_find_device(CUstream stream, CUdevice *device) {
    CUcontext context;
    if (sp_real_call(cuStreamGetCtx, (stream, &context)) != CUDA_SUCCESS ||
        sp_real_call(cuCtxPushCurrent_v2, (context)) != CUDA_SUCCESS)
        return false;
    bool found = sp_real_call(cuCtxGetDevice, (device)) == CUDA_SUCCESS;
    sp_real_call(cuCtxPopCurrent_v2, (&context));
    return found;
}

bool sp_theirs_serves_device_of(CUstream stream) {
    CUdevice device;
    return sp_theirs_find_device(stream, &device) && sp_theirs_current_of(device) != NULL;
}
