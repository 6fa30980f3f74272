/* A machine that runs PTX on the host: it executes a program of tests/ptx/assemble.lua warp by warp, one instruction at
 * a time. A register is a row with an element for each of a warp's 32 lanes.
 *
 * In ascending and descending order, lanes at the same instruction continue together, those furthest behind first, so
 * that lanes that branched differently meet again; in other orders lanes run one by one (machine.cpp). A collective
 * operation of a warp (shuffle, product of fragments, barrier) waits until all of its lanes have reached it.
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

/* PLAIN: each lane executes the operation for itself. MEMBERS: a collective operation of the lanes in a mask, the last
 * operand. WARP: a collective operation of all lanes of a warp. The other values change the flow. */
enum lh_ptx_flow { PLAIN, MEMBERS, WARP, BRANCH, CALL, RETURN, BARRIER, SLEEP };

/* Executes an instruction for the lanes of mask. */
typedef void lh_ptx_function(lh_ptx_warp &w, const lh_ptx_step &s, unsigned mask);

struct lh_ptx_operation {
    const char *name;
    lh_ptx_function *run;
    lh_ptx_flow flow;
};
extern const lh_ptx_operation lh_ptx_operations[]; /* the name of the last one is NULL */

/* One instruction. Its operands are offsets of rows in bytes; the operand of a branch or call is the number of the next
 * instruction; those of loads and stores are numbered by the enum below. */
struct lh_ptx_step {
    lh_ptx_flow flow;
    lh_ptx_function *run;
    int line;  /* line in the text of PTX */
    int kind;  /* index in `kinds` of the program */
    int guard; /* offset of a predicate + 1, negative for a negated one; 0: none */
    int operands[MOST_OPERANDS];
};

/* The operands of loads and stores. */
enum { SPACE, BASE, BASE_BYTES, OFFSET, ORDERING, COUNT, FIRST_REGISTER };
/* Values of ORDERING: WEAK accesses may race; RELAXED accesses (volatile ones and additions) do not race, and order
 * nothing without fences; ORDERED: an addition that releases, or a load that acquires. */
enum { WEAK, RELAXED, ORDERED };
enum { GLOBAL = 0, SHARED = 1, LOCAL = 2, PARAMETER = 3 }; /* values of SPACE */

struct lh_ptx_kernel {
    int first;                   /* its first step */
    std::vector<int> parameters; /* bytes of each */
};

struct lh_ptx_program {
    int register_bytes = 0, local_bytes = 0; /* registers of a warp; local memory of a lane */
    std::vector<lh_ptx_step> steps;
    std::vector<std::string> kinds;
    struct row {
        int place, bytes;
        uint64_t bits;
    };
    std::vector<row> constants;
    std::map<std::string, std::vector<int>> specials;       /* places of rows, by name of the special register */
    std::map<std::string, std::vector<unsigned char>> data; /* arrays in global memory */
    std::map<std::string, lh_ptx_kernel> kernels;
};

/* Reads a program from a file; throws lh_ptx_fault if there is none. */
void lh_ptx_read(const char *path, lh_ptx_program *program);

/* A fault that ends a launch. */
struct lh_ptx_fault {
    std::string text;
};

/* Lanes at the same instruction, after the same calls. */
struct lh_ptx_group {
    unsigned mask;                        /* its lanes */
    int next, depth, returns[MOST_CALLS]; /* the next step; number of calls, and the steps to which they return */
    bool is_waiting, is_asleep;           /* waits for other lanes of the warp; sleeps until the next round */
};

struct lh_ptx_block {
    int index, interval, phase; /* interval: number of passed barriers; phase: number of atomic additions */
    std::vector<unsigned char> shared;
    std::vector<lh_ptx_warp> warps;
};

struct lh_ptx_warp {
    lh_ptx_block *block; /* its address does not change during a launch */
    int index;           /* in the block */
    unsigned live;       /* lanes that have not ended */
    bool at_barrier;
    std::vector<lh_ptx_group> groups;
    unsigned char *registers, *locals;
    const unsigned char *parameters;
};

/* Returns the row of an operand. */
template <class T> inline T *row(lh_ptx_warp &w, const lh_ptx_step &s, int operand) {
    return reinterpret_cast<T *>(w.registers + s.operands[operand]);
}

/* Calls `visit` with each lane of mask. Lanes are independent: two rows are equal or do not overlap. */
template <class Do> inline __attribute__((always_inline)) void for_lanes(unsigned mask, Do visit) {
    if (mask == 0xffffffffu) {
#pragma GCC ivdep
        for (int n = 0; n < LANES; n++) visit(n);
    } else {
        for (unsigned remaining = mask; remaining; remaining &= remaining - 1) visit(__builtin_ctz(remaining));
    }
}

/* Throws lh_ptx_fault with the line of the step. */
[[noreturn]] void lh_ptx_fail(const lh_ptx_step &s, const std::string &problem);

/* An access of a warp to memory, for observers (observe.h). */
struct lh_ptx_access {
    const lh_ptx_step *step;
    const lh_ptx_warp *warp;
    unsigned mask;
    uint64_t addresses[LANES]; /* addresses of the host; for shared memory offsets */
    int space, bytes;
    bool is_store; /* or an addition; false: a load */
};

#endif
