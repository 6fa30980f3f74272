/* On x86-64 a switch is 14 instructions of our own; elsewhere it is ucontext, which asks the system every time. */
#include "fibre.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include <deque>

#include "sanitizer.h"

#if defined(__x86_64__) && defined(__ELF__) && !defined(LH_FIBRE_UCONTEXT)
#define OWN_SWITCH 1
#else
#include <ucontext.h>
#endif

#ifdef LH_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { STACK_BYTES = 512 << 10 };
#else
enum { STACK_BYTES = 128 << 10 };
static void __sanitizer_start_switch_fiber(void **, const void *, size_t) {}
static void __sanitizer_finish_switch_fiber(void *, const void **, size_t *) {}
static void __asan_unpoison_memory_region(void *, size_t) {}
#endif

#ifdef OWN_SWITCH
/* Stores the stack pointer, with the registers that a call must keep below it, and loads another. */
extern "C" void lh_fibre_switch(void **from, void *to);
__asm__(".text\n"
        ".type lh_fibre_switch, @function\n"
        "lh_fibre_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
        "    ret\n"
        ".size lh_fibre_switch, .-lh_fibre_switch\n");
typedef void *context;
static void switch_context(context *from, context *to) { lh_fibre_switch(from, *to); }
#else
typedef ucontext_t context;
static void switch_context(context *from, context *to) { swapcontext(from, to); }
#endif

struct lh_fibre {
    context state;
    char *stack; /* lowest address that may be touched */
    size_t bytes;
    void *sanitizer; /* its own view of this fibre */
    void (*run)(void);
};

static std::deque<lh_fibre> fibres; /* where they are they stay */
static context host;
static lh_fibre *entering;
static const void *host_stack;
static size_t host_bytes;

static bool map_stack(lh_fibre *fibre, size_t index) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory =
        mmap(NULL, page + STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    mprotect(memory, page, PROT_NONE);
    fibre->stack = static_cast<char *>(memory) + page;
    /* Tops that are equal modulo a page would all share a few lines of the cache. */
    fibre->bytes = STACK_BYTES - index % 16 * 256;
    return true;
}

bool lh_fibre_reserve(size_t count) {
    while (fibres.size() < count) {
        lh_fibre fibre = {};
        if (!map_stack(&fibre, fibres.size())) return false;
        fibres.push_back(fibre);
    }
    return true;
}

lh_fibre *lh_fibre_at(size_t index) { return &fibres[index]; }

static void run_fibre(void) {
    __sanitizer_finish_switch_fiber(NULL, &host_stack, &host_bytes);
    entering->run();
    __builtin_trap();
}

void lh_fibre_start(lh_fibre *fibre, void (*run)(void)) {
    __asan_unpoison_memory_region(fibre->stack, fibre->bytes);
    fibre->run = run;
    fibre->sanitizer = NULL;
#ifdef OWN_SWITCH
    /* Six registers, the address to return to, and the null that a debugger takes for the outermost frame. */
    void **top = reinterpret_cast<void **>(fibre->stack + fibre->bytes) - 8;
    for (int i = 0; i < 8; i++) top[i] = NULL;
    top[6] = reinterpret_cast<void *>(run_fibre);
    fibre->state = top;
#else
    getcontext(&fibre->state);
    fibre->state.uc_stack.ss_sp = fibre->stack;
    fibre->state.uc_stack.ss_size = fibre->bytes;
    fibre->state.uc_link = NULL;
    makecontext(&fibre->state, run_fibre, 0);
#endif
}

void lh_fibre_enter(lh_fibre *fibre) {
    void *sanitizer = NULL;
    entering = fibre;
    __sanitizer_start_switch_fiber(&sanitizer, fibre->stack, fibre->bytes);
    switch_context(&host, &fibre->state);
    __sanitizer_finish_switch_fiber(sanitizer, NULL, NULL);
}

void lh_fibre_leave(lh_fibre *fibre, bool for_good) {
    __sanitizer_start_switch_fiber(for_good ? NULL : &fibre->sanitizer, host_stack, host_bytes);
    switch_context(&fibre->state, &host);
    __sanitizer_finish_switch_fiber(fibre->sanitizer, NULL, NULL);
}
