#include "driver/beside.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

// True when the file is the program. The linker knows a program by the name that it was started
// with, which need not be a path.
static bool is_program(const Dl_info *file) {
    Dl_info program;
    return dladdr((void *)getauxval(AT_ENTRY), &program) != 0 &&
           program.dli_fbase == file->dli_fbase;
}

// Finds the file that this code is in. Links are followed, so that the folder is the one in which
// the file itself lies.
static bool find_file(char path[PATH_MAX]) {
    static const char here;
    Dl_info file;
    if (dladdr(&here, &file) == 0 || is_program(&file))
        return realpath("/proc/self/exe", path) != NULL;
    return realpath(file.dli_fname, path) != NULL;
}

bool sp_beside_path(const char *name, char path[PATH_MAX]) {
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
