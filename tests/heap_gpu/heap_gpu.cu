// The device heap on a real device: a row for each promise, "pass" or "FAIL", and exit status 1
// where one fails.
//
//   heap_gpu            all rows, each in a process of its own, for two minutes at most
//   heap_gpu ROW        one row
#include "checked.h"
#include "survey.cuh"

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <vector>

static void kernels_allocate_right_after_create() {
    scene s = begin(2048 * mib);
    allocate_many(s, 50000, 0, 4096, 0);
    synchronize();
    require_served(s);
    check_many(s, 50000, 0, 4096);
    release_many(s, 50000, 0);
    synchronize();
    require_empty(s);
    end(s);
}

static void blocks_of_one_stream_are_freed_on_another() {
    scene s = begin(4096 * mib);
    for (int round = 0; round < 20; round++) {
        allocate_many(s, 100000, 64 + round * 100, 0, 0);
        churn<<<64, threads, 0, s.stream[1]>>>(s.device, 50, 2000, s.wrong, s.refused);
        CHECK(cudaStreamSynchronize(s.stream[0]));
        release_many(s, 100000, 1);
        CHECK(cudaStreamSynchronize(s.stream[1]));
    }
    synchronize();
    require_served(s);
    require_empty(s);
    end(s);
}

static void blocks_are_aligned() {
    scene s = begin(512 * mib);
    align<<<64, threads>>>(s.device, s.wrong);
    synchronize();
    require_empty(s);
    end(s);
}

static void reallocated_blocks_keep_their_contents() {
    scene s = begin(4096 * mib);
    reallocate<<<128, threads>>>(s.device, s.wrong, s.refused);
    synchronize();
    require_served(s);
    require_empty(s);
    end(s);
}

static void host_frees_blocks() {
    scene s = begin(512 * mib);
    allocate_many(s, 1000, 0, 100000, 0);
    synchronize();
    for (int i = 0; i < 1000; i++)
        CHECK(poolHeapFree(s.heap, s.blocks[i], s.stream[i % 2]));
    synchronize();
    require_empty(s);
    end(s);
}

static void bad_frees_are_counted() {
    scene s = begin(64 * mib);
    allocate_many(s, 2, 100, 0, 0);
    synchronize();
    char *block = static_cast<char *>(s.blocks[0]);
    void *bad[] = {block + 8, s.wrong, block, block};
    for (void *address : bad) {
        CHECK(poolHeapFree(s.heap, address, s.stream[0]));
        CHECK(cudaStreamSynchronize(s.stream[0]));
    }
    poolHeapStatistics statistics = count(s);
    REQUIRE(statistics.foreignFrees == 2);
    REQUIRE(statistics.doubleFrees == 1);
    REQUIRE(statistics.badFrees == 3);
    REQUIRE(statistics.badFree[0].address == block + 8);
    REQUIRE(statistics.badFree[2].kind == poolHeapErrorDouble);
    end(s);
}

// Takes what the process prints while it lives.
struct listener {
    std::FILE *file = std::tmpfile();
    int own = dup(STDOUT_FILENO);
    listener() {
        std::fflush(stdout);
        REQUIRE(file && own >= 0 && dup2(fileno(file), STDOUT_FILENO) >= 0);
    }
    void end() {
        std::fflush(stdout);
        dup2(own, STDOUT_FILENO);
        std::rewind(file);
    }
};

static void checked_build_tells_bad_frees_with_their_addresses() {
    static const char *const expected[] = {"is no block of this heap", "is free already"};
    scene s = begin(64 * mib);
    listener listener;
    free_badly(s.device, s.blocks, s.stream[0]);
    cudaError_t error = cudaDeviceSynchronize(); // prints
    listener.end();
    CHECK(error);
    for (int i = 0; i < 2; i++) {
        void *address;
        char told[64];
        REQUIRE(std::fscanf(listener.file, " pool_heap: %p %63[^\n]", &address, told) == 2);
        std::printf("  %p %s\n", address, told);
        REQUIRE(address == s.blocks[i] && std::strcmp(told, expected[i]) == 0);
    }
    REQUIRE(std::fscanf(listener.file, " %*c") == EOF);
    poolHeapStatistics statistics = count(s);
    REQUIRE(statistics.foreignFrees == 1 && statistics.doubleFrees == 1);
    end(s);
}

static void exhausted_heap_refuses_and_recovers() {
    for (size_t bytes : {16, 96, 1024, 8192}) {
        scene s = begin(256 * mib);
        u64 *taken;
        CHECK(cudaMallocManaged(&taken, sizeof *taken));
        CHECK(poolHeapGrow(s.heap, 224 * mib, s.stream[0]));
        CHECK(cudaStreamSynchronize(s.stream[0]));
        u64 least = ~0ull;
        for (int round = 0; round < 3; round++) {
            *taken = 0;
            exhaust<<<256, threads>>>(s.device, s.blocks, bytes, taken);
            synchronize();
            REQUIRE(*taken * bytes >= 256 * mib / 5 * 4);
            least = *taken < least ? *taken : least;
            release_lists<<<256, threads>>>(s.device, s.blocks);
            synchronize();
            require_empty(s);
        }
        std::printf("  %zu bytes: %.1f %% of the heap\n", bytes,
                    100.0 * double(least * bytes) / double(256 * mib));
        REQUIRE(count(s).largestFailed == bytes);
        end(s);
    }
}

static void growth_serves_kernels_behind_it() {
    scene s = begin(1024 * mib);
    allocate_many(s, 400000, 1024, 0, 0);
    synchronize();
    REQUIRE(*s.refused > 0);
    release_many(s, 400000, 0);
    CHECK(poolHeapGrow(s.heap, 512 * mib, s.stream[0]));
    CHECK(cudaStreamSynchronize(s.stream[0]));
    *s.refused = 0;
    allocate_many(s, 400000, 1024, 0, 0);
    synchronize();
    require_served(s);
    check_many(s, 400000, 1024, 0);
    REQUIRE(poolHeapGrow(s.heap, 1024 * mib, s.stream[0]) == poolErrorMemoryAllocation);
    end(s);
}

static void large_blocks_lie_in_contiguous_growth() {
    scene s = begin(1024 * mib);
    CHECK(poolHeapGrowContiguous(s.heap, 500 * mib, s.stream[0]));
    allocate_many(s, 1, 500 * mib, 0, 0);
    synchronize();
    REQUIRE(s.blocks[0] != nullptr);
    CHECK(cudaMemset(s.blocks[0], 0x5a, 500 * mib)); // all of it is memory
    release_many(s, 1, 0);
    allocate_many(s, 4, 100 * mib, 0, 0);
    synchronize();
    require_served(s);
    release_many(s, 4, 0);
    synchronize();
    require_empty(s);
    end(s);
}

static void maintained_heap_comes_to_serve_all() {
    scene s = begin(4096 * mib);
    CHECK(poolHeapTrim(s.heap, s.stream, 2));
    await_bytes(s, 0);
    int round = 0;
    do {
        *s.refused = 0;
        allocate_many(s, 500000, 0, 8192, 0);
        CHECK(poolHeapMaintain(s.heap, s.stream[0]));
        synchronize();
        check_many(s, 500000, 0, 8192);
        release_many(s, 500000, 0);
        CHECK(poolHeapMaintain(s.heap, s.stream[0]));
        synchronize();
    } while (*s.refused != 0 && ++round < 100);
    std::printf("  after %d rounds\n", round);
    require_served(s);
    *s.refused = 0;
    for (int i = 0; i < 4; i++) { // a large block, too
        *s.refused = 0;
        allocate_many(s, 1, 900 * mib, 0, 0);
        CHECK(poolHeapMaintain(s.heap, s.stream[0]));
        synchronize();
        release_many(s, 1, 0);
    }
    require_served(s);
    end(s);
}

static void trimmed_memory_is_the_pools_again() {
    scene s = begin(1024 * mib);
    u64 before = used_bytes(s.pool);
    allocate_many(s, 50000, 1000, 0, 0);
    release_many(s, 50000, 0);
    CHECK(poolHeapTrim(s.heap, s.stream, 2));
    await_bytes(s, 0);
    REQUIRE(used_bytes(s.pool) == before - 128 * mib);
    allocate_many(s, 1, 16, 0, 0);
    synchronize();
    REQUIRE(*s.refused == 1);
    CHECK(poolHeapGrow(s.heap, 64 * mib, s.stream[0]));
    allocate_many(s, 50000, 1000, 0, 0);
    synchronize();
    REQUIRE(*s.refused == 1);
    end(s);
}

static void live_blocks_outlast_a_trim() {
    const int kept = 2000;
    scene s = begin(1024 * mib);
    allocate_many(s, 100000, 1000, 0, 0);
    synchronize();
    std::vector<void *> all(s.blocks, s.blocks + 100000);
    std::fill(s.blocks, s.blocks + kept, nullptr);
    release_many(s, 100000, 0);
    CHECK(poolHeapTrim(s.heap, s.stream, 2));
    for (int i = 0; i < 5000 && count(s).bytesTaken == 128 * mib; i++)
        usleep(1000);
    poolHeapStatistics statistics = count(s);
    std::printf("  %zu of 128 MiB stay, %llu slabs in use\n", statistics.bytesTaken / mib,
                static_cast<u64>(statistics.slabsLeftByTrim));
    REQUIRE(statistics.bytesTaken < 100 * mib && statistics.slabsLeftByTrim > 0);
    void *other; // overwrites what was given back
    CHECK(poolMallocAsync(&other, 128 * mib, s.stream[0]));
    CHECK(cudaMemsetAsync(other, 0xff, 128 * mib, s.stream[0]));
    CHECK(poolFreeAsync(other, s.stream[0]));
    synchronize();
    std::fill(s.blocks, s.blocks + 100000, nullptr);
    std::copy(all.begin(), all.begin() + kept, s.blocks);
    check_many(s, 100000, 1000, 0);
    release_many(s, 100000, 0);
    CHECK(poolHeapTrim(s.heap, s.stream, 2));
    await_bytes(s, 0);
    require_empty(s);
    end(s);
}

static void trims_and_growth_beside_running_kernels_harm_nobody() {
    scene s = begin(2048 * mib);
    u64 trimmed = 0;
    for (int round = 0; round < 300; round++) {
        churn<<<128, threads, 0, s.stream[round % 2]>>>(s.device, 40, 20000, s.wrong, s.refused);
        CHECK(poolHeapMaintain(s.heap, s.stream[round % 2]));
        if (round % 3 == 0)
            CHECK(poolHeapTrimTo(s.heap, 32 * mib, s.stream, 2));
        if (round % 5 == 0)
            CHECK(poolHeapGrow(s.heap, 16 * mib, s.stream[1]));
        if (round % 16 == 0)
            CHECK(cudaStreamSynchronize(s.stream[round / 16 % 2]));
    }
    synchronize();
    trimmed = count(s).bytesTrimmed;
    std::printf("  %llu MiB trimmed, %u requests refused\n", trimmed / mib, *s.refused);
    REQUIRE(trimmed > 0);
    CHECK(poolHeapTrim(s.heap, s.stream, 2));
    await_bytes(s, 0);
    require_empty(s);
    end(s);
}

static void a_thousand_million_pairs_lose_no_slab() {
    scene s = begin(1024 * mib);
    pairs<<<4096, threads>>>(s.device, 954, 64, s.refused);
    synchronize();
    require_served(s);
    require_empty(s);
    end(s);
}

static void destroyed_heap_gives_all_back_with_live_blocks() {
    CHECK(cudaFree(nullptr));
    poolMemPool_t pool;
    CHECK(poolDeviceGetDefaultMemPool(&pool, 0));
    u64 before = used_bytes(pool);
    scene s = begin(1024 * mib);
    allocate_many(s, 100000, 100, 0, 0);
    CHECK(poolHeapDestroy(s.heap, s.stream, 2));
    REQUIRE(used_bytes(pool) == before);
    synchronize();
    require_served(s);
    REQUIRE(poolHeapGrow(s.heap, 1, s.stream[0]) == poolErrorInvalidValue);
}

static void destroying_beside_a_kernel_leaves_it_its_memory() {
    scene s = begin(1024 * mib);
    linger<<<4, threads, 0, s.stream[0]>>>(s.device, 3000000000ll, s.wrong); // some 2 seconds
    CHECK(cudaGetLastError());
    CHECK(poolHeapDestroy(s.heap, s.stream, 2));
    void *other; // is not the memory that the kernel uses
    CHECK(poolMallocAsync(&other, 128 * mib, s.stream[1]));
    CHECK(cudaMemsetAsync(other, 0xff, 128 * mib, s.stream[1]));
    synchronize();
    REQUIRE(*s.wrong == 0);
}

static void trapped_kernel_leaves_an_error_and_no_hang() {
    scene s = begin(1024 * mib);
    trap<<<256, threads, 0, s.stream[0]>>>(s.device, 200);
    poolHeapMaintain(s.heap, s.stream[0]); // may fail already
    poolHeapTrim(s.heap, s.stream, 2);
    REQUIRE(cudaDeviceSynchronize() != cudaSuccess);
    REQUIRE(poolHeapGrow(s.heap, 2 * mib, s.stream[0]) != poolSuccess);
    poolError_t error = poolHeapDestroy(s.heap, s.stream, 2);
    std::printf("  destroying says %s: %s\n", poolGetErrorName(error), poolGetLastErrorDetail());
    REQUIRE(error != poolSuccess);
    std::printf("  %llu bytes are still used\n", used_bytes(s.pool));
}

static void capture_is_refused_and_stays_valid() {
    scene s = begin(64 * mib);
    cudaGraph_t graph;
    CHECK(cudaStreamBeginCapture(s.stream[0], cudaStreamCaptureModeGlobal));
    REQUIRE(poolHeapGrow(s.heap, 1, s.stream[0]) == poolErrorStreamCaptureUnsupported);
    REQUIRE(poolHeapTrim(s.heap, s.stream, 2) == poolErrorStreamCaptureUnsupported);
    CHECK(poolHeapGrow(s.heap, 2 * mib, s.stream[1])); // another stream isn't refused
    CHECK(poolHeapMaintain(s.heap, s.stream[1]));
    CHECK(cudaStreamEndCapture(s.stream[0], &graph));
    CHECK(cudaGraphDestroy(graph));
    end(s);
}

static void heap_uses_the_legacy_stream_too() {
    scene s = begin(256 * mib);
    CUstream legacy = nullptr;
    CHECK(poolHeapGrow(s.heap, 32 * mib, legacy));
    churn<<<32, threads>>>(s.device, 40, 2000, s.wrong, s.refused);
    CHECK(poolHeapMaintain(s.heap, legacy));
    CHECK(poolHeapTrim(s.heap, &legacy, 1));
    await_bytes(s, 0);
    require_empty(s);
    end(s);
}

// As many slabs as there are hold little more than what is asked for.
static void requests_at_once_fill_a_heap() {
    scene s = begin(256 * mib);
    allocate_many(s, 20000, 0, 3000, 0);
    synchronize();
    require_served(s);
    check_many(s, 20000, 0, 3000);
    slab_use use = use_of(s);
    REQUIRE(use.least <= count(s).slabs && use.least * 100 >= count(s).slabs * 95);
    release_many(s, 20000, 0);
    synchronize();
    require_empty(s);
    end(s);
}

// Where more are free, too.
static void requests_at_once_open_few_slabs() {
    scene s = begin(256 * mib);
    CHECK(poolHeapGrow(s.heap, 224 * mib, s.stream[0]));
    for (size_t most : {3000, 4096, 20000}) {
        allocate_many(s, 20000, 0, most, 0);
        synchronize();
        require_served(s);
        slab_use use = use_of(s);
        REQUIRE(use.slabs <= use.least + use.current);
        release_many(s, 20000, 0);
        synchronize();
        require_empty(s);
    }
    end(s);
}

static void statistics_are_printed() {
    scene s = begin(256 * mib);
    allocate_many(s, 20000, 0, 2000, 0);
    CHECK(poolHeapPrintStatistics(s.heap, s.stream[0], stdout));
    poolHeapStatistics statistics = count(s);
    require_served(s);
    u64 blocks = statistics.runs, slabs = statistics.slabsFree + statistics.slabsOfRuns;
    for (size_t i = 0; i < statistics.classes; i++) {
        blocks += statistics.byClass[i].blocks;
        slabs += statistics.byClass[i].slabs;
        REQUIRE(statistics.byClass[i].failures == 0);
    }
    REQUIRE(blocks == 20000 && slabs == statistics.slabs);
    REQUIRE(statistics.failuresOfRuns == 0 && statistics.largestFailed == 0);
    end(s);
}

// docs/examples/heap.cu, which build.sh has put beside this program.
static void example_prints_its_sum() {
    char path[PATH_MAX] = "", line[128] = "";
    REQUIRE(readlink("/proc/self/exe", path, sizeof path - 1) > 0);
    std::string program(path, std::strrchr(path, '/') + 1 - path);
    std::FILE *output = popen(("'" + program + "heap_example'").c_str(), "r");
    REQUIRE(output != nullptr);
    REQUIRE(std::fgets(line, sizeof line, output) != nullptr);
    std::printf("  %s", line);
    REQUIRE(pclose(output) == 0);
    REQUIRE(std::strcmp(line, "the numbers sum up to 161700000\n") == 0);
}

static const struct {
    const char *name;
    void (*run)();
} rows[] = {
#define ROW(name)                                                                                  \
    { #name, name }
    ROW(kernels_allocate_right_after_create),
    ROW(blocks_of_one_stream_are_freed_on_another),
    ROW(blocks_are_aligned),
    ROW(reallocated_blocks_keep_their_contents),
    ROW(host_frees_blocks),
    ROW(bad_frees_are_counted),
    ROW(checked_build_tells_bad_frees_with_their_addresses),
    ROW(exhausted_heap_refuses_and_recovers),
    ROW(holes_between_blocks_are_used_and_close_again),
    ROW(graph_is_built_and_changed),
    ROW(work_makes_work),
    ROW(threads_of_two_kernels_do_the_work_of_each_other),
    ROW(growth_serves_kernels_behind_it),
    ROW(large_blocks_lie_in_contiguous_growth),
    ROW(maintained_heap_comes_to_serve_all),
    ROW(trimmed_memory_is_the_pools_again),
    ROW(live_blocks_outlast_a_trim),
    ROW(trims_and_growth_beside_running_kernels_harm_nobody),
    ROW(a_thousand_million_pairs_lose_no_slab),
    ROW(destroyed_heap_gives_all_back_with_live_blocks),
    ROW(destroying_beside_a_kernel_leaves_it_its_memory),
    ROW(trapped_kernel_leaves_an_error_and_no_hang),
    ROW(capture_is_refused_and_stays_valid),
    ROW(heap_uses_the_legacy_stream_too),
    ROW(requests_at_once_fill_a_heap),
    ROW(requests_at_once_open_few_slabs),
    ROW(statistics_are_printed),
    ROW(example_prints_its_sum),
};

// A process of its own: a trap, or a row that hangs, is not the others'.
static bool run_apart(const char *program, const char *row) {
    pid_t child = fork();
    if (child == 0) {
        alarm(120);
        execl(program, program, row, static_cast<char *>(nullptr));
        _exit(127);
    }
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int run_all(const char *program) {
    int failed = 0;
    for (const auto &row : rows) {
        bool passed = run_apart(program, row.name);
        std::printf("%s %s\n", passed ? "pass" : "FAIL", row.name);
        std::fflush(stdout);
        failed += !passed;
    }
    std::printf("%d of %zu rows failed\n", failed, sizeof rows / sizeof *rows);
    return failed != 0;
}

int main(int count, char **arguments) {
    if (count == 1)
        return run_all("/proc/self/exe");
    for (const auto &row : rows)
        if (std::strcmp(arguments[1], row.name) == 0) {
            row.run();
            return 0;
        }
    std::printf("there is no row %s\n", arguments[1]);
    return 2;
}
