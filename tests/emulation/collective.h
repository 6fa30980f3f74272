/* Where a thread of the emulation waits, and what the threads of a warp do together there. */
#ifndef LH_TESTS_COLLECTIVE_H
#define LH_TESTS_COLLECTIVE_H

/* Runs once all live threads of the mask have come, on the host's stack: their arguments by lane, which lanes they are.
 * Results go into the arguments. Returns what is wrong, or NULL. */
typedef const char *lh_collective(void *const *arguments, unsigned lanes);

struct lh_note {
    const char *name, *file; /* of the call and of the text where it stands */
    int line;
    unsigned mask;      /* of the warp's lanes that meet; 0 where it is not a warp's matter */
    lh_collective *run; /* or NULL */
    void *argument;     /* on the thread's own stack */
};

/* The running thread waits until the collective is done. */
void lh_collective_join(const lh_note &note);

#endif
