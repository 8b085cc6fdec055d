// The header of copies in C++, against the library as programs link it. Nothing is copied.
#include <streampool/copy.h>

#include <cstdio>

int main() {
    poolCopyCompletion_t completion = nullptr;
    poolCopySettings settings = {};
    char byte = 0;
    bool good = poolCopyGetSettings(&settings) == poolSuccess && settings.depth >= 2 &&
                poolCopySetSettings(nullptr) == poolErrorInvalidValue &&
                poolCopySetSettingsFile(nullptr) == poolSuccess &&
                poolCopyToDeviceAsync(nullptr, &byte, 0, nullptr) == poolSuccess &&
                poolCopyToHostAsync(&byte, nullptr, 0, nullptr) == poolSuccess &&
                poolCopyToDevice2DAsync(nullptr, 0, &byte, 1, 1, 0, nullptr) == poolSuccess &&
                poolCopyToHost2DAsync(&byte, 1, nullptr, 0, 0, 1, nullptr) == poolSuccess &&
                poolCopyToHostAsyncWithCompletion(&byte, nullptr, 0, nullptr, nullptr) ==
                    poolErrorInvalidValue &&
                poolCopyToDeviceAsyncWithCompletion(nullptr, &byte, 0, nullptr, &completion) ==
                    poolSuccess &&
                poolCopyToDevice2DAsyncWithCompletion(nullptr, 0, &byte, 1, 1, 0, nullptr,
                                                      nullptr) == poolErrorInvalidValue &&
                poolCopyToHost2DAsyncWithCompletion(&byte, 1, nullptr, 0, 0, 1, nullptr, nullptr) ==
                    poolErrorInvalidValue &&
                poolCopyCompletionQuery(completion) == poolSuccess &&
                poolCopyCompletionSynchronize(completion) == poolSuccess &&
                poolCopyCompletionDestroy(completion) == poolSuccess &&
                poolCopyGetPool(nullptr) == poolErrorInvalidValue;
    if (!good)
        std::fprintf(stderr, "%s\n", poolGetLastErrorDetail());
    return good ? 0 : 1;
}
