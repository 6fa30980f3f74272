#include "fibre.h"

#include <sys/mman.h>
#include <unistd.h>

#include <deque>

#ifdef LH_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
enum { STACK_BYTES = 512 << 10 };
#else
enum { STACK_BYTES = 128 << 10 };
static void __asan_unpoison_memory_region(void *, size_t) {}
#endif

struct lh_fibre_host lh_fibre_host;

static std::deque<lh_fibre> fibres; /* a deque, so that addresses do not change */

static bool map_stack(lh_fibre *fibre, size_t index) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory =
        mmap(NULL, page + STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return false;
    mprotect(memory, page, PROT_NONE);
    fibre->stack = static_cast<char *>(memory) + page;
    /* Stacks whose tops are equal modulo a page would compete for a few cache lines. */
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
    __sanitizer_finish_switch_fiber(NULL, &lh_fibre_host.stack, &lh_fibre_host.bytes);
    lh_fibre_host.entering->run();
    __builtin_trap();
}

void lh_fibre_start(lh_fibre *fibre, void (*run)(void)) {
    __asan_unpoison_memory_region(fibre->stack, fibre->bytes);
    fibre->run = run;
    fibre->sanitizer = NULL;
#ifdef LH_OWN_SWITCH
    /* The address to jump to, and the null that a debugger takes for the outermost frame. */
    void **top = reinterpret_cast<void **>(fibre->stack + fibre->bytes) - 2;
    top[0] = reinterpret_cast<void *>(run_fibre);
    top[1] = NULL;
    fibre->state = top;
#else
    getcontext(&fibre->state);
    fibre->state.uc_stack.ss_sp = fibre->stack;
    fibre->state.uc_stack.ss_size = fibre->bytes;
    fibre->state.uc_link = NULL;
    makecontext(&fibre->state, run_fibre, 0);
#endif
}
