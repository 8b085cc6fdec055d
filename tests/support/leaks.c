// What the leak checker of the address sanitizer is told. The simulated driver keeps its objects in memory
// that the checker does not look through, so all that is alive when a process ends would count as lost; its
// own leak check is simcudaLeakCheck(). The library's memory stays subject to the checker.
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void) {
    return "leak:libstreampool_simcuda.so\n";
}

__attribute__((visibility("default"))) const char *__lsan_default_options(void);

// Nor does it speak of what it left out: some tests demand silence.
const char *__lsan_default_options(void) {
    return "print_suppressions=0";
}
