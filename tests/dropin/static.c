// A program that has no dynamic linker.
int main(void) {
    return 6;
}
