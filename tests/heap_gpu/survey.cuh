// Rows after the public survey of allocators for GPUs: fragmentation, a graph that is built and
// changed, and work that makes work. All contents are checked.
#pragma once

#include "scene.cuh"

#include <algorithm>
#include <vector>

// ------------------------------------------------------------------------------------------- holes

// About half of the threads give up their block for one of another size.
static __global__ void exchange(pool_heap heap, void **blocks, u32 *bytes, u32 count, u32 round,
                                size_t most, u32 *wrong, u32 *refused) {
    u32 i = thread_of_grid(), dice = mixed(i * 2654435761u + round);
    if (i >= count || (blocks[i] && dice % 2 == 0))
        return;
    if (blocks[i])
        if (u32 found = check_block(blocks[i], bytes[i], i))
            atomicAdd(wrong, found);
    pool_heap_free(heap, blocks[i]);
    bytes[i] = static_cast<u32>(size_of(dice, most));
    blocks[i] = pool_heap_malloc(heap, bytes[i]);
    if (blocks[i])
        write_block(blocks[i], bytes[i], i);
    else
        atomicAdd(refused, 1);
}

// Slabs that are in use: at most a quarter more than full ones would be, and the current ones.
static void require_dense(const scene &s) {
    slab_use use = use_of(s);
    REQUIRE(use.slabs <= use.least + use.least / 4 + use.current);
}

static void holes_between_blocks_are_used_and_close_again() {
    const u32 live = 60000;
    u32 *bytes;
    scene s = begin(512 * mib);
    CHECK(cudaMallocManaged(&bytes, live * sizeof *bytes));
    std::fill(s.blocks, s.blocks + live, nullptr);
    CHECK(poolHeapGrowContiguous(s.heap, 256 * mib, s.stream[0]));
    for (u32 round = 0; round < 30; round++)
        exchange<<<grid_of(live), threads, 0, s.stream[0]>>>(s.device, s.blocks, bytes, live, round,
                                                             4096, s.wrong, s.refused);
    synchronize();
    require_served(s);
    require_dense(s);
    release_many(s, live, 0);
    synchronize();
    require_empty(s);
    allocate_many(s, 1, 256 * mib, 0, 0); // all of the chunk
    synchronize();
    require_served(s);
    release_many(s, 1, 0);
    synchronize();
    require_empty(s);
    end(s);
}

// ------------------------------------------------------------------------------------------- graph

struct vertex {
    u32 *neighbours;
    u32 count, room;
};

static __device__ u32 neighbour_of(u32 v, u32 i) {
    return mixed(v * 40503u + i);
}

static __device__ u32 check_vertex(const vertex &vertex, u32 v) {
    u32 wrong = 0;
    for (u32 i = 0; i < vertex.count; i++)
        wrong += vertex.neighbours[i] != neighbour_of(v, i);
    return wrong;
}

// How many neighbours a vertex has after a round: mostly more, else half of them, or none.
static __host__ __device__ u32 next_count(u32 count, u32 v, u32 round) {
    u32 dice = mixed(v * 31 + round);
    if (dice % 8 == 0)
        return 0;
    return dice % 8 == 1 ? count / 2 : count + (dice >> 8) % 32;
}

static __device__ bool resize_vertex(pool_heap heap, vertex *vertex, u32 v, u32 count) {
    u32 room = count != 0 ? 4 : 0;
    while (room < count)
        room *= 2;
    if (room != vertex->room) { // 0 bytes: frees
        void *moved = pool_heap_realloc(heap, vertex->neighbours, room * sizeof(u32));
        if (room != 0 && !moved)
            return false;
        vertex->neighbours = static_cast<u32 *>(moved);
        vertex->room = room;
    }
    for (u32 i = vertex->count; i < count; i++)
        vertex->neighbours[i] = neighbour_of(v, i);
    vertex->count = count;
    return true;
}

// In each round another thread has the vertex.
static __global__ void change_graph(pool_heap heap, vertex *vertices, u32 count, u32 round,
                                    u32 *wrong, u32 *refused) {
    u32 i = thread_of_grid();
    if (i >= count)
        return;
    u32 v = (i * 7919 + round * 12345) % count; // 7919 is a prime: each has one thread
    vertex changed = vertices[v];
    if (u32 found = check_vertex(changed, v))
        atomicAdd(wrong, found);
    if (!resize_vertex(heap, &changed, v, next_count(changed.count, v, round)))
        atomicAdd(refused, 1);
    vertices[v] = changed;
}

static __global__ void drop_graph(pool_heap heap, vertex *vertices, u32 count, u32 *wrong) {
    u32 v = thread_of_grid();
    if (v >= count)
        return;
    if (u32 found = check_vertex(vertices[v], v))
        atomicAdd(wrong, found);
    pool_heap_free(heap, vertices[v].neighbours);
}

static void graph_is_built_and_changed() {
    const u32 count = 100000, rounds = 30;
    vertex *vertices;
    scene s = begin(512 * mib);
    CHECK(poolHeapGrow(s.heap, 192 * mib, s.stream[0]));
    CHECK(cudaMallocManaged(&vertices, count * sizeof *vertices));
    std::fill(vertices, vertices + count, vertex());
    for (u32 round = 0; round < rounds; round++)
        change_graph<<<grid_of(count), threads, 0, s.stream[0]>>>(s.device, vertices, count, round,
                                                                  s.wrong, s.refused);
    synchronize();
    require_served(s);
    for (u32 v = 0; v < count; v++) {
        u32 neighbours = 0;
        for (u32 round = 0; round < rounds; round++)
            neighbours = next_count(neighbours, v, round);
        REQUIRE(vertices[v].count == neighbours);
    }
    drop_graph<<<grid_of(count), threads, 0, s.stream[1]>>>(s.device, vertices, count, s.wrong);
    synchronize();
    require_empty(s);
    end(s);
}

// -------------------------------------------------------------------------------------------- work

// An item of work. Its contents stand behind it.
struct item {
    u32 number, bytes;
};

static __device__ item *make_item(pool_heap heap, u32 number) {
    u32 bytes = static_cast<u32>(size_of(number, 2000));
    item *made = static_cast<item *>(pool_heap_malloc(heap, sizeof *made + bytes));
    if (made) {
        *made = item{number, bytes};
        write_block(made + 1, bytes, number);
    }
    return made;
}

static __device__ u32 do_item(pool_heap heap, item *done) {
    u32 wrong = check_block(done + 1, done->bytes, done->number);
    pool_heap_free(heap, done);
    return wrong;
}

// From 0 to 3, and so half more in each generation.
static __host__ __device__ u32 children_of(u32 number) {
    return mixed(number) >> 8 & 3;
}

static __host__ __device__ u32 child_of(u32 number, u32 child) {
    return mixed(number * 4 + child + 1);
}

static __global__ void begin_work(pool_heap heap, void **items, u32 count, u32 *refused) {
    u32 i = thread_of_grid();
    if (i < count && !(items[i] = make_item(heap, i)))
        atomicAdd(refused, 1);
}

// Does items that other threads have made, and makes those that follow.
static __global__ void go_on(pool_heap heap, void *const *items, u32 count, void **next, u32 *made,
                             u64 *sum, u32 *wrong, u32 *refused) {
    u32 i = thread_of_grid();
    if (i >= count)
        return;
    item *work = static_cast<item *>(items[(i + 12345) % count]);
    u32 number = work->number;
    if (u32 found = do_item(heap, work))
        atomicAdd(wrong, found);
    atomicAdd(sum, number);
    for (u32 child = 0; child < children_of(number); child++) {
        item *follows = make_item(heap, child_of(number, child));
        if (follows)
            next[atomicAdd(made, 1)] = follows;
        else
            atomicAdd(refused, 1);
    }
}

// The numbers of the next generation, in any order, and the sum of this one.
static std::vector<u32> next_numbers(const std::vector<u32> &numbers, u64 *sum) {
    std::vector<u32> next;
    *sum = 0;
    for (u32 number : numbers) {
        *sum += number;
        for (u32 child = 0; child < children_of(number); child++)
            next.push_back(child_of(number, child));
    }
    return next;
}

static void work_makes_work() {
    const u32 generations = 12;
    u32 *made;
    u64 *sum, expected;
    scene s = begin(1024 * mib);
    CHECK(poolHeapGrow(s.heap, 384 * mib, s.stream[0]));
    CHECK(cudaMallocManaged(&made, sizeof *made));
    CHECK(cudaMallocManaged(&sum, sizeof *sum));
    std::vector<u32> numbers(500);
    for (u32 i = 0; i < numbers.size(); i++)
        numbers[i] = i;
    u32 count = static_cast<u32>(numbers.size());
    void **items = s.blocks, **next = s.blocks + scene::room / 2;
    begin_work<<<grid_of(count), threads, 0, s.stream[0]>>>(s.device, items, count, s.refused);
    synchronize();
    require_served(s);
    for (u32 generation = 0; generation < generations; generation++) {
        numbers = next_numbers(numbers, &expected);
        REQUIRE(numbers.size() > 100 && numbers.size() <= scene::room / 2);
        *made = 0;
        *sum = 0;
        go_on<<<grid_of(count), threads, 0, s.stream[generation % 2]>>>(
            s.device, items, count, next, made, sum, s.wrong, s.refused);
        synchronize();
        require_served(s);
        REQUIRE(*sum == expected && *made == numbers.size());
        std::swap(items, next);
        count = *made;
    }
    std::printf("  %u items at last\n", count);
    std::copy(items, items + count, s.blocks);
    release_many(s, count, 0);
    synchronize();
    require_empty(s);
    end(s);
}

// Each thread leaves its items in slots, and does those that it finds there.
static __global__ void hand_over(pool_heap heap, u64 *slots, u32 count, u32 rounds, u32 *wrong,
                                 u32 *refused) {
    u32 bad = 0, no = 0;
    for (u32 round = 0; round < rounds; round++) {
        u32 number = mixed(thread_of_grid() * 40503u + round);
        item *made = make_item(heap, number);
        no += !made;
        __threadfence();
        u64 found = atomicExch(&slots[number % count], reinterpret_cast<u64>(made));
        __threadfence();
        if (found)
            bad += do_item(heap, reinterpret_cast<item *>(found));
    }
    if (bad)
        atomicAdd(wrong, bad);
    if (no)
        atomicAdd(refused, no);
}

static __global__ void empty_slots(pool_heap heap, const u64 *slots, u32 count, u32 *wrong) {
    u32 i = thread_of_grid();
    if (i < count && slots[i])
        if (u32 found = do_item(heap, reinterpret_cast<item *>(slots[i])))
            atomicAdd(wrong, found);
}

static void threads_of_two_kernels_do_the_work_of_each_other() {
    const u32 count = 4096;
    u64 *slots;
    scene s = begin(512 * mib);
    CHECK(poolHeapGrow(s.heap, 192 * mib, s.stream[0]));
    CHECK(cudaMallocManaged(&slots, count * sizeof *slots));
    std::fill(slots, slots + count, 0);
    CHECK(cudaStreamSynchronize(s.stream[0]));
    for (int stream = 0; stream < 2; stream++)
        hand_over<<<64, threads, 0, s.stream[stream]>>>(s.device, slots, count, 100, s.wrong,
                                                        s.refused);
    synchronize();
    require_served(s);
    empty_slots<<<grid_of(count), threads>>>(s.device, slots, count, s.wrong);
    synchronize();
    require_empty(s);
    end(s);
}
