/* A machine that runs PTX on the host: a program as tests/ptx/assemble.lua writes it, warp by warp, an instruction at a
 * time. A register is a row with an element for each of a warp's 32 lanes.
 *
 * Lanes that stand at the same instruction go on together, those furthest behind first, so that a warp whose lanes take
 * different ways comes together again; or one by one, where the order asks for it (machine.cpp). What a warp does
 * together (shuffles, products of fragments, barriers) waits until the lanes that it takes have come.
 */
#ifndef LH_TESTS_PTX_MACHINE_H
#define LH_TESTS_PTX_MACHINE_H

#include <stdint.h>
#include <string.h>

#include <map>
#include <string>
#include <vector>

enum { LANES = 32, MOST_OPERANDS = 16, MOST_CALLS = 8, MEMBER_MASK = 5 /* operand of a shuffle */ };

struct lh_ptx_warp;
struct lh_ptx_step;

/* WHOLE: what all lanes of a warp do together; MEMBERS: what those of a mask do, its last operand. */
enum lh_ptx_flow { PLAIN, MEMBERS, WHOLE, BRANCH, CALL, RETURN, BARRIER, SLEEP };

/* Does an instruction for the lanes of mask. */
typedef void lh_ptx_function(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask);

struct lh_ptx_operation {
    const char *name;
    lh_ptx_function *run;
    lh_ptx_flow flow;
};
extern const lh_ptx_operation lh_ptx_operations[]; /* the last one has no name */

/* One instruction. Operands are places of rows, in bytes; of a branch or call, the instruction that comes next; of what
 * goes to memory see lh_ptx_access. */
struct lh_ptx_step {
    lh_ptx_flow flow;
    lh_ptx_function *run;
    int line, kind;
    int guard; /* place of a predicate + 1, or 0: none; negative: where it is false */
    int operands[MOST_OPERANDS];
};

/* The operands of loads and stores. */
enum { SPACE, BASE, BASE_BYTES, OFFSET, ORDERING, COUNT, FIRST_REGISTER };
/* Values of ORDERING: WEAK accesses race; RELAXED ones, volatile ones and additions, do not, and order nothing without
 * fences; ORDERED: an addition that releases, a load that acquires. */
enum { WEAK, RELAXED, ORDERED };
enum { GLOBAL = 0, SHARED = 1, LOCAL = 2, PARAMETER = 3 };

struct lh_ptx_kernel {
    int first;
    std::vector<int> parameters; /* bytes of each */
};

struct lh_ptx_program {
    std::string path;
    int register_bytes = 0, local_bytes = 0; /* of a warp; of a lane */
    std::vector<lh_ptx_step> steps;
    std::vector<std::string> kinds;
    struct row {
        int place, bytes;
        uint64_t bits;
    };
    std::vector<row> constants;
    std::map<std::string, std::vector<int>> specials; /* by name, places of rows */
    std::map<std::string, std::vector<unsigned char>> data;
    std::map<std::string, lh_ptx_kernel> kernels;
};

/* Reads a program; throws lh_ptx_fault. */
void lh_ptx_read(const char *path, lh_ptx_program *program);

/* A fault that ends a launch. */
struct lh_ptx_fault {
    std::string text;
};

/* Lanes at the same instruction, after the same calls. */
struct lh_ptx_group {
    unsigned mask;
    int at, depth, returns[MOST_CALLS];
    bool waits, asleep; /* for the warp's other lanes; for another round */
};

struct lh_ptx_block {
    int index, interval, phase; /* barriers that were passed; atomic additions that were made */
    std::vector<unsigned char> shared;
    std::vector<lh_ptx_warp> warps;
};

struct lh_ptx_warp {
    lh_ptx_block *block; /* its warps stay where they are */
    int index;
    unsigned live;
    bool at_barrier;
    std::vector<lh_ptx_group> groups;
    unsigned char *registers, *locals;
    const unsigned char *parameters;
};

template <class T> inline T *row(lh_ptx_warp &w, const lh_ptx_step &s, int operand) {
    return reinterpret_cast<T *>(w.registers + s.operands[operand]);
}

/* Lanes do not depend on one another: rows are apart, or the same. */
template <class Do> inline __attribute__((always_inline)) void for_lanes(unsigned mask, Do one) {
    if (mask == 0xffffffffu) {
#pragma GCC ivdep
        for (int n = 0; n < LANES; n++) one(n);
    } else {
        for (unsigned rest = mask; rest; rest &= rest - 1) one(__builtin_ctz(rest));
    }
}

[[noreturn]] void lh_ptx_fail(const lh_ptx_step &s, const std::string &what);

/* Access of a warp to memory, for observers (observe.h). */
struct lh_ptx_access {
    const lh_ptx_step *step;
    const lh_ptx_warp *warp;
    unsigned mask;
    uint64_t addresses[LANES]; /* of the host; in shared memory from its start */
    int space, bytes;
    bool stores;
};

#endif
