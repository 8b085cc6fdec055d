// The header of managers in C++, against the library as programs link it. No driver is needed for
// what it calls.
#include <streampool/mam.h>

#include <cstdio>

int main() {
    poolMam_t mam = nullptr;
    void *block = &mam;
    poolMemPool_t pool = nullptr;
    bool good = poolMamCreate(&mam, 0, 0, poolMamFixed) == poolErrorInvalidValue &&
                poolMamCreateAuto(nullptr, 0, poolMamDefault) == poolErrorInvalidValue &&
                poolMamMalloc(mam, &block, 1) == poolErrorInvalidValue &&
                poolMamFree(mam, block) == poolErrorInvalidValue &&
                poolMamGetPool(mam, &pool) == poolErrorInvalidValue &&
                poolMamDestroy(nullptr) == poolSuccess && block == &mam && !mam && !pool;
    if (!good)
        std::fprintf(stderr, "%s\n", poolGetLastErrorDetail());
    return good ? 0 : 1;
}
