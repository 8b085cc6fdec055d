#include "cli/program/installed.h"

#include "cli/program/complain.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool sp_installed_path(const char *name, char path[PATH_MAX]) {
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        return sp_complain("can't find out where the program lies: %s", strerror(errno));
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    int written = snprintf(path, PATH_MAX, "%s/%s/%s", program, SP_BINDIR_TO_LIBDIR, name);
    return written < PATH_MAX || sp_complain("%s: %s", program, strerror(ENAMETOOLONG));
}
