/* Points at which a thread of the emulation waits, and the collective operations of a warp's threads there. */
#ifndef LH_TESTS_COLLECTIVE_H
#define LH_TESTS_COLLECTIVE_H

/* An operation that runs on the host's stack once all live threads of the mask have arrived. It gets their arguments by
 * lane, and the set of these lanes, and writes results into the arguments. Returns a description of the error, or
 * NULL. */
typedef const char *lh_collective(void *const *arguments, unsigned lanes);

struct lh_note {
    const char *name, *file; /* name of the call; file that contains it */
    int line;
    unsigned mask;      /* lanes of the warp that take part; 0: the operation is not a warp's */
    lh_collective *run; /* or NULL */
    void *argument;     /* pointer to the thread's own stack */
};

/* The running thread waits until the collective is done. */
void lh_collective_join(const lh_note &note);

#endif
