// The header in C++.
#include <streampool/swap.h>

#include <cstdio>

int main() {
    poolMemPool_t tagged = nullptr, host = nullptr;
    poolMemPoolPaused paused = {};
    const poolMemRange unwanted = {nullptr, 0};
    const bool good =
        poolMemPoolGetTagged(nullptr, "tag", &tagged) != poolSuccess &&
        poolMemPoolPause(nullptr, nullptr, poolPauseSave, &unwanted, 1, &paused) != poolSuccess &&
        poolMemPoolGetPaused(nullptr, nullptr, &paused) != poolSuccess &&
        poolMemPoolResume(nullptr, nullptr) != poolSuccess &&
        poolMemPoolDestroyTagged(nullptr, nullptr) != poolSuccess &&
        poolSwapGetHostPool(nullptr) != poolSuccess &&
        poolSwapSetHostLimit(UINT64_MAX) == poolSuccess && host == nullptr;
    std::puts(good ? "ok" : "a call has returned something else");
    return good ? 0 : 1;
}
