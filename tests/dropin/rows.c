// rows [LIST]: prints the table of the drop-in, a line "symbol name version flags kind" for each
// call. With a list, asks a libcuda.so.1 for each "name version flags" in it, as the CUDA runtime
// does, and prints the line with the code, the status, and the exported name of what was found.
#include "dropin/ways.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void print_table(void) {
#define ROW(name, symbol, version, flags, kind, parameters)                                        \
    printf("%s %s %d %d %s\n", #symbol, #name, version, flags, #kind);
    SP_DROPIN_TABLE(ROW)
#undef ROW
}

// The end of a path: the file, and the folder that it is in.
static const char *last_two(const char *path) {
    const char *end = path + strlen(path);
    for (int slashes = 0; end > path && slashes < 2; end--)
        slashes += end[-1] == '/';
    return *end == '/' ? end + 1 : end;
}

// The folder, the file and the symbol that a function has there.
static void print_place(const void *function) {
    Dl_info info = {0};
    if (!function || !dladdr(function, &info)) {
        puts("none -");
        return;
    }
    printf("%s %s\n", last_two(info.dli_fname),
           info.dli_sname && info.dli_saddr == function ? info.dli_sname : "-");
}

static void print_answers(FILE *list) {
    char name[64];
    int version;
    unsigned int flags;
    while (fscanf(list, "%63s %d %u", name, &version, &flags) == 3) {
        void *function = NULL;
        CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)77;
        CUresult result = cu.cuGetProcAddress_v2(name, &function, version, flags, &status);
        printf("%s %d %u %d %d ", name, version, flags, (int)result, (int)status);
        print_place(function);
    }
}

int main(int count, char **arguments) {
    FILE *list = count > 1 ? fopen(arguments[1], "r") : NULL;
    if (count > 1 && !list) {
        perror(arguments[1]);
        return 1;
    }
    if (!list) {
        print_table();
        return 0;
    }
    find_calls("dlsym", NULL);
    print_answers(list);
    fclose(list);
    return 0;
}
