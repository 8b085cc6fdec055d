// Races of the host with work, in every kind of host memory that a device reaches: programs of two
// threads that are drawn, against a model that says which touches of the host are races.
#include <stdio.h>
#include <string.h>

#include "unit/random.h"
#include "unit/simcuda/fixture.h"

enum { THREADS = 2, CHUNKS = 4, CHUNK = 4096, STEPS = 40, SEEDS = 60 };

// What each stream did: its touches in order, and how many of them the host knows to be complete.
static struct {
    struct {
        size_t chunk;
        bool writes;
    } touches[STEPS];
    size_t count;
    size_t known;
    size_t recorded; // in the event
    CUstream stream;
    CUevent event;
} streams[THREADS];

static CUcontext context;
static CUdeviceptr work_address; // by which work names the memory
static unsigned char *host_address;
static uint64_t seed;
static unsigned races, harmless;

// ------------------------------------------------------------------------------- kinds of memory

static unsigned char *bytes_at(CUdeviceptr address) {
    unsigned char *bytes;
    memcpy(&bytes, &address, sizeof bytes);
    return bytes;
}

static void let_both(CUdeviceptr address) {
    const CUmemAccessDesc both[] = {
        {{CU_MEM_LOCATION_TYPE_HOST, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
        {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
    OK(cuMemSetAccess(address, GRANULE, both, 2));
}

// Mapped twice: the host touches it by another address than work.
static void take_mapped(void) {
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_HOST, 0}};
    CUmemGenericAllocationHandle handle;
    OK(cuMemCreate(&handle, GRANULE, &prop, 0));
    CUdeviceptr addresses = reserve(2 * GRANULE);
    for (size_t i = 0; i < 2; i++) {
        OK(cuMemMap(addresses + i * GRANULE, GRANULE, 0, handle, 0));
        let_both(addresses + i * GRANULE);
    }
    work_address = addresses;
    host_address = bytes_at(addresses + GRANULE);
}

static void take_managed(void) {
    OK(cuMemAllocManaged(&work_address, CHUNKS * CHUNK, CU_MEM_ATTACH_GLOBAL));
    host_address = bytes_at(work_address);
}

static void take_pinned(void) {
    void *memory;
    OK(cuMemHostAlloc(&memory, CHUNKS * CHUNK, 0));
    host_address = memory;
    work_address = (uintptr_t)memory;
}

static void take_registered(void) {
    static unsigned char memory[CHUNKS * CHUNK];
    OK(cuMemHostRegister_v2(memory, sizeof memory, 0));
    host_address = memory;
    work_address = (uintptr_t)memory;
}

// ---------------------------------------------------------------------------------- what is drawn

static bool draw(void) {
    return random_below(&seed, 2) != 0;
}

// A stream has chunks of its own, so no two pieces of work race.
static void launch(size_t self) {
    size_t chunk = self + THREADS * (size_t)random_below(&seed, CHUNKS / THREADS);
    bool writes = draw();
    touch(streams[self].stream, "work", work_address + chunk * CHUNK + 64, 128,
          writes ? simcudaAccessWrite : simcudaAccessRead);
    streams[self].touches[streams[self].count].chunk = chunk;
    streams[self].touches[streams[self].count++].writes = writes;
}

static void learn(size_t stream, size_t count) {
    if (streams[stream].known < count)
        streams[stream].known = count;
}

// A thread asks for its own stream and event: what another thread adds while it waits is not its
// matter.
static void ask_stream(size_t self) {
    if (draw())
        OK(cuStreamSynchronize(streams[self].stream));
    else if (cuStreamQuery(streams[self].stream) != CUDA_SUCCESS)
        return;
    learn(self, streams[self].count);
}

static void record(size_t self) {
    OK(cuEventRecord(streams[self].event, streams[self].stream));
    streams[self].recorded = streams[self].count;
}

static void ask_event(size_t self) {
    if (draw())
        OK(cuEventSynchronize(streams[self].event));
    else if (cuEventQuery(streams[self].event) != CUDA_SUCCESS)
        return;
    learn(self, streams[self].recorded);
}

static bool is_race(size_t chunk, bool writes) {
    for (size_t i = 0; i < THREADS; i++) {
        for (size_t j = streams[i].known; j < streams[i].count; j++) {
            if (streams[i].touches[j].chunk == chunk && (writes || streams[i].touches[j].writes))
                return true;
        }
    }
    return false;
}

// Beside what work touches of a chunk, at its first byte, or at its last.
static void access_by_host(void) {
    static const size_t offsets[] = {0, 192, 1, 191};
    size_t chunk = (size_t)random_below(&seed, CHUNKS), place = (size_t)random_below(&seed, 4);
    bool writes = draw(), expected = place >= 2 && is_race(chunk, writes);
    simcudaHostAccess(host_address + chunk * CHUNK + offsets[place], 64,
                      writes ? simcudaAccessWrite : simcudaAccessRead);
    races += expected;
    harmless += !expected;
    if (expected)
        expect_report("race");
    else
        expect_no_report();
}

static void run_thread(void *argument) {
    size_t self = *(const size_t *)argument;
    OK(cuCtxSetCurrent(context));
    for (size_t step = 0; step < STEPS; step++) {
        switch (random_below(&seed, 8)) {
        case 0:
            ask_stream(self);
            break;
        case 1:
            record(self);
            break;
        case 2:
            ask_event(self);
            break;
        case 3:
        case 4:
            launch(self);
            break;
        default:
            access_by_host();
        }
    }
}

static void run_program(const char *completion, uint64_t number, void (*take)(void)) {
    char settings[100];
    size_t selves[THREADS];
    void *arguments[THREADS];
    snprintf(settings, sizeof settings, "mode=scheduled,completion=%s,patience=2,seed=%llu",
             completion, (unsigned long long)number);
    become(settings);
    seed = number;
    context = current_context();
    memset(streams, 0, sizeof streams);
    for (size_t i = 0; i < THREADS; i++) {
        streams[i].stream = make_non_blocking_stream();
        streams[i].event = make_event();
        selves[i] = i;
        arguments[i] = &selves[i];
    }
    take();
    OK(simcudaRunThreads(run_thread, arguments, THREADS));
    OK(cuCtxSynchronize());
    simcudaHostAccess(host_address, CHUNKS * CHUNK, simcudaAccessWrite);
    expect_no_report();
}

static void run_programs(void (*take)(void)) {
    races = harmless = 0;
    for (uint64_t number = 1; number <= SEEDS; number++) {
        run_program("latest", number, take);
        run_program("seeded", number, take);
    }
    assert_true(races > SEEDS && harmless > SEEDS);
}

static void the_host_races_with_work_on_mapped_memory(void **state) {
    (void)state;
    run_programs(take_mapped);
}

static void the_host_races_with_work_on_managed_memory(void **state) {
    (void)state;
    run_programs(take_managed);
}

static void the_host_races_with_work_on_pinned_memory(void **state) {
    (void)state;
    run_programs(take_pinned);
}

static void the_host_races_with_work_on_registered_memory(void **state) {
    (void)state;
    run_programs(take_registered);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_without_reports)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_host_races_with_work_on_mapped_memory),
        TEST(the_host_races_with_work_on_managed_memory),
        TEST(the_host_races_with_work_on_pinned_memory),
        TEST(the_host_races_with_work_on_registered_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
