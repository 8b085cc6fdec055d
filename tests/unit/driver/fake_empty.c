// A shared library that is no driver.
int fake_empty(void);

__attribute__((visibility("default"))) int fake_empty(void) {
    return 0;
}
