// Marks that say what a record of the program's event in a stream would.
//
// A record says what the stream has freed, and what it runs after. A mark of its own says all of
// that, and costs a record of a private event. But often there are marks that say it already: the
// stream's newest one, for the frees; and for what the stream runs after since then, the mark of
// another stream that it was made to wait for last, which it has *heard*. The program's event
// stands behind both. Whoever waits for it waits for these two marks as well, and learns of each
// what is true of that mark alone: so nothing depends on what became of the program's event
// meanwhile.
//
// So a record is due where something was freed since the newest mark, or the stream has heard of
// several others since, or of one in another context.
#ifndef STREAMPOOL_ORDER_SAID_H
#define STREAMPOOL_ORDER_SAID_H

#include "order/mark.h"

enum { SP_SAID_MARKS = 2 };

enum sp_said {
    SP_SAID_BY_NONE, // a record is due: sp_mark_stream()
    SP_SAID,         // `marks` were set; the references are the caller's
    SP_SAID_BEFORE,  // `marks` are those that say it
};

// Finds the marks that say what a record would; both are null where there is nothing to say, and
// two of them always come in the same order. `marks` are null at first, or others have references
// to them as long as the call lasts.
enum sp_said sp_said_find(struct sp_stream *stream, struct sp_mark *marks[SP_SAID_MARKS]);

// Says, with the stream's lock held, that the stream was made to wait for the mark of another one,
// and has joined to its clock what that says. The stream keeps the mark until it hears of the next
// one. Returns the one that it heard of before, or null, which the caller is to release.
struct sp_mark *sp_said_hear_locked(struct sp_stream *stream, struct sp_mark *mark);

// Says that the stream has heard of none.
void sp_said_forget(struct sp_stream *stream);

#endif
