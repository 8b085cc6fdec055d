#include "copy/fake_cufile.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <streampool/simcuda.h>
#include <sys/types.h>
#include <unistd.h>

enum { PAGE = 4096, IO_NOT_SUPPORTED = 5008 };

typedef struct {
    int err, cu_err;
} CUfileError_t;

typedef struct {
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *fs_ops;
} CUfileDescr_t;

typedef void *CUfileHandle_t;

CUfileError_t cuFileDriverOpen(void);
CUfileError_t cuFileHandleRegister(CUfileHandle_t *handle, CUfileDescr_t *descriptor);
void cuFileHandleDeregister(CUfileHandle_t handle);
ssize_t cuFileRead(CUfileHandle_t handle, void *base, size_t size, off_t place, off_t from_base);
ssize_t cuFileWrite(CUfileHandle_t handle, const void *base, size_t size, off_t place,
                    off_t from_base);

struct fake_cufile fake_cufile;

static void expect(bool condition) {
    if (!condition)
        atomic_fetch_add(&fake_cufile.mistakes, 1);
}

static void end(void) {
    atomic_store(&fake_cufile.has_ended, true);
}

CUfileError_t cuFileDriverOpen(void) {
    atomic_fetch_add(&fake_cufile.opened, 1);
    atexit(end);
    return (CUfileError_t){fake_cufile.opening, 0};
}

CUfileError_t cuFileHandleRegister(CUfileHandle_t *handle, CUfileDescr_t *descriptor) {
    expect(descriptor->type == 1 && descriptor->handle.fd >= 0 && !descriptor->fs_ops);
    atomic_fetch_add(&fake_cufile.registered, 1);
    atomic_store(&fake_cufile.fd, descriptor->handle.fd);
    int *fd = fake_cufile.refusal ? NULL : malloc(sizeof *fd);
    if (!fd)
        return (CUfileError_t){fake_cufile.refusal, 0};
    *fd = descriptor->handle.fd;
    *handle = fd;
    return (CUfileError_t){0, 0};
}

void cuFileHandleDeregister(CUfileHandle_t handle) {
    atomic_fetch_add(&fake_cufile.deregistered, 1);
    free(handle);
}

static bool fails(unsigned call, ssize_t *answer) {
    if (fake_cufile.fails_at == 0 || call < fake_cufile.fails_at ||
        (call > fake_cufile.fails_at && !fake_cufile.fails_on))
        return false;
    errno = fake_cufile.failure;
    *answer = fake_cufile.failure ? -1 : -IO_NOT_SUPPORTED;
    return true;
}

static ssize_t move(bool reads, int fd, uint64_t address, size_t size, off_t place) {
    void *memory = aligned_alloc(PAGE, size);
    ssize_t moved = -1;
    if (!memory)
        return -1;
    if (reads) {
        moved = pread(fd, memory, size, place);
        if (moved > 0 && simcudaPoke(address, memory, (size_t)moved) != 0)
            moved = -1;
    } else if (simcudaPeek(memory, address, size) == 0) {
        moved = pwrite(fd, memory, size, place);
    }
    free(memory);
    return moved;
}

static ssize_t answer(bool reads, CUfileHandle_t handle, const void *base, size_t size, off_t place,
                      off_t from_base) {
    ssize_t moved;
    unsigned call = 1 + atomic_fetch_add(reads ? &fake_cufile.reads : &fake_cufile.writes, 1);
    expect(size > 0 && size % PAGE == 0 && place % PAGE == 0);
    expect(!fake_cufile.held_back || __atomic_load_n(fake_cufile.held_back, __ATOMIC_ACQUIRE) != 0);
    if (fails(call, &moved))
        return moved;
    size_t least = fake_cufile.most && fake_cufile.most < size ? fake_cufile.most : size;
    // A piece that isn't of whole pages can't go around the cache: the real one sees to that.
    size_t pages = (least + PAGE - 1) / PAGE * PAGE;
    moved = move(reads, *(int *)handle, (uintptr_t)base + (uint64_t)from_base, pages, place);
    if (moved > (ssize_t)least)
        moved = (ssize_t)least;
    if (moved > 0)
        atomic_fetch_add(&fake_cufile.bytes, (size_t)moved);
    return moved;
}

ssize_t cuFileRead(CUfileHandle_t handle, void *base, size_t size, off_t place, off_t from_base) {
    return answer(true, handle, base, size, place, from_base);
}

ssize_t cuFileWrite(CUfileHandle_t handle, const void *base, size_t size, off_t place,
                    off_t from_base) {
    return answer(false, handle, base, size, place, from_base);
}
