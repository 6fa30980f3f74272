/* See info_libc.h. The linker records the versions of symbols that a dynamic program needs of each library (gABI,
 * "Symbol Versioning"). */
#include "cli/verbs/info_libc.h"

#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef __GLIBC__
/* The dynamic section, which only programs with shared libraries have; the linker defines this symbol. */
#pragma weak _DYNAMIC

/* The address in memory for an entry of the dynamic section; the loader has already relocated some entries. */
static const char *find_address(ElfW(Addr) base, ElfW(Addr) address) {
    return (const char *)(uintptr_t)(address < base ? base + address : address);
}

static void keep_higher_version(const char *name, int *major, int *minor) {
    int a, b;
    if (strcmp(name, "GLIBC_ABI_DT_RELR") == 0) name = "GLIBC_2.36"; /* first version with relative relocations */
    if (sscanf(name, "GLIBC_%d.%d", &a, &b) != 2 || a < *major || (a == *major && b < *minor)) return;
    *major = a;
    *minor = b;
}

void lh_info_find_libc(char *text, size_t size) {
    const ElfW(Dyn) *dynamic = _DYNAMIC;
    ElfW(Addr) strings = 0, version_needs = 0;
    size_t count = 0;
    int major = 0, minor = 0;
    text[0] = 0;
    if (dynamic == NULL || _r_debug.r_map == NULL) return;
    for (; dynamic->d_tag != DT_NULL; dynamic++) {
        if (dynamic->d_tag == DT_STRTAB) strings = dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_VERNEED) version_needs = dynamic->d_un.d_ptr;
        if (dynamic->d_tag == DT_VERNEEDNUM) count = dynamic->d_un.d_val;
    }
    if (strings == 0 || version_needs == 0) return;
    const ElfW(Addr) base = _r_debug.r_map->l_addr;
    const char *names = find_address(base, strings), *library = find_address(base, version_needs);
    for (size_t i = 0; i < count; i++) {
        const ElfW(Verneed) *need = (const void *)library;
        const char *version = library + need->vn_aux;
        for (int v = 0; v < need->vn_cnt; v++) {
            const ElfW(Vernaux) *aux = (const void *)version;
            keep_higher_version(names + aux->vna_name, &major, &minor);
            version += aux->vna_next;
        }
        library += need->vn_next;
    }
    if (major > 0) snprintf(text, size, "%d.%d", major, minor);
}
#else
void lh_info_find_libc(char *text, size_t size) {
    if (size > 0) text[0] = 0;
}
#endif
