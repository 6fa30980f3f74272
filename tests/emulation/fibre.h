/* Fibres: separate stacks that run in turn on one thread of the system. The host enters a fibre; the fibre leaves, and
 * continues at the same point when it is entered again. The address sanitizer is informed of switches.
 *
 * On x86-64 a switch takes a few instructions; elsewhere it uses ucontext, with a system call. The processor predicts a
 * return from the preceding call, so every return on another stack would be mispredicted. Therefore a switch jumps, and
 * is inlined where threads wait.
 */
#ifndef LH_TESTS_FIBRE_H
#define LH_TESTS_FIBRE_H

#include <stddef.h>

#include "sanitizer.h"

#if defined(__x86_64__) && defined(__ELF__) && !defined(LH_FIBRE_UCONTEXT)
#define LH_OWN_SWITCH 1
typedef void *lh_context; /* the stack pointer; data at lower addresses is lost */
#else
#include <ucontext.h>
typedef ucontext_t lh_context;
#endif

#ifdef LH_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#else
static inline void __sanitizer_start_switch_fiber(void **, const void *, size_t) {}
static inline void __sanitizer_finish_switch_fiber(void *, const void **, size_t *) {}
#endif

struct lh_fibre {
    lh_context state;
    char *stack; /* lowest usable address */
    size_t bytes;
    void *sanitizer; /* the sanitizer's state of this fibre */
    void (*run)(void);
};

/* The host's stack, and the fibre that it enters. */
extern struct lh_fibre_host {
    lh_context state;
    const void *stack;
    size_t bytes;
    lh_fibre *entering;
} lh_fibre_host;

/* Makes fibres until there are `count`, each with a stack that ends in an inaccessible page. false: out of memory. */
bool lh_fibre_reserve(size_t count);
lh_fibre *lh_fibre_at(size_t index);

/* The next lh_fibre_enter starts `run` on an empty stack; run must never return. The stack's content is lost. */
void lh_fibre_start(lh_fibre *fibre, void (*run)(void));

#ifdef LH_OWN_SWITCH
#ifdef __AVX512F__
#define LH_FIBRE_AVX512 \
    , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", \
        "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6", "k7"
#else
#define LH_FIBRE_AVX512
#endif
#endif

/* Stores the current position in `from` and continues at `to`. Every register except rsp and rbp may change. */
__attribute__((always_inline)) static inline void lh_fibre_switch(lh_context *from, lh_context *to) {
#ifdef LH_OWN_SWITCH
    void *next = *to;
    /* A function may keep values in the 128 bytes below its stack pointer. */
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n"
                     "pushq %%rbp\n"
                     "leaq 1f(%%rip), %%rax\n"
                     "pushq %%rax\n"
                     "movq %%rsp, (%%rdi)\n"
                     "movq %%rsi, %%rsp\n"
                     "popq %%rax\n"
                     "jmp *%%rax\n"
                     "1:\n"
                     "popq %%rbp\n"
                     "leaq 128(%%rsp), %%rsp\n"
                     : "+D"(from), "+S"(next)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
                       "xmm13", "xmm14", "xmm15" LH_FIBRE_AVX512, "cc", "memory");
#else
    swapcontext(from, to);
#endif
}

__attribute__((always_inline)) static inline void lh_fibre_enter(lh_fibre *fibre) {
    void *sanitizer = NULL;
    lh_fibre_host.entering = fibre;
    __sanitizer_start_switch_fiber(&sanitizer, fibre->stack, fibre->bytes);
    lh_fibre_switch(&lh_fibre_host.state, &fibre->state);
    __sanitizer_finish_switch_fiber(sanitizer, NULL, NULL);
}

__attribute__((always_inline)) static inline void lh_fibre_leave(lh_fibre *fibre, bool for_good) {
    __sanitizer_start_switch_fiber(for_good ? NULL : &fibre->sanitizer, lh_fibre_host.stack, lh_fibre_host.bytes);
    lh_fibre_switch(&fibre->state, &lh_fibre_host.state);
    __sanitizer_finish_switch_fiber(fibre->sanitizer, NULL, NULL);
}

#endif
