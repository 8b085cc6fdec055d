// A library that loads.c loads.
extern void construct(void);

__attribute__((constructor)) static void begin(void) {
    construct();
}
