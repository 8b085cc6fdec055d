// When a process of a test counts as hung: far beyond what any takes, also on a slow and busy
// machine.
#ifndef STREAMPOOL_TESTS_SUPPORT_HANG_H
#define STREAMPOOL_TESTS_SUPPORT_HANG_H

#define TEST_HANG_SECONDS 600u

#endif
