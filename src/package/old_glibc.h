// For the archive, which runs with glibc 2.28 and newer: functions of which a newer glibc has a
// second version. In 2.29 exp and log lost the wrapper that set errno in an old way; results are
// the same in both. A name that a file doesn't use adds nothing to it.
#if defined(__x86_64__)
__asm__(".symver exp, exp@GLIBC_2.2.5");
__asm__(".symver log, log@GLIBC_2.2.5");
#endif
