// The rows of programmatic dependent launch, which the simulated driver doesn't have: kernels of a
// stream that start before those in front of them have ended.
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/simulated.h"

// What cuLaunchKernelEx takes, as far as it is used here, in the layout of the driver's header.
struct attribute {
    int id;
    char padding[4];
    union {
        char bytes[64];
        int allowed;
    } value;
};

struct configuration {
    unsigned int grid[3];
    unsigned int block[3];
    unsigned int shared_bytes;
    CUstream stream;
    struct attribute *attributes;
    unsigned int attribute_count;
};

typedef CUresult launch_function(const struct configuration *configuration, CUfunction function,
                                 void **parameters, void **extra);

enum { PROGRAMMATIC_STREAM_SERIALIZATION = 6, FIRST_WITH_DEPENDENT_LAUNCH = 9 };

// Lets the next kernel start, waits until those before have ended and can be seen, stays for a
// while, counts the words of `from` that are not `seed`, and writes seed + 1 to those of `to`. The
// while is what a kernel that did not wait would use to spoil the words.
static const char step_ptx[] =
    ".version 7.8\n"
    ".target sm_90\n"
    ".address_size 64\n"
    ".visible .entry step(.param .u64 from, .param .u64 to, .param .u64 words,\n"
    "    .param .u32 seed, .param .u64 errors)\n"
    "{\n"
    "    .reg .pred %p<4>;\n"
    "    .reg .b32 %r<10>;\n"
    "    .reg .b64 %rd<16>;\n"
    "    griddepcontrol.launch_dependents;\n"
    "    griddepcontrol.wait;\n"
    "    ld.param.u64 %rd1, [from];\n"
    "    ld.param.u64 %rd2, [to];\n"
    "    ld.param.u64 %rd3, [words];\n"
    "    ld.param.u32 %r1, [seed];\n"
    "    ld.param.u64 %rd4, [errors];\n"
    "    add.u32 %r2, %r1, 1;\n"
    "    mov.u64 %rd5, %globaltimer;\n"
    "stay:\n"
    "    mov.u64 %rd6, %globaltimer;\n"
    "    sub.u64 %rd6, %rd6, %rd5;\n"
    "    setp.lt.u64 %p1, %rd6, 10000;\n"
    "    @%p1 bra stay;\n"
    "    mov.u32 %r3, %tid.x;\n"
    "    mov.u32 %r4, %ctaid.x;\n"
    "    mov.u32 %r5, %ntid.x;\n"
    "    mov.u32 %r6, %nctaid.x;\n"
    "    mad.lo.u32 %r7, %r4, %r5, %r3;\n"
    "    mul.lo.u32 %r8, %r5, %r6;\n"
    "    cvt.u64.u32 %rd7, %r7;\n"
    "    cvt.u64.u32 %rd8, %r8;\n"
    "next:\n"
    "    setp.ge.u64 %p2, %rd7, %rd3;\n"
    "    @%p2 bra end;\n"
    "    shl.b64 %rd9, %rd7, 2;\n"
    "    add.u64 %rd10, %rd1, %rd9;\n"
    "    add.u64 %rd11, %rd2, %rd9;\n"
    "    ld.volatile.global.u32 %r9, [%rd10];\n"
    "    setp.ne.u32 %p3, %r9, %r1;\n"
    "    @%p3 red.global.add.u64 [%rd4], 1;\n"
    "    st.global.u32 [%rd11], %r2;\n"
    "    add.u64 %rd7, %rd7, %rd8;\n"
    "    bra next;\n"
    "end:\n"
    "    ret;\n"
    "}\n";

static launch_function *find_launch(void) {
    launch_function *launch = NULL;
    void *library = dlopen(test_driver()->path, RTLD_NOW | RTLD_NOLOAD);
    REQUIRE(library);
    void *symbol = dlsym(library, "cuLaunchKernelEx");
    memcpy(&launch, &symbol, sizeof launch);
    dlclose(library);
    return launch;
}

static launch_function *require_dependent_launch(void) {
    CUdevice device;
    int major = 0;
    if (test_simulated())
        test_skip("the simulated driver has no programmatic dependent launch");
    DRIVER(test_driver()->cuDeviceGet(&device, 0));
    DRIVER(test_driver()->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
                                               device));
    launch_function *launch = find_launch();
    if (!launch || major < FIRST_WITH_DEPENDENT_LAUNCH)
        test_skip("this device or driver has no programmatic dependent launch");
    return launch;
}

struct steps {
    launch_function *launch;
    CUfunction function;
    uint64_t errors;
};

static void open_steps(struct steps *steps) {
    const uint64_t none = 0;
    CUmodule module;
    CUdeviceptr errors;
    steps->launch = require_dependent_launch();
    DRIVER(test_driver()->cuModuleLoadData(&module, step_ptx));
    DRIVER(test_driver()->cuModuleGetFunction(&steps->function, module, "step"));
    DRIVER(test_driver()->cuMemAlloc(&errors, sizeof none));
    DRIVER(test_driver()->cuMemcpyHtoD(errors, &none, sizeof none));
    steps->errors = errors;
}

static void launch_step(const struct steps *steps, const void *from, void *to, size_t size,
                        uint32_t seed, CUstream stream) {
    struct attribute attribute = {.id = PROGRAMMATIC_STREAM_SERIALIZATION, .value.allowed = 1};
    const struct configuration configuration = {.grid = {16, 1, 1},
                                                .block = {128, 1, 1},
                                                .stream = stream,
                                                .attributes = &attribute,
                                                .attribute_count = 1};
    uint64_t source = (uintptr_t)from, destination = (uintptr_t)to, words = size / 4,
             errors = steps->errors;
    DRIVER(steps->launch(&configuration, steps->function,
                         (void *[]){&source, &destination, &words, &seed, &errors}, NULL));
}

static uint64_t count_errors(const struct steps *steps) {
    uint64_t count;
    DRIVER(test_driver()->cuMemcpyDtoH(&count, steps->errors, sizeof count));
    return count;
}

#define STEPS 2000

// Each step reads the block of the step before, which is freed at once, and writes one that was
// freed two steps before. Every so often the chain passes to the other stream by an event. All
// kernels wait for those before them, as a kernel must that shares memory with them in any other
// way.
void row_programmatic_dependent_launch_keeps_every_byte(void) {
    static const size_t sizes[] = {KIB(64), MIB(2)};
    struct steps steps;
    open_steps(&steps);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        poolMemPool_t pool = test_pool_of_at_most(MIB(32));
        CUstream streams[2] = {test_stream(), test_stream()}, stream = streams[0];
        CUevent event = test_event();
        void *from = test_malloc(pool, sizes[i], stream);
        test_fill(from, 0, sizes[i], stream);
        for (uint32_t step = 0; step < STEPS; step++) {
            if (step % 50 == 49) {
                EXPECT(poolEventRecord(event, stream), poolSuccess);
                stream = stream == streams[0] ? streams[1] : streams[0];
                EXPECT(poolStreamWaitEvent(stream, event, 0), poolSuccess);
            }
            void *to = test_malloc(pool, sizes[i], stream);
            launch_step(&steps, from, to, sizes[i], step, stream);
            test_free(from, stream);
            from = to;
        }
        EXPECT(poolDeviceSynchronize(), poolSuccess);
        REQUIRE_EQUAL(count_errors(&steps), 0);
    }
}

// Memory in pieces, between blocks that stay: what lies in them shows whether a kernel wrote where
// it has nothing.
enum { PIECES = 16 };

static poolMemPool_t open_pieces(void **blocks, CUstream stream) {
    poolMemPool_t pool = test_pool_of_at_most(PIECES * MIB(4));
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    for (unsigned i = 0; i < PIECES; i++) {
        blocks[i] = test_malloc(pool, MIB(4), stream);
        test_fill(blocks[i], (unsigned char)(i + 1), MIB(4), stream);
    }
    for (unsigned i = 0; i < PIECES; i += 2)
        test_free(blocks[i], stream);
    return pool;
}

// As above, with sizes that need pieces, so that each step joins what the steps before it have
// freed. The kernels wait for those before them; memory that is to be used without that is fixed,
// and none of it is joined.
void row_programmatic_dependent_launch_keeps_every_byte_of_joined_memory(void) {
    static const size_t sizes[] = {MIB(10), MIB(12), MIB(9), MIB(14)};
    struct steps steps;
    void *blocks[PIECES], *fixed = NULL;
    open_steps(&steps);
    CUstream stream = test_stream();
    poolMemPool_t pool = open_pieces(blocks, stream);
    EXPECT(poolMallocAsyncWithFlags(&fixed, MIB(10), pool, stream,
                                    poolMallocFixed | poolMallocNoGrowth),
           poolErrorMemoryAllocation);
    void *from = test_malloc(pool, sizes[0], stream);
    test_fill(from, 0, sizes[0], stream);
    for (uint32_t step = 0; step < STEPS; step++) {
        void *to = test_malloc(pool, sizes[(step + 1) % 4], stream);
        launch_step(&steps, from, to, MIB(9), step, stream);
        test_free(from, stream);
        from = to;
    }
    REQUIRE(test_attribute(pool, poolMemPoolStatRemaps) > 0);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(count_errors(&steps), 0);
    for (unsigned i = 1; i < PIECES; i += 2)
        REQUIRE(test_is_filled(blocks[i], (unsigned char)(i + 1), MIB(4)));
}
