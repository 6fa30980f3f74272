/* Finds libraries of the toolkit; see find.h. */
#include "runtime/cuda/find.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void lh_cuda_note_refusal(lh_cuda_search *search, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t used = strlen(search->refused);
    vsnprintf(search->refused + used, sizeof search->refused - used, format, arguments);
    va_end(arguments);
}

static void add_searched_folder(lh_cuda_search *search, const char *folder) {
    size_t used = strlen(search->folders);
    snprintf(search->folders + used, sizeof search->folders - used, "%s%s", used > 0 ? ", " : "", folder);
}

bool lh_cuda_try_library_file(lh_cuda_search *search, const char *file) {
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *reason = dlerror();
        bool exists = strchr(file, '/') && access(file, F_OK) == 0;
        if (exists)
            lh_cuda_note_refusal(search, "\n%s%s", reason ? "" : file,
                                 reason ? reason : ": this program is linked statically and cannot load libraries");
        return false;
    }
    if (library == search->last_library) return false;
    search->last_library = library;
    return search->examine(search, library, file);
}

/* Tries the names of the library in a folder; folder "": in the loader's paths. */
static bool try_folder(lh_cuda_search *search, const char *folder) {
    char file[320];
    for (const char *const *name = search->names; *name; name++) {
        int length = snprintf(file, sizeof file, "%s%s%s", folder, folder[0] ? "/" : "", *name);
        if (length < (int)sizeof file && lh_cuda_try_library_file(search, file)) return true;
    }
    add_searched_folder(search, folder[0] ? folder : "the loader's folders");
    return false;
}

static bool try_root(lh_cuda_search *search, const char *root) {
    char folder[300];
    if (!root || !root[0]) return false;
    for (int is_64 = 1; is_64 >= 0; is_64--) {
        int length = snprintf(folder, sizeof folder, "%s/lib%s", root, is_64 ? "64" : "");
        if (length < (int)sizeof folder && try_folder(search, folder)) return true;
    }
    return false;
}

/* Tries the usual roots of a toolkit, each once, then the loader's paths. */
static bool try_usual_folders(lh_cuda_search *search) {
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda"};
    for (int i = 0; i < 3; i++) {
        bool was_tried = false;
        for (int j = 0; j < i && !was_tried; j++) was_tried = roots[i] && roots[j] && strcmp(roots[i], roots[j]) == 0;
        if (!was_tried && try_root(search, roots[i])) return true;
    }
    return try_folder(search, "");
}

bool lh_cuda_find_library(lh_cuda_search *search) {
    const char *root = getenv("LONGHAND_CUDA_ROOT");
    return root && root[0] ? try_root(search, root) : try_usual_folders(search);
}
