/* The notes of waiting threads, and the collective operations of a warp. */
#ifndef LH_TESTS_COLLECTIVE_H
#define LH_TESTS_COLLECTIVE_H

/* An operation that runs outside of the fibres once all live threads of the mask have arrived. arguments: those of
 * these threads, by lane, into which results are written; lanes: the set of these lanes. Returns a description of the
 * error, or NULL. */
typedef const char *lh_collective(void *const *arguments, unsigned lanes);

/* The position at which a thread waits, and its part of an operation. */
struct lh_note {
    const char *name, *file; /* name of the call; file that contains it */
    int line;
    unsigned mask;      /* lanes of the warp that take part; 0: the operation is not a warp's */
    lh_collective *run; /* or NULL */
    void *argument;     /* pointer to the thread's own stack */
};

/* Lets the running thread wait until the operation is complete. */
void lh_collective_join(const lh_note &note);

#endif
