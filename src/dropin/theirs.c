// `lock` guards the list and is taken to write `current`, and to fork. The counts are read without
// it: a program that uses a pool has got it before.
#include "dropin/theirs.h"
#include "dropin/real.h"
#include "dropin/served.h"

#include <pthread.h>
#include <stdlib.h>

enum { DEVICES = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static CUmemoryPool *list;
static size_t room;
static _Atomic size_t count;
static CUmemoryPool _Atomic current[DEVICES];
_Atomic int sp_theirs_current_count;

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

static bool exists(CUdevice device) {
    return device >= 0 && device < DEVICES;
}

CUmemoryPool sp_theirs_current(CUdevice device) {
    return exists(device) ? sp_load_acquire(&current[device]) : NULL;
}

static void set_current_locked(CUdevice device, CUmemoryPool pool) {
    sp_add_relaxed(&sp_theirs_current_count, (pool != NULL) - (current[device] != NULL));
    sp_store_release(&current[device], pool);
}

bool sp_theirs_make_current(CUdevice device, CUmemoryPool pool) {
    if (!exists(device))
        return false;
    pthread_mutex_lock(&lock);
    set_current_locked(device, pool);
    pthread_mutex_unlock(&lock);
    return true;
}

static void make_default_current(CUdevice device) {
    poolMemPool_t pool;
    if (poolDeviceGetDefaultMemPool(&pool, device) == poolSuccess)
        poolDeviceSetMemPool(device, pool);
}

// The library's current pool comes first, as other threads allocate from it at once.
void sp_theirs_end_current(CUmemoryPool pool) {
    for (CUdevice device = 0; device < DEVICES; device++) {
        if (sp_theirs_current(device) != pool)
            continue;
        make_default_current(device);
        sp_theirs_make_current(device, NULL);
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
    return sp_theirs_find_device(stream, &device) && sp_theirs_current(device) != NULL;
}
