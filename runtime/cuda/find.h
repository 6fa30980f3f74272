/* Libraries of the CUDA toolkit, found at run time. */
#ifndef LONGHAND_CUDA_FIND_H
#define LONGHAND_CUDA_FIND_H

#include <stdbool.h>

/* The parameters of a search for a library, and its findings. */
typedef struct lh_cuda_search {
    const char *const *names; /* names of the file, the preferred one first; the last is NULL */
    /* Whether a loaded library is suitable; a function that returns false gives the reason to lh_cuda_note_refusal. */
    bool (*examine)(struct lh_cuda_search *search, void *library, const char *file);
    void *argument; /* data for `examine` */

    char folders[600];  /* searched places, separated by commas, cut to the buffer */
    char refused[900];  /* a newline and the reason for each refused library, cut to the buffer */
    void *last_library; /* the last examined library, which is not examined again under another name */
} lh_cuda_search;

/* Searches lib64 and lib of LONGHAND_CUDA_ROOT if that variable is set, and nothing else. Otherwise searches lib64 and
 * lib of CUDA_HOME, of CUDA_PATH and of /usr/local/cuda, then the loader's paths. Returns true at the first suitable
 * library. Loaded libraries stay loaded. */
bool lh_cuda_find_library(lh_cuda_search *search);

/* Examines one file, a path or a name in the loader's paths. Returns false also if the file is missing. If a file at a
 * path exists but does not load, the reason is added to `refused`. */
bool lh_cuda_try_library_file(lh_cuda_search *search, const char *file);

/* Adds text, which begins with a newline, to search->refused. */
void lh_cuda_note_refusal(lh_cuda_search *search, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
