#include "driver/beside.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

// The linker calls a program by what it was started as, which need not be a path.
static bool is_program(const Dl_info *file) {
    Dl_info program;
    return dladdr((void *)getauxval(AT_ENTRY), &program) != 0 &&
           program.dli_fbase == file->dli_fbase;
}

// Links are followed, so that a library that one leads to is looked for where it lies itself.
static bool find_file(char path[PATH_MAX]) {
    static const char here;
    Dl_info file;
    if (dladdr(&here, &file) == 0 || is_program(&file))
        return realpath("/proc/self/exe", path) != NULL;
    return realpath(file.dli_fname, path) != NULL;
}

bool sp_driver_beside(const char *name, char path[PATH_MAX]) {
    char file[PATH_MAX];
    if (!find_file(file))
        return false;
    size_t folder = (size_t)(strrchr(file, '/') + 1 - file);
    if (folder + strlen(name) >= PATH_MAX)
        return false;
    memcpy(path, file, folder);
    strcpy(path + folder, name);
    return true;
}
