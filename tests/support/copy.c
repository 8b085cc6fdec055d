#include "support/copy.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

static bool copy(int in, int out) {
    struct stat status;
    if (in < 0 || out < 0 || fstat(in, &status) != 0)
        return false;
    for (off_t rest = status.st_size; rest > 0;) {
        ssize_t sent = sendfile(out, in, NULL, (size_t)rest);
        if (sent <= 0)
            return false;
        rest -= sent;
    }
    return true;
}

bool test_copy_file(const char *from, const char *to) {
    int in = open(from, O_RDONLY | O_CLOEXEC);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
    bool copied = copy(in, out);
    if (in >= 0)
        close(in);
    return out >= 0 && close(out) == 0 && copied;
}
