// A driver whose calls that may wait are cancellation points, as those of a real one may be: the
// simulated driver's are none.
#ifndef STREAMPOOL_TESTS_STRESS_CANCEL_DRIVER_H
#define STREAMPOOL_TESTS_STRESS_CANCEL_DRIVER_H

// Puts them before the loaded driver's calls, for all threads. Those of the test that takes the
// driver from here on are such, too.
void cancel_driver_install(void);

#endif
