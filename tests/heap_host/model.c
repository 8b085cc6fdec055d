#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "heap_host/model.h"

#include "devheap/fail.h"
#include "devheap/kernels.cuh"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOCKS = 512, UNIT = 1 << 21, ALIGNMENT = 512 };

// A place in a stream that is done or not yet. Records, and frees, have one each.
struct operation {
    enum { KERNEL, WORK, RECORD, WAIT, GIVE } kind;
    struct operation *next;
    enum sp_heap_kernel kernel;
    uint32_t blocks;
    void *given; // a copy of what a kernel gets
    void (*work)(void *);
    size_t point; // of a record or a wait
    size_t block; // that is given
};

struct stream {
    struct operation *first, **last;
    bool held, captures;
};

// An event stands for a point: that of its last record. 0: none, which is complete.
struct event {
    size_t point;
};

// live: pending is 0. Free: size is 0.
struct block {
    uint64_t offset;
    size_t size;
    unsigned pending;     // streams that have not come to its free
    struct stream *owner; // that may use it again before: the only one behind which it was freed
};

struct model {
    struct sp_heap_machine machine; // of the heap, there is one at a time
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct stream stream[MODEL_STREAMS + 1]; // the last one is the heap's own
    char *map, *arena;
    size_t arena_bytes, map_bytes, limit, gap;
    struct block block[BLOCKS];
    bool *done; // for each point
    size_t points, point_room;
    int events, pins;
    unsigned calls, fail_at;
    bool failed, broken;
};

static struct model *model_of(struct sp_heap_machine *machine) {
    return (struct model *)machine;
}

// A warp of one thread.
uint32_t ph_lane(void) {
    return 0;
}
uint32_t ph_processor(void) {
    return 0;
}
uint32_t ph_dice(void) {
    static uint32_t dice;
    return __atomic_add_fetch(&dice, 0x9e3779b1u, __ATOMIC_RELAXED);
}
uint32_t ph_together(void) {
    return 1;
}
uint32_t ph_match(uint32_t threads, uint32_t value) {
    (void)value;
    return threads;
}
uint32_t ph_tell(uint32_t threads, uint32_t value, uint32_t from) {
    (void)threads;
    (void)from;
    return value;
}
uint32_t ph_join(uint32_t threads, uint32_t bits) {
    (void)threads;
    return bits;
}
void ph_nap(void) {
}

static void run_admit(const struct sp_heap_admit *admit, uint32_t blocks) {
    assert_int_equal(blocks, admit->chunks);
    for (uint32_t i = 0; i < blocks; i++)
        sp_heap_admit_chunk(admit->book, &admit->chunk[i], 0, 1);
}

static void run_kernel(const struct operation *operation) {
    uint64_t sum[SP_HEAP_SUMS] = {0};
    const void *given = operation->given;
    switch (operation->kernel) {
    case SP_HEAP_KERNEL_admit:
        run_admit(given, operation->blocks);
        break;
    case SP_HEAP_KERNEL_close:
        sp_heap_close_chunks(given);
        break;
    case SP_HEAP_KERNEL_survey:
        sp_heap_count_slabs(((const struct sp_heap_survey *)given)->book, 0, 1, sum);
        sp_heap_tell_survey(given, sum);
        break;
    case SP_HEAP_KERNEL_count:
        sp_heap_count_slabs(((const struct sp_heap_count *)given)->book, 0, 1, sum);
        sp_heap_tell_count(given, sum);
        break;
    case SP_HEAP_KERNEL_free:
        sp_heap_free_block(given);
        break;
    default:
        sp_heap_copy_words(given, 0, 1);
    }
}

static size_t size_of(enum sp_heap_kernel kernel) {
    static const size_t sizes[] = {
#define SIZE(name, threads) sizeof(struct sp_heap_##name),
        SP_HEAP_KERNELS(SIZE)
#undef SIZE
    };
    return sizes[kernel];
}

// Everything below is called with the lock.

static bool run_first(struct model *model, struct stream *stream) {
    struct operation *operation = stream->first;
    if (operation == NULL || stream->held)
        return false;
    if (operation->kind == WAIT && !model->done[operation->point])
        return false;
    if (operation->kind == KERNEL)
        run_kernel(operation);
    else if (operation->kind == WORK)
        operation->work(operation->given);
    else if (operation->kind == RECORD)
        model->done[operation->point] = true;
    else if (operation->kind == GIVE && --model->block[operation->block].pending == 0)
        model->block[operation->block].size = 0;
    stream->first = operation->next;
    if (stream->first == NULL)
        stream->last = &stream->first;
    if (operation->kind == KERNEL)
        free(operation->given);
    free(operation);
    return true;
}

static void run(struct model *model) {
    bool progress;
    do {
        progress = false;
        for (size_t i = 0; i <= MODEL_STREAMS; i++)
            while (run_first(model, &model->stream[i]))
                progress = true;
    } while (progress);
    pthread_cond_broadcast(&model->changed);
}

// Makes it an operation that does nothing.
static void drop(struct operation *operation) {
    if (operation->kind == KERNEL)
        free(operation->given);
    operation->kind = WAIT;
    operation->point = 0;
}

static void enqueue(struct stream *stream, struct operation operation) {
    struct operation *added = malloc(sizeof *added);
    assert_non_null(added);
    *added = operation;
    added->next = NULL;
    *stream->last = added;
    stream->last = &added->next;
}

static size_t add_point(struct model *model) {
    if (model->points == model->point_room) {
        model->point_room = model->point_room * 2 + 64;
        model->done = realloc(model->done, model->point_room * sizeof *model->done);
        assert_non_null(model->done);
    }
    model->done[model->points] = model->points == 0;
    return model->points++;
}

// Enters a call of the seam, with the lock, unless it is to fail.
static poolError_t enter(struct model *model, const char *name) {
    pthread_mutex_lock(&model->lock);
    model->calls++;
    bool fails = model->calls == model->fail_at;
    if (fails)
        model->failed = true;
    if (!fails && !model->broken)
        return poolSuccess;
    pthread_mutex_unlock(&model->lock);
    return sp_heap_fail(model->broken ? poolErrorLaunchFailure : poolErrorUnknown, "%s failed",
                        name);
}

static poolError_t leave(struct model *model) {
    run(model);
    pthread_mutex_unlock(&model->lock);
    return poolSuccess;
}

static size_t sum_blocks(const struct model *model, bool pending) {
    size_t sum = 0;
    for (size_t i = 0; i < BLOCKS; i++)
        if ((model->block[i].pending != 0) == pending)
            sum += model->block[i].size;
    return sum;
}

// True where the stream may use these bytes; else *next is where to look again.
static bool is_free(const struct model *model, uint64_t offset, size_t size,
                    const struct stream *stream, uint64_t *next) {
    for (size_t i = 0; i < BLOCKS; i++) {
        const struct block *block = &model->block[i];
        bool meets = offset < block->offset + block->size + model->gap &&
                     block->offset < offset + size + model->gap;
        bool own = block->pending != 0 && block->owner == stream;
        *next = block->offset + block->size + model->gap;
        if (block->size != 0 && meets && !own)
            return false;
    }
    return true;
}

static bool find_place(const struct model *model, size_t size, const struct stream *stream,
                       uint64_t *offset) {
    uint64_t next;
    for (*offset = 0; *offset + size <= model->arena_bytes; *offset = next)
        if (is_free(model, *offset, size, stream, &next))
            return true;
    return false;
}

static poolError_t take(struct sp_heap_machine *machine, uint64_t *address, size_t bytes,
                        CUstream stream) {
    struct model *model = model_of(machine);
    uint64_t offset = 0;
    size_t i = 0, size = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    poolError_t error = enter(model, "take");
    if (error != poolSuccess)
        return error;
    bool fits = sum_blocks(model, false) + size <= model->limit &&
                find_place(model, size, (struct stream *)stream, &offset);
    while (fits && model->block[i].size != 0)
        assert_true(++i < BLOCKS);
    if (fits) {
        model->block[i] = (struct block){.offset = offset, .size = size};
        *address = (uint64_t)(uintptr_t)(model->arena + offset);
    }
    leave(model);
    return fits ? poolSuccess : sp_heap_fail(poolErrorMemoryAllocation, "the arena is full");
}

static struct block *find_block(struct model *model, uint64_t address) {
    uint64_t offset = address - (uint64_t)(uintptr_t)model->arena;
    for (size_t i = 0; i < BLOCKS; i++)
        if (model->block[i].size != 0 && model->block[i].pending == 0 &&
            model->block[i].offset == offset)
            return &model->block[i];
    fail_msg("%p is no live block", (void *)(uintptr_t)address);
    return NULL;
}

static poolError_t give_behind(struct sp_heap_machine *machine, uint64_t address,
                               const CUstream streams[], size_t count) {
    struct model *model = model_of(machine);
    poolError_t error = enter(model, "give_behind");
    if (error != poolSuccess)
        return error;
    struct block *block = find_block(model, address);
    block->pending = (unsigned)count;
    block->owner = count == 1 ? (struct stream *)streams[0] : NULL;
    for (size_t i = 0; i < count; i++)
        enqueue((struct stream *)streams[i],
                (struct operation){.kind = GIVE, .block = (size_t)(block - model->block)});
    return leave(model);
}

static poolError_t give(struct sp_heap_machine *machine, uint64_t address, CUstream stream) {
    return give_behind(machine, address, &stream, 1);
}

// It works where the context is gone.
static poolError_t give_now(struct sp_heap_machine *machine, uint64_t address) {
    struct model *model = model_of(machine);
    pthread_mutex_lock(&model->lock);
    find_block(model, address)->size = 0;
    return leave(model);
}

static poolError_t pin(struct sp_heap_machine *machine, void **memory, size_t bytes) {
    struct model *model = model_of(machine);
    poolError_t error = enter(model, "pin");
    if (error != poolSuccess)
        return error;
    *memory = malloc(bytes);
    assert_non_null(*memory);
    memset(*memory, 0xa5, bytes);
    model->pins++;
    return leave(model);
}

static void unpin(struct sp_heap_machine *machine, void *memory) {
    struct model *model = model_of(machine);
    pthread_mutex_lock(&model->lock);
    free(memory);
    model->pins--;
    leave(model);
}

static poolError_t launch(struct sp_heap_machine *machine, enum sp_heap_kernel kernel,
                          uint32_t blocks, CUstream stream, const void *given) {
    struct model *model = model_of(machine);
    poolError_t error = enter(model, "launch");
    if (error != poolSuccess)
        return error;
    void *copy = malloc(size_of(kernel));
    assert_non_null(copy);
    memcpy(copy, given, size_of(kernel));
    enqueue((struct stream *)stream,
            (struct operation){.kind = KERNEL, .kernel = kernel, .blocks = blocks, .given = copy});
    return leave(model);
}

static poolError_t create(struct sp_heap_machine *machine, CUevent *event) {
    struct model *model = model_of(machine);
    poolError_t error = enter(model, "create");
    if (error != poolSuccess)
        return error;
    *event = (CUevent)calloc(1, sizeof(struct event));
    model->events++;
    return leave(model);
}

static void destroy(struct sp_heap_machine *machine, CUevent event) {
    struct model *model = model_of(machine);
    pthread_mutex_lock(&model->lock);
    free(event);
    model->events--;
    leave(model);
}

static poolError_t record(struct sp_heap_machine *machine, CUevent event, CUstream stream) {
    struct model *model = model_of(machine);
    poolError_t error = enter(model, "record");
    if (error != poolSuccess)
        return error;
    size_t point = ((struct event *)event)->point = add_point(model);
    enqueue((struct stream *)stream, (struct operation){.kind = RECORD, .point = point});
    return leave(model);
}

static poolError_t wait(struct sp_heap_machine *machine, CUstream stream, CUevent event) {
    struct model *model = model_of(machine);
    poolError_t error = enter(model, "wait");
    if (error != poolSuccess)
        return error;
    enqueue((struct stream *)stream,
            (struct operation){.kind = WAIT, .point = ((struct event *)event)->point});
    return leave(model);
}

static poolError_t query(struct sp_heap_machine *machine, CUevent event) {
    struct model *model = model_of(machine);
    poolError_t error = enter(model, "query");
    if (error != poolSuccess)
        return error;
    bool done = model->done[((struct event *)event)->point];
    leave(model);
    return done ? poolSuccess : poolErrorNotReady;
}

static poolError_t synchronize(struct sp_heap_machine *machine, CUevent event) {
    struct model *model = model_of(machine);
    poolError_t error = enter(model, "synchronize");
    if (error != poolSuccess)
        return error;
    while (!model->done[((struct event *)event)->point] && !model->broken)
        pthread_cond_wait(&model->changed, &model->lock);
    bool broken = model->broken;
    leave(model);
    return broken ? sp_heap_fail(poolErrorLaunchFailure, "a kernel trapped") : poolSuccess;
}

static poolError_t identify(struct sp_heap_machine *machine, CUstream stream, uint64_t *number) {
    struct model *model = model_of(machine);
    poolError_t error = enter(model, "identify");
    if (error != poolSuccess)
        return error;
    bool captures = ((struct stream *)stream)->captures;
    *number = (uint64_t)(uintptr_t)stream;
    leave(model);
    return captures ? sp_heap_fail(poolErrorStreamCaptureUnsupported, "the stream captures")
                    : poolSuccess;
}

static poolError_t end(struct sp_heap_machine *machine) {
    (void)machine;
    return poolSuccess;
}

static const struct sp_heap_machine functions = {
    .take = take,
    .give = give,
    .give_behind = give_behind,
    .give_now = give_now,
    .pin = pin,
    .unpin = unpin,
    .launch = launch,
    .create = create,
    .destroy = destroy,
    .record = record,
    .wait = wait,
    .query = query,
    .synchronize = synchronize,
    .identify = identify,
    .end = end,
};

poolError_t sp_heap_machine_make(struct sp_heap_machine **machine, poolMemPool_t pool) {
    *machine = &((struct model *)pool)->machine; // which all heaps of the model share
    return poolSuccess;
}

struct model *model_make(uint32_t units) {
    struct model *model = calloc(1, sizeof *model);
    assert_non_null(model);
    model->arena_bytes = (size_t)units * UNIT;
    model->map_bytes = model->arena_bytes + 2 * (size_t)UNIT;
    model->map = mmap(NULL, model->map_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(model->map != MAP_FAILED);
    uintptr_t aligned = ((uintptr_t)model->map + UNIT - 1) / UNIT * UNIT;
    model->arena = model->map + (aligned - (uintptr_t)model->map) + ALIGNMENT;
    model->limit = SIZE_MAX;
    model->machine = functions;
    model->machine.own = (CUstream)&model->stream[MODEL_STREAMS];
    pthread_mutex_init(&model->lock, NULL);
    pthread_cond_init(&model->changed, NULL);
    for (size_t i = 0; i <= MODEL_STREAMS; i++)
        model->stream[i].last = &model->stream[i].first;
    add_point(model);
    return model;
}

void model_end(struct model *model) {
    for (size_t i = 0; i <= MODEL_STREAMS; i++)
        model->stream[i].held = false;
    run(model);
    assert_int_equal(sum_blocks(model, false), 0);
    assert_int_equal(sum_blocks(model, true), 0);
    assert_int_equal(model->events, 0);
    assert_int_equal(model->pins, 0);
    munmap(model->map, model->map_bytes);
    free(model->done);
    pthread_cond_destroy(&model->changed);
    pthread_mutex_destroy(&model->lock);
    free(model);
}

poolMemPool_t model_pool(struct model *model) {
    return (poolMemPool_t)model;
}

CUstream model_stream(struct model *model, unsigned index) {
    return (CUstream)&model->stream[index];
}

void model_hold(struct model *model, CUstream stream) {
    pthread_mutex_lock(&model->lock);
    ((struct stream *)stream)->held = true;
    leave(model);
}

void model_let_go(struct model *model, CUstream stream) {
    pthread_mutex_lock(&model->lock);
    ((struct stream *)stream)->held = false;
    leave(model);
}

void model_capture(struct model *model, CUstream stream, bool captures) {
    pthread_mutex_lock(&model->lock);
    ((struct stream *)stream)->captures = captures;
    leave(model);
}

void model_work(struct model *model, CUstream stream, void (*work)(void *), void *given) {
    pthread_mutex_lock(&model->lock);
    enqueue((struct stream *)stream,
            (struct operation){.kind = WORK, .work = work, .given = given});
    leave(model);
}

void model_limit(struct model *model, size_t bytes) {
    model->limit = bytes;
}

void model_scatter(struct model *model) {
    model->gap = UNIT;
}

unsigned model_fail(struct model *model, unsigned nth) {
    pthread_mutex_lock(&model->lock);
    unsigned calls = model->calls;
    model->calls = 0;
    model->fail_at = nth;
    model->failed = false;
    leave(model);
    return calls;
}

bool model_has_failed(struct model *model) {
    pthread_mutex_lock(&model->lock);
    bool failed = model->failed;
    leave(model);
    return failed;
}

// What is enqueued never runs then, and memory is free.
void model_break(struct model *model) {
    pthread_mutex_lock(&model->lock);
    model->broken = true;
    for (size_t i = 0; i <= MODEL_STREAMS; i++)
        for (struct operation *each = model->stream[i].first; each != NULL; each = each->next)
            if (each->kind != GIVE)
                drop(each);
    leave(model);
}

size_t model_live(struct model *model) {
    pthread_mutex_lock(&model->lock);
    size_t live = sum_blocks(model, false);
    leave(model);
    return live;
}

size_t model_pending(struct model *model) {
    pthread_mutex_lock(&model->lock);
    size_t pending = sum_blocks(model, true);
    leave(model);
    return pending;
}

void model_await_live(struct model *model, size_t bytes) {
    pthread_mutex_lock(&model->lock);
    while (sum_blocks(model, false) > bytes)
        pthread_cond_wait(&model->changed, &model->lock);
    assert_int_equal(sum_blocks(model, false), bytes);
    pthread_mutex_unlock(&model->lock);
}
