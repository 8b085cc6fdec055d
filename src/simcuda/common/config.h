// The configuration of the simulated driver: defaults, the text form, and what makes sense. Pure.
#ifndef STREAMPOOL_SIMCUDA_COMMON_CONFIG_H
#define STREAMPOOL_SIMCUDA_COMMON_CONFIG_H

#include <stdbool.h>
#include <streampool/simcuda.h>

// The default, then what STREAMPOOL_SIMCUDA says. False when it can't be read: a line on standard
// error says why.
bool sim_config_from_environment(struct simcudaConfig *config);

// Null when the configuration makes sense, else why not.
const char *sim_config_problem(const struct simcudaConfig *config);

#endif
