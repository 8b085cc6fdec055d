// A small C++17 program that uses streampool: a pool, and a buffer from it. The library makes a
// context current by itself.
#include <streampool/streampool.hpp>

#include <cstdio>

int main() {
    try {
        const streampool::pool pool(0);
        const streampool::buffer<float> numbers(1 << 18, nullptr, pool);
        streampool::check(poolStreamSynchronize(nullptr), "poolStreamSynchronize");
        std::printf("1 MiB at %p and back\n", static_cast<void *>(numbers.data()));
        return numbers.data() ? 0 : 1;
    } catch (const std::exception &reason) {
        std::fprintf(stderr, "%s\n", reason.what());
        return 1;
    }
}
