// Peaks: many blocks come on streams that are drawn, or a small one on each of many streams; most
// of them go in some order, and few survive, spread over what all had. Before and behind it as much
// may be wanted as fits (living.h): so a huge block comes before small ones, and again.
//
// A pool may be destroyed in the midst of a program, with all that lives in it.
#ifndef STREAMPOOL_TESTS_RANDOM_PEAK_H
#define STREAMPOOL_TESTS_RANDOM_PEAK_H

#include "random/world.h"

// The operations. Pools are renewed in programs of one thread.
void peak_come_and_go(struct thread *thread);
void peak_renew_pool(struct thread *thread);

#endif
