/* Points where a thread of the emulation waits, and the collective operations of a warp's threads there. */
#ifndef LH_TESTS_COLLECTIVE_H
#define LH_TESTS_COLLECTIVE_H

/* Runs on the host's stack once all live threads of the mask have come. Takes their arguments by lane, and the set of
 * these lanes; writes results into the arguments. Returns a description of the fault, or NULL. */
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
