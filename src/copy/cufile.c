#include "copy/cufile.h"

#include "base/atomic.h"
#include "base/options.h"
#include "beside/refuse.h"
#include "copy/stream.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

// Around the page cache a file is read and written by pages of this size.
#define PAGE ((size_t)4096)

// A copy by cuFile opens the file once more, has it registered, waits for the stream and copies by
// way of a buffer of 1 MiB in the device's memory, as no memory is registered. So smaller copies
// can't gain by it. This is reasoned, not measured.
#define LEAST ((size_t)1 << 20)

#define VARIABLE      "STREAMPOOL_CUFILE"
#define LIBRARY       "libcufile.so.0"
#define KERNEL_MODULE "/proc/driver/nvidia-fs"

// -------------------------------------------------------------------------------- cuFile's calls

enum { SUCCEEDED = 0, IS_OPEN_ALREADY = 5026 };

struct status {
    int code;
    CUresult of_driver;
};

struct descriptor {
    int type; // 1: a descriptor of the system's
    union {
        int fd;
        void *handle;
    } of;
    const void *operations; // of a file system in user space
};

// A read or a write returns how many bytes it has moved, or less than 0. Its last number counts
// from `memory`.
#define ENTRIES(X)                                                                                 \
    X(cuFileDriverOpen, struct status, (void))                                                     \
    X(cuFileHandleRegister, struct status, (void **handle, struct descriptor *descriptor))         \
    X(cuFileHandleDeregister, void, (void *handle))                                                \
    X(cuFileRead, ssize_t, (void *handle, void *memory, size_t bytes, off_t place, off_t at))      \
    X(cuFileWrite, ssize_t, (void *handle, const void *memory, size_t bytes, off_t place, off_t at))

#define DECLARE(name, result, parameters) result(*name) parameters;
static struct { ENTRIES(DECLARE) } cufile;
#undef DECLARE

static pthread_once_t load_once = PTHREAD_ONCE_INIT;
static bool is_loaded;

// An empty value counts as not set. A program with raised privileges loads no library that its user
// names.
static const char *asked_for(void) {
    const char *text = secure_getenv(VARIABLE);
    return text && text[0] != '\0' ? text : NULL;
}

// Null: none.
static const char *name_of_library(const char *asked) {
    bool is_wanted = true;
    if (!asked)
        return access(KERNEL_MODULE, F_OK) == 0 ? LIBRARY : NULL;
    if (sp_options_parse(SP_OPTION_bool, asked, &is_wanted))
        return is_wanted ? LIBRARY : NULL;
    return asked;
}

// dlsym returns functions as data pointers, and C has no cast between the two.
static bool bind(void *library, const char *name, void *entry) {
    void *found = dlsym(library, name);
    memcpy(entry, &found, sizeof found);
    return found != NULL;
}

// At the end of the process, where cuFile ends behind this.
static atomic_bool has_ended;
static void note_end(void) {
    atomic_store(&has_ended, true);
}

static void load(void) {
    const char *asked = asked_for(), *name = name_of_library(asked);
    void *library = name ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : NULL;
    bool has_all = library != NULL;
#define BIND(entry, result, parameters) has_all = has_all && bind(library, #entry, &cufile.entry);
    ENTRIES(BIND)
#undef BIND
    if (has_all) {
        int code = cufile.cuFileDriverOpen().code;
        is_loaded = (code == SUCCEEDED || code == IS_OPEN_ALREADY) && atexit(note_end) == 0;
    }
    if (asked && name && !is_loaded)
        fprintf(stderr, "streampool: " VARIABLE ": %s can't be loaded, or doesn't open\n", name);
}

static bool find_library(void) {
    pthread_once(&load_once, load);
    return is_loaded;
}

// ------------------------------------------------------------------------------- what it may copy

static bool is_of_device(CUdeviceptr address, int device) {
    unsigned type = 0;
    bool is_managed = true;
    int ordinal = -1;
    return sp_driver->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) ==
               CUDA_SUCCESS &&
           type == CU_MEMORYTYPE_DEVICE &&
           sp_driver->cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                            address) == CUDA_SUCCESS &&
           !is_managed &&
           sp_driver->cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                            address) == CUDA_SUCCESS &&
           ordinal == device;
}

// Tells the file's device, which stands for its file system.
static bool is_on_disk(int fd, uint64_t *disk) {
    struct stat status;
    if (fstat(fd, &status) != 0 || !(S_ISREG(status.st_mode) || S_ISBLK(status.st_mode)))
        return false;
    *disk = status.st_dev;
    return true;
}

static bool may_copy(const struct sp_copy *copy) {
    return copy->width >= LEAST && copy->file_offset % PAGE == 0 && !sp_crew_is_ending() &&
           find_library() && !atomic_load(&has_ended) && is_of_device(copy->address, copy->device);
}

// ---------------------------------------------------------------------------------------- copying

// Moves whole pages, until a call fails or ends inside of one.
static size_t move_pages(const struct sp_copy *copy, void *handle) {
    size_t done = 0, all = copy->width / PAGE * PAGE;
    void *memory = (void *)(uintptr_t)copy->address;
    while (done < all && done % PAGE == 0) {
        off_t place = (off_t)(copy->file_offset + done);
        ssize_t moved = copy->to_device
                            ? cufile.cuFileRead(handle, memory, all - done, place, (off_t)done)
                            : cufile.cuFileWrite(handle, memory, all - done, place, (off_t)done);
        if (moved <= 0)
            break;
        done += (size_t)moved;
    }
    return done;
}

// The file system that has refused a file last: it would refuse the next one as well, and cuFile
// writes each refusal into its log.
static _Atomic uint64_t refuser;

static void *register_file(int fd, uint64_t disk) {
    void *handle = NULL;
    struct descriptor descriptor = {.type = 1, .of.fd = fd};
    if (fd < 0)
        return NULL;
    if (cufile.cuFileHandleRegister(&handle, &descriptor).code == SUCCEEDED)
        return handle;
    sp_store_relaxed(&refuser, disk);
    return NULL;
}

static poolError_t copy_by(const struct sp_copy *copy, void *handle, size_t *done) {
    struct sp_outcome outcome = sp_stream_await(copy->stream);
    if (sp_is_done(outcome))
        *done = move_pages(copy, handle);
    return sp_is_done(outcome) ? poolSuccess : sp_refuse_outcome(outcome, "copying a file");
}

// A descriptor of the program's may be registered already, by the program. One that isn't open with
// O_DIRECT isn't registered here, and not duplicated: with the duplicate's end the process would
// lose its record locks of the file.
static bool open_file(const struct sp_copy *copy, struct sp_copy_file *file) {
    sp_copy_file_open(file, copy->fd, copy->to_device, copy->file_offset);
    return !file->is_direct ||
           sp_copy_file_open_own(file, copy->fd, copy->to_device, copy->file_offset);
}

poolError_t sp_cufile_copy(const struct sp_copy *copy, size_t *done) {
    struct sp_copy_file file;
    poolError_t error = poolSuccess;
    uint64_t disk = 0;
    *done = 0;
    if (!is_on_disk(copy->fd, &disk) || disk == sp_load_relaxed(&refuser) || !may_copy(copy) ||
        !open_file(copy, &file))
        return poolSuccess;
    void *handle =
        sp_copy_file_is_cached(&file) ? NULL : register_file(sp_copy_file_direct(&file), disk);
    if (handle) {
        error = copy_by(copy, handle, done);
        cufile.cuFileHandleDeregister(handle);
    }
    sp_copy_file_close(&file);
    return error;
}
