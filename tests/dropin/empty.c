// A library is built of at least one source. This one has what an archive brings.
extern int dropin_empty;
int dropin_empty;
