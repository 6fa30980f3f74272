/* Libraries of the CUDA toolkit, found at run time. */
#ifndef LONGHAND_CUDA_FIND_H
#define LONGHAND_CUDA_FIND_H

#include <stdbool.h>

/* One look for a library, and what it met. */
typedef struct lh_cuda_search {
    const char *const *names; /* of its file, the best one first; the last is NULL */
    /* Whether this library will do; why not is said with lh_cuda_refuse. */
    bool (*examine)(struct lh_cuda_search *search, void *library, const char *file);
    void *argument; /* the caller's */

    char places[600];  /* where nothing was found, one after the other */
    char refused[900]; /* a line for each library that will not do */
    void *last;        /* the last of them: the same file has several names */
} lh_cuda_search;

/* Looks in lib64 and lib of LONGHAND_CUDA_ROOT, and nowhere else where that variable is set; otherwise in those of
 * CUDA_HOME, of CUDA_PATH and of /usr/local/cuda, then where the loader looks. True at the first library that will do;
 * it stays loaded. */
bool lh_cuda_find(lh_cuda_search *search);

/* Looks at one file; false also where there is none, with a reason where the file is there. */
bool lh_cuda_find_file(lh_cuda_search *search, const char *file);

/* Adds to what is refused; cut where there is no more room. */
void lh_cuda_refuse(lh_cuda_search *search, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
