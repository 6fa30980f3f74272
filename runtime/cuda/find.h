/* Libraries of the CUDA toolkit, found at run time. */
#ifndef LONGHAND_CUDA_FIND_H
#define LONGHAND_CUDA_FIND_H

#include <stdbool.h>

/* The parameters of a search for a library, and its findings. */
typedef struct lh_cuda_search {
    const char *const *names; /* names of the file, the preferred one first; the last is NULL */
    /* Whether a loaded library is suitable; a function that returns false gives the reason to lh_cuda_note_refusal. */
    bool (*examine)(struct lh_cuda_search *search, void *library, const char *file);
    void *argument; /* for `examine` */

    char folders[600]; /* places without the library, separated by commas */
    char refused[900]; /* one line for each refused library */
    void *last;        /* the last refused library: one file may have several names */
} lh_cuda_search;

/* Searches lib64 and lib of LONGHAND_CUDA_ROOT if that variable is set, and nothing else. Otherwise searches lib64 and
 * lib of CUDA_HOME, of CUDA_PATH and of /usr/local/cuda, then the loader's paths. Returns true at the first suitable
 * library, which stays loaded. */
bool lh_cuda_find(lh_cuda_search *search);

/* Examines one file. Returns false also if the file is missing; an existing file gets a reason in `refused`. */
bool lh_cuda_find_file(lh_cuda_search *search, const char *file);

/* Adds a line to search->refused, cut to the buffer. */
void lh_cuda_note_refusal(lh_cuda_search *search, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
