#include "simcuda/memory/pinned.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/number.h"
#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/common/thread.h"
#include "simcuda/memory/device.h"
#include "simcuda/queue/cost.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/queue.h"
#include "simcuda/report/report.h"

#define HOST_PAGE  ((uint64_t)4096)
#define MOST_FREED 64 // whose addresses are kept for the next allocation

static struct sim_pinned **pieces;
static size_t piece_count;
static size_t piece_capacity;
static struct sp_list freed = {&freed, &freed}; // the latest first, without their pages
static size_t freed_count;
static uint64_t count_of_library; // of the live ones
static uint64_t count_of_registered;
static uint64_t count_of_librarys_registered;

// ------------------------------------------------------------------------------------- where it is

// The first piece that ends after the address.
static size_t find_after(uint64_t address) {
    size_t low = 0;
    size_t high = piece_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pieces[middle]->address + pieces[middle]->size > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct sim_pinned *sim_pinned_at(uint64_t address) {
    size_t index = find_after(address);
    return index < piece_count && pieces[index]->address <= address ? pieces[index] : NULL;
}

static void *bytes_of(const struct sim_pinned *piece) {
    return (char *)piece->block + (piece->address - (uintptr_t)piece->block);
}

static void enter(struct sim_pinned *piece, const struct sim_context *context, unsigned flags) {
    size_t index = find_after(piece->address);
    SIM_RESERVE_ONE(pieces, piece_count, piece_capacity);
    memmove(&pieces[index + 1], &pieces[index], (piece_count - index) * sizeof(*pieces));
    pieces[index] = piece;
    piece_count++;
    piece->context = context;
    piece->flags = flags;
    piece->identity = sim_next_identity();
    piece->is_of_library = sim_is_for_library();
    count_of_library += piece->is_of_library && !piece->is_registered;
    count_of_registered += piece->is_registered;
    count_of_librarys_registered += piece->is_of_library && piece->is_registered;
}

static struct sim_pinned *take_away(struct sp_list *link) {
    sp_list_remove(link);
    freed_count--;
    return SP_CONTAINER_OF(link, struct sim_pinned, link);
}

static void destroy(struct sim_pinned *piece) {
    sim_free(piece->block);
    sim_free(piece);
}

static void put_away(struct sim_pinned *piece) {
    sim_history_destroy(&piece->history);
    if (piece->is_registered) {
        destroy(piece);
        return;
    }
    madvise(bytes_of(piece), sp_round_down(piece->size, HOST_PAGE), MADV_DONTNEED);
    sp_list_push_front(&freed, &piece->link);
    if (++freed_count > MOST_FREED)
        destroy(take_away(freed.prev));
}

static void leave(struct sim_pinned *piece) {
    size_t index = find_after(piece->address);
    piece_count--;
    memmove(&pieces[index], &pieces[index + 1], (piece_count - index) * sizeof(*pieces));
    count_of_library -= piece->is_of_library && !piece->is_registered;
    count_of_registered -= piece->is_registered;
    count_of_librarys_registered -= piece->is_of_library && piece->is_registered;
    sim_host_memory_give(piece->size);
    put_away(piece);
}

// ------------------------------------------------------------------------------------- allocations

static struct sim_pinned *take_freed(size_t size) {
    SP_LIST_FOR_EACH(link, &freed) {
        struct sim_pinned *piece = SP_CONTAINER_OF(link, struct sim_pinned, link);
        if (piece->size == size)
            return take_away(link);
    }
    return NULL;
}

// It begins at a page, as the system pins whole ones. Null where the host has no memory for it.
static struct sim_pinned *make(size_t size) {
    void *block = sim_try_allocate(size + HOST_PAGE - 1);
    if (!block)
        return NULL;
    struct sim_pinned *piece = sim_allocate(sizeof *piece);
    piece->block = block;
    piece->address = sp_round_up((uintptr_t)block, HOST_PAGE);
    piece->size = size;
    sp_list_init(&piece->link);
    return piece;
}

CUresult sim_pinned_create(const struct sim_context *context, size_t size, unsigned flags,
                           void **memory) {
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (!sim_host_memory_take(size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_pinned *piece = take_freed(size);
    if (!piece)
        piece = make(size);
    if (!piece) {
        sim_host_memory_give(size);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    enter(piece, context, flags);
    sim_now += sim_cost_pinned(SIM_ENTRY_cuMemHostAlloc, size);
    *memory = bytes_of(piece);
    return CUDA_SUCCESS;
}

void sim_pinned_report_in_use(const struct sim_pinned *piece) {
    const struct sim_item *item = sim_item_naming(piece->address, piece->size);
    const struct sim_who caller = sim_who_calls();
    char first[SIM_WHO_LENGTH], second[SIM_WHO_LENGTH];
    struct sim_touch touch;
    if (item)
        touch = sim_item_touch(item, sim_item_access_to(item, piece->address, piece->size));
    else if (!sim_history_conflicts(&piece->history, 0, piece->size, true, sim_host_clock,
                                    &touch) ||
             touch.is_told)
        return;
    const char *call = piece->is_registered ? "cuMemHostUnregister" : "cuMemFreeHost";
    const struct sim_side sides[] = {{caller, call, "frees", piece->address, piece->size},
                                     sim_touch_side(&touch)};
    sim_report_sides(simcudaReport_hostMemoryInUse, sides, 2,
                     "%s (%s) of [0x%" PRIx64 ", 0x%" PRIx64 "), which \"%s\" %s %s, and %s", call,
                     sim_who_thread(&caller, first), piece->address, piece->address + piece->size,
                     touch.name, sim_who_text(&touch.who, second), sim_touch_verb(&touch),
                     item ? "that is pending" : "the host does not know that to be complete");
}

// Returns the piece that begins at an address and was made in that way; null when there is none.
static struct sim_pinned *find(const void *memory, bool is_registered) {
    struct sim_pinned *piece = sim_pinned_at((uintptr_t)memory);
    bool is_it = piece && piece->address == (uintptr_t)memory;
    return is_it && piece->is_registered == is_registered ? piece : NULL;
}

CUresult sim_pinned_free(void *memory) {
    struct sim_pinned *piece = find(memory, false);
    if (!piece) {
        sim_report(
            simcudaReport_badFree,
            "cuMemFreeHost(%p) names memory that cuMemHostAlloc did not give, or that was freed",
            memory);
        return CUDA_ERROR_INVALID_VALUE;
    }
    sim_now += sim_cost_pinned(SIM_ENTRY_cuMemFreeHost, piece->size);
    leave(piece);
    return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------ registration

// Asks the system, which fails to look at pages that are not there.
static bool is_mapped(uint64_t address, size_t size) {
    uint64_t page = sp_round_down(address, HOST_PAGE);
    return msync((void *)(uintptr_t)page, address - page + size, MS_ASYNC) == 0;
}

// Tells whether the process may write to all of it, where it is mapped.
static bool is_writable(uint64_t address, size_t size) {
    bool is_so = true;
    uint64_t begin, end;
    char line[256], access[5];
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &begin, &end, access) == 3 &&
            begin < address + size && end > address)
            is_so = is_so && access[1] == 'w';
    }
    if (maps)
        fclose(maps);
    return is_so;
}

CUresult sim_pinned_register(const struct sim_context *context, void *memory, size_t size,
                             unsigned flags) {
    uint64_t address = (uintptr_t)memory;
    if (!memory || size == 0 || size > UINT64_MAX - address || !is_mapped(address, size) ||
        (!(flags & CU_MEMHOSTREGISTER_READ_ONLY) && !is_writable(address, size)))
        return CUDA_ERROR_INVALID_VALUE;
    size_t next = find_after(address);
    if (next < piece_count && pieces[next]->address < address + size)
        return pieces[next]->is_registered ? CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED
                                           : CUDA_ERROR_INVALID_VALUE; // seen on an H200
    if (!sim_host_memory_take(size))
        return CUDA_ERROR_OUT_OF_MEMORY;
    struct sim_pinned *piece = sim_allocate(sizeof *piece);
    *piece = (struct sim_pinned){.address = address, .size = size, .is_registered = true};
    sp_list_init(&piece->link);
    enter(piece, context, flags);
    sim_now += sim_cost_pinned(SIM_ENTRY_cuMemHostRegister_v2, size);
    return CUDA_SUCCESS;
}

// As seen on an H200: pinned memory, and an address behind a registration's first, are another
// mistake than memory that was never registered.
CUresult sim_pinned_unregister(void *memory) {
    struct sim_pinned *piece = find(memory, true);
    if (!memory || (!piece && sim_pinned_at((uintptr_t)memory)))
        return CUDA_ERROR_INVALID_VALUE;
    if (!piece)
        return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    sim_now += sim_cost_pinned(SIM_ENTRY_cuMemHostUnregister, piece->size);
    leave(piece);
    return CUDA_SUCCESS;
}

// --------------------------------------------------------------------------------------- all of it

void sim_pinned_free_all(const struct sim_context *context) {
    for (size_t i = piece_count; i-- > 0;) {
        if (pieces[i]->context == context)
            leave(pieces[i]);
    }
}

uint64_t sim_pinned_count(void) {
    return piece_count - count_of_registered;
}

uint64_t sim_pinned_count_of_library(void) {
    return count_of_library;
}

uint64_t sim_pinned_count_of_registered(void) {
    return count_of_registered;
}

uint64_t sim_pinned_count_of_librarys_registered(void) {
    return count_of_librarys_registered;
}

void sim_pinned_reset(void) {
    while (piece_count > 0)
        leave(pieces[piece_count - 1]);
    SP_LIST_FOR_EACH_SAFE(link, &freed) {
        destroy(take_away(link));
    }
    sim_free(pieces);
    pieces = NULL;
    piece_capacity = 0;
}
