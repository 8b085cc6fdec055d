// Faults: in some operations a call of the simulated driver fails, or there is hardly any address
// space (space.h). What the library's calls return then is no mistake (thread_succeeded), but
// memory and order must be as right as ever.
#ifndef STREAMPOOL_TESTS_RANDOM_FAULTS_H
#define STREAMPOOL_TESTS_RANDOM_FAULTS_H

#include "random/world.h"

typedef void operation(struct thread *thread);

// Runs the operation, with a fault or without, as the plan has it and the numbers say.
void faults_perform(struct thread *thread, operation *run);

#endif
