#include "vmm/staged.h"

#include "base/number.h"
#include "base/thread.h"
#include "vmm/device.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// So many threads, each with no less than this to touch: more wait for each other in the kernel.
enum { THREADS_MOST = 8 };
#define TOUCHED_LEAST ((size_t)64 << 20)

#define HUGE_PAGE ((size_t)2 << 20)

// ---------------------------------------------------------------------------------------- touching

struct part {
    volatile char *begin;
    size_t size;
};

// A page is there once a byte was written; new pages are zeros.
static void *touch(void *context) {
    const struct part *part = context;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t at = 0; at < part->size; at += page)
        part->begin[at] = 0;
    return NULL;
}

// A thread that can't be made leaves its part to this one.
static void touch_all(char *memory, size_t size) {
    SP_UNCANCELLED;
    struct part parts[THREADS_MOST];
    pthread_t threads[THREADS_MOST];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t count = sp_min(sp_max(size / TOUCHED_LEAST, 1), THREADS_MOST);
    count = sp_min(count, processors > 0 ? (size_t)processors : 1);
    size_t each = sp_round_up(size / count, HUGE_PAGE), made = 0, begin = each;
    for (; begin < size && made < THREADS_MOST - 1; begin += each, made++) {
        parts[made] = (struct part){memory + begin, sp_min(each, size - begin)};
        if (!sp_thread_start(&threads[made], touch, &parts[made]))
            break;
    }
    struct part own = {memory, sp_min(each, size)}, rest = {memory + begin, sp_excess(size, begin)};
    touch(&own);
    touch(&rest);
    while (made > 0)
        pthread_join(threads[--made], NULL);
}

// ---------------------------------------------------------------------------------------- mapping

// Has the pages come from the node alone. False where there is no such node, or the kernel can't.
static bool bind_to_node(void *memory, size_t size, int node) {
    enum { BIND = 2, NODES_MOST = 1024, BITS = 8 * sizeof(unsigned long) };
    unsigned long nodes[NODES_MOST / BITS] = {0};
    if (node < 0)
        return true;
    errno = EINVAL;
    if (node >= NODES_MOST)
        return false;
    nodes[node / (int)BITS] = 1UL << node % (int)BITS;
    return syscall(SYS_mbind, memory, size, BIND, nodes, (unsigned long)NODES_MOST, 0U) == 0;
}

// Maps address space that begins with a huge page. Null where there is none.
static char *map(size_t size) {
    size_t wide = size + HUGE_PAGE;
    char *memory = mmap(NULL, wide, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    char *begin = (char *)sp_round_up((size_t)(uintptr_t)memory, HUGE_PAGE);
    size_t before = (size_t)(begin - memory);
    if (before > 0)
        munmap(memory, before);
    munmap(begin + size, wide - size - before);
    return begin;
}

// ---------------------------------------------------------------------------------------- provider

static struct sp_outcome get(const struct sp_vmm_device *device, CUdeviceptr *base, size_t size) {
    char *memory = map(size);
    if (!memory)
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    madvise(memory, size, MADV_HUGEPAGE);
    madvise(memory, size, MADV_DONTFORK); // else a write behind a fork moves the page
    if (!bind_to_node(memory, size, sp_place_node(&device->place))) {
        munmap(memory, size);
        return sp_outcome_of(SP_NOT_SUPPORTED);
    }
    touch_all(memory, size);
    struct sp_outcome outcome = sp_outcome_of_driver(
        sp_driver->cuMemHostRegister(memory, size,
                                     CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP),
        "cuMemHostRegister");
    if (sp_is_done(outcome))
        *base = (uintptr_t)memory;
    else
        munmap(memory, size);
    return outcome;
}

static struct sp_outcome give(CUdeviceptr base, size_t size) {
    void *memory = (void *)(uintptr_t)base;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuMemHostUnregister(memory), "cuMemHostUnregister");
    if (sp_is_done(outcome))
        munmap(memory, size);
    return outcome;
}

static void forget(CUdeviceptr base, size_t size) {
    munmap((void *)(uintptr_t)base, size);
}

const struct sp_vmm_provider sp_vmm_staged = {.get = get,
                                              .give = give,
                                              .forget = forget,
                                              .lets_peers_in = true,
                                              .is_of_context = true,
                                              .waits_to_give = true};

// A page on the node shows that it is there.
struct sp_outcome sp_staged_check(const struct sp_place *place) {
    char *memory = map(HUGE_PAGE);
    if (!memory)
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    bool is_there = bind_to_node(memory, HUGE_PAGE, sp_place_node(place));
    int refused = errno;
    munmap(memory, HUGE_PAGE);
    return is_there            ? sp_outcome_done()
           : refused == EINVAL ? sp_outcome_of_code(CUDA_ERROR_INVALID_VALUE, "mbind")
                               : sp_outcome_of(SP_NOT_SUPPORTED);
}
