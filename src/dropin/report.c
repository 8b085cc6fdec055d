#include "dropin/report.h"
#include "dropin/driver_file.h"
#include "dropin/line.h"
#include "dropin/real.h"
#include "dropin/route.h"
#include "dropin/tally.h"

#include "api/interpose.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Lines that tell only of a process are short. Of pools the first are told one by one.
enum { SHORT_LINE = 1024, LONG_LINE = 32 * 1024, DEVICES = 64, POOLS = 64, PROGRAM_NAME = 128 };

static pid_t process; // that these variables are of: a process made by clone() alone isn't it
static pid_t loader;  // the process that loaded this library
static _Atomic pid_t starter;
static _Atomic int start_answer;

// The driver's default pool of a device whose context is there.
static struct cuda {
    bool known;
    uint64_t used_high, reserved_high;
} cuda[DEVICES];

// ---------------------------------------------------------------------------------- the beginning

static void program_name(char text[PROGRAM_NAME]) {
    char path[512];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t copied = strnlen(name, PROGRAM_NAME - 1);
    memcpy(text, name, copied);
    text[copied] = '\0';
}

static void begin(struct sp_line *line, const char *event) {
    sp_line_open(line, NULL, '{');
    sp_line_text(line, "event", event);
    sp_line_number(line, "pid", (uint64_t)getpid());
}

static void end(struct sp_line *line) {
    sp_line_close(line, '{');
    size_t length = sp_line_end(line);
    if (length > 0)
        sp_wanted_write(line->text, length);
}

static void write_load(void) {
    char text[SHORT_LINE], name[PROGRAM_NAME];
    struct sp_line line = {text, sizeof text, 0};
    program_name(name);
    begin(&line, "load");
    sp_line_number(&line, "parent", (uint64_t)getppid());
    sp_line_text(&line, "program", name);
    end(&line);
}

static void write_start(void) {
    char text[SHORT_LINE];
    struct sp_line line = {text, sizeof text, 0};
    begin(&line, "start");
    end(&line);
}

// The child has one thread.
static void begin_child(void) {
    process = getpid();
    sp_tally_reset();
    sp_route_begin_child();
    memset(cuda, 0, sizeof cuda);
}

__attribute__((constructor)) static void begin_process(void) {
    if (!sp_wanted_is())
        return;
    process = loader = getpid();
    pthread_atfork(NULL, NULL, begin_child);
    sp_interpose_keep_destroyed();
    if (sp_interpose_enter(sp_driver_file_is_behind_us()))
        write_load();
}

// ------------------------------------------------------------------------------ the driver's pools

static bool is_active(CUdevice device) {
    unsigned int flags;
    int active = 0;
    CUdevice current;
    if (sp_real_call(cuCtxGetDevice, (&current)) == CUDA_SUCCESS && current == device)
        return true;
    return sp_real_call(cuDevicePrimaryCtxGetState, (device, &flags, &active)) == CUDA_SUCCESS &&
           active;
}

static void read_device(CUdevice device) {
    struct cuda *figures = &cuda[device];
    CUmemoryPool pool;
    figures->known = is_active(device) &&
                     sp_real_call(cuDeviceGetDefaultMemPool, (&pool, device)) == CUDA_SUCCESS &&
                     sp_real_call(cuMemPoolGetAttribute, (pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH,
                                                          &figures->used_high)) == CUDA_SUCCESS &&
                     sp_real_call(cuMemPoolGetAttribute, (pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                                                          &figures->reserved_high)) == CUDA_SUCCESS;
}

// A driver that has ended already refuses.
static void read_driver(void) {
    int count = 0;
    if (getpid() != sp_load_relaxed(&starter) ||
        sp_real_call(cuDeviceGetCount, (&count)) != CUDA_SUCCESS)
        return;
    for (CUdevice device = 0; device < count && device < DEVICES; device++)
        read_device(device);
}

void sp_report_start(CUresult answer) {
    pid_t nobody = 0;
    if (!sp_wanted_is() || !atomic_compare_exchange_strong(&starter, &nobody, getpid()))
        return;
    sp_store_relaxed(&start_answer, (int)answer);
    atexit(read_driver);
    write_start();
}

// --------------------------------------------------------------------------------------- the parts

static void tell_counts(struct sp_line *line) {
    sp_line_open(line, "counts", '{');
#define TELL(name, group, what) sp_line_number(line, #name, sp_tally_sum(SP_TALLY_##name));
    SP_REPORT_COUNTS(TELL)
#undef TELL
    sp_line_close(line, '{');
}

static void tell_figures(struct sp_line *line, struct sp_route_figures figures) {
    sp_line_number(line, "lookups", figures.lookups);
    sp_line_number(line, "ours", figures.ours);
}

static void tell_routes(struct sp_line *line) {
    struct sp_route_asker asker;
    sp_line_open(line, "routes", '{');
#define TELL(name, what)                                                                           \
    sp_line_open(line, #name, '{');                                                                \
    tell_figures(line, sp_route_figures(SP_ROUTE_##name));                                         \
    sp_line_close(line, '{');
    SP_REPORT_ROUTES(TELL)
#undef TELL
    sp_line_close(line, '{');
    sp_line_open(line, "askers", '[');
    for (size_t i = 0; sp_route_asker(i, &asker); i++) {
        sp_line_open(line, NULL, '{');
        sp_line_text(line, "name", asker.name);
        tell_figures(line, asker.figures);
        sp_line_close(line, '{');
    }
    sp_line_close(line, '[');
}

// In a child the dynamic linker's lock may be one that a thread of its parent has held.
static void tell_loaded(struct sp_line *line) {
    static struct sp_route_loaded loaded;
    if (process == loader)
        sp_route_read_loaded(&loaded);
    sp_line_text(line, "driver", loaded.driver);
    sp_line_open(line, "linked", '[');
    for (size_t i = 0; i < loaded.count; i++) {
        sp_line_open(line, NULL, '{');
        sp_line_text(line, "name", loaded.linked[i].name);
        sp_line_number(line, "names", loaded.linked[i].names);
        sp_line_close(line, '{');
    }
    sp_line_close(line, '[');
}

static void tell_cuda(struct sp_line *line) {
    sp_line_open(line, "cuda", '[');
    for (int i = 0; i < DEVICES; i++) {
        if (!cuda[i].known)
            continue;
        sp_line_open(line, NULL, '{');
        sp_line_number(line, "device", (uint64_t)i);
        sp_line_number(line, "used_high", cuda[i].used_high);
        sp_line_number(line, "reserved_high", cuda[i].reserved_high);
        sp_line_close(line, '{');
    }
    sp_line_close(line, '[');
}

// Our pools. Those for which the list has no room are in the sums.
static struct pools {
    size_t count;
    struct sp_tell_pool list[POOLS];
    uint64_t sums[SP_TELL_STATISTICS];
} pools;

static void note_pool(const struct sp_tell_pool *pool, void *unused) {
    (void)unused;
    if (pools.count < POOLS)
        pools.list[pools.count++] = *pool;
    for (size_t i = 0; i < SP_TELL_STATISTICS; i++)
        pools.sums[i] += pool->figures[i];
}

static void tell_pool(struct sp_line *line, const struct sp_tell_pool *pool) {
    static const char *const kinds[] = {[SP_TELL_DEFAULT] = "default",
                                        [SP_TELL_OTHER] = "other",
                                        [SP_TELL_DESTROYED] = "destroyed"};
    sp_line_open(line, NULL, '{');
    if (pool->device >= 0)
        sp_line_number(line, "device", (uint64_t)pool->device);
    if (pool->kind != SP_TELL_DESTROYED)
        sp_line_text(line, "place", pool->place.text);
    sp_line_text(line, "kind", kinds[pool->kind]);
    sp_line_text(line, "name", pool->name.text);
    sp_line_number(line, "count", pool->count);
    sp_line_number(line, "used_high", pool->used_high);
    sp_line_number(line, "reserved_high", pool->reserved_high);
    sp_line_close(line, '{');
}

static void tell_statistics(struct sp_line *line) {
    static const char *const names[] = {
#define NAME(name, number, text) #name,
        STREAMPOOL_POOL_STATISTICS(NAME)
#undef NAME
    };
    sp_line_open(line, "statistics", '{');
    for (size_t i = 0; i < SP_TELL_STATISTICS; i++)
        sp_line_number(line, names[i], pools.sums[i]);
    sp_line_close(line, '{');
}

// The library's locks in a child are those of its parent's threads.
static void tell_pools(struct sp_line *line) {
    bool started_here = sp_load_relaxed(&starter) == process;
    if (started_here && !sp_interpose_visit_pools(note_pool, NULL)) {
        sp_line_word(line, "pools", "null");
        sp_line_word(line, "statistics", "null");
        return;
    }
    sp_line_open(line, "pools", '[');
    for (size_t i = 0; i < pools.count; i++)
        tell_pool(line, &pools.list[i]);
    sp_line_close(line, '[');
    tell_statistics(line);
}

static const char *started(void) {
    if (sp_load_relaxed(&starter) != process)
        return "no";
    return sp_load_relaxed(&start_answer) == CUDA_SUCCESS ? "served" : "refused";
}

// --------------------------------------------------------------------------------------- the end

// Two drop-ins may be in the process. The one behind serves, and tells.
static bool tells(void) {
    return sp_driver_file_is_behind_us() || !sp_interpose_has_one_behind();
}

__attribute__((destructor)) static void end_process(void) {
    static char text[LONG_LINE];
    struct sp_line line = {text, sizeof text, 0};
    if (!sp_wanted_is() || getpid() != process || !tells())
        return;
    begin(&line, "end");
    sp_line_word(&line, "forked", process == loader ? "false" : "true");
    sp_line_text(&line, "started", started());
    sp_line_number(&line, "error", (uint64_t)sp_load_relaxed(&start_answer));
    tell_counts(&line);
    tell_loaded(&line);
    tell_routes(&line);
    tell_cuda(&line);
    tell_pools(&line);
    end(&line);
}
