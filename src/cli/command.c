#include "cli/command.h"

#include <string.h>

enum sp_device_choice sp_device_choice_of(const char *text, const struct argp_state *state) {
    static const char *const names[] = {
        [SP_DEVICE_AUTO] = "auto", [SP_DEVICE_GPU] = "gpu", [SP_DEVICE_SIM] = "sim"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], text) == 0)
            return (enum sp_device_choice)i;
    argp_error(state, "--device is auto, gpu or sim, not '%s'", text);
    return SP_DEVICE_AUTO;
}
