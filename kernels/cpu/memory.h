/* Steps of recurrent networks with a memory, forward and backward, for `rows` sequences at once. The memory is a stack
 * or a tape of cells. A cell has CELL_WIDTH numbers, a power of two (config.h).
 *
 * A step computes its state as a simple RNN does (recurrence.h), but its sums also contain the product of the memory's
 * first cell with a weight. Then the step multiplies the state by another weight. The product has M columns:
 *   first N columns  terms of the next step's sums
 *   other columns    the heads: the value to write, or its first layer, and the logits of the actions
 * The written value and the actions change the memory.
 *
 * Arrays are row-major, without gaps unless a comment gives the distance between rows ("M apart": M elements from one
 * row to the next). N and M are constants in every call. Source: Deletang et al. 2023, "Neural Networks and the Chomsky
 * Hierarchy", and their code. Reference: lh_ref_memory.
 */
#ifndef LONGHAND_KERNELS_MEMORY_H
#define LONGHAND_KERNELS_MEMORY_H

#include "kernels/cpu/matmul.h"
#include "kernels/cpu/recurrence.h"

typedef real cell __attribute__((vector_size(CELL_WIDTH * REAL_BYTES), aligned(REAL_BYTES), may_alias));

INLINE cell load_cell(const real *p) { return *(const cell *)p; }
INLINE void store_cell(real *p, cell x) { *(cell *)p = x; }

INLINE real sum_cell(cell x) {
    real sum = 0;
    UNROLL
    for (int k = 0; k < CELL_WIDTH; k++) sum += x[k];
    return sum;
}

/* ---- the cell that a step reads ---- */

/* sums[N] += the first N elements of product[M], plus read[CELL_WIDTH] weight[CELL_WIDTH][N], for each row. */
INLINE void add_read(int rows, const int N, const int M, const real *product, const real *read, const real *weight,
                     real *restrict sums) {
    for (int m = 0; m < rows; m++, product += M, read += CELL_WIDTH, sums += N) {
        vector factor[CELL_WIDTH];
        UNROLL
        for (int k = 0; k < CELL_WIDTH; k++) factor[k] = broadcast(read[k]);
        for (int n = 0; n < N; n += LANES) {
            vector sum = load(sums + n) + load(product + n);
            UNROLL
            for (int k = 0; k < CELL_WIDTH; k++) sum += factor[k] * load(weight + k * N + n);
            store(sums + n, sum);
        }
    }
}

/* Copies dsums [rows][N], the gradients of a step's sums, to the start of the rows of dproduct [rows][M]. Adds the
 * gradients of the cells that the step read to dread, whose rows are `distance` apart. */
INLINE void add_read_grad(int rows, const int N, const int M, const real *dsums, const real *weight, int distance,
                          real *restrict dproduct, real *dread) {
    for (int m = 0; m < rows; m++, dsums += N, dproduct += M, dread += distance) {
        vector sum[CELL_WIDTH] = {{0}};
        for (int n = 0; n < N; n += LANES) {
            vector d = load(dsums + n);
            store(dproduct + n, d);
            UNROLL
            for (int k = 0; k < CELL_WIDTH; k++) sum[k] += d * load(weight + k * N + n);
        }
        UNROLL
        for (int k = 0; k < CELL_WIDTH; k++) dread[k] += sum_lanes(sum[k]);
    }
}

/* dweight[CELL_WIDTH][N] += read[rows][CELL_WIDTH]^T dsums[rows][N]. */
INLINE void read_weight_grad(int rows, const int N, const real *read, const real *dsums, real *dweight) {
    const int tile = (int)OUTER_ROWS < (int)CELL_WIDTH ? (int)OUTER_ROWS : (int)CELL_WIDTH;
    outer_sums(rows, tile, CELL_WIDTH, CELL_WIDTH, N, read, dsums, dweight, OUTER_ADD);
}

/* ---- the probabilities of actions ---- */

/* actions[count]: on entry logits without their biases, on return probabilities. */
INLINE void choose_actions(const int count, const real *bias, real *actions) {
    real largest = actions[0] + bias[0], total = 0;
    for (int k = 0; k < count; k++) {
        actions[k] += bias[k];
        if (actions[k] > largest) largest = actions[k];
    }
    for (int k = 0; k < count; k++) {
        actions[k] = exp_real(actions[k] - largest);
        total += actions[k];
    }
    for (int k = 0; k < count; k++) actions[k] /= total;
}

/* actions[count]: on entry probabilities, on return gradients of logits. d[count]: gradients of probabilities. */
INLINE void choose_actions_grad(const int count, const real *d, real *actions) {
    real mean = 0;
    for (int k = 0; k < count; k++) mean += actions[k] * d[k];
    for (int k = 0; k < count; k++) actions[k] *= d[k] - mean;
}

/* ---- stack ---- */

enum { STACK_ACTIONS = 3 }; /* push, pop, keep */

/* Returns the number of cells of a stack that step t (counted from 0) or a later step can read. The steps before t fill
 * at most t cells. Each of the length - t steps from t on can pop one cell. */
INLINE int count_stack_cells(int t, int length, int capacity) {
    int cells = t < length - t ? t : length - t;
    return cells < capacity ? cells : capacity;
}

/* The number of elements of a sequence's stack: its largest number of cells plus two empty cells, CELL_WIDTH each. */
INLINE int count_stack_numbers(int length, int capacity) {
    return (count_stack_cells(length / 2, length, capacity) + 2) * CELL_WIDTH;
}

/* One step of the stacks of all rows.
 *   heads          [rows], M apart: on entry a cell to push and the logits of the actions, both without biases; on
 *                  return the cell with its bias, and probabilities
 *   before, after  the stacks before and after the step, `size` elements apart, the first cell on top; they may be the
 *                  same array
 *   count          the number of cells of a stack that are computed; two empty cells follow
 *   read           [rows][CELL_WIDTH]: the top cells after the step
 * A cell becomes the mean of three cells, weighted by the probabilities of the actions:
 *   push   the cell above it (for the top: the pushed cell)
 *   pop    the cell below it
 *   keep   the cell itself */
INLINE void stack_step(int rows, const int M, int count, int size, const real *bias, const real *before,
                       real *restrict heads, real *after, real *restrict read) {
    for (int m = 0; m < rows; m++, heads += M, before += size, after += size, read += CELL_WIDTH) {
        real *action = heads + CELL_WIDTH;
        choose_actions(STACK_ACTIONS, bias + CELL_WIDTH, action);
        const real push = action[0], pop = action[1], keep = action[2];
        cell above = load_cell(heads) + load_cell(bias), here = load_cell(before);
        store_cell(heads, above);
        for (int i = 0; i < count * CELL_WIDTH; i += CELL_WIDTH) {
            cell below = load_cell(before + i + CELL_WIDTH);
            store_cell(after + i, push * above + pop * below + keep * here);
            above = here;
            here = below;
        }
        store_cell(after + count * CELL_WIDTH, (cell){0});
        store_cell(after + (count + 1) * CELL_WIDTH, (cell){0});
        store_cell(read, load_cell(after));
    }
}

/* The gradients of stack_step.
 *   heads   on entry the values that stack_step wrote, on return the gradients of the product's columns
 *   dstack  [rows], `size` apart: on entry the gradients of the stack after the step, 0 beyond its cells; on return the
 *           gradients of the stack before the step
 *   count   the larger number of cells of these two stacks */
INLINE void stack_step_grad(int rows, const int M, int count, int size, const real *before, real *restrict heads,
                            real *restrict dstack) {
    for (int m = 0; m < rows; m++, heads += M, before += size, dstack += size) {
        real *action = heads + CELL_WIDTH;
        const real push = action[0], pop = action[1], keep = action[2];
        cell above = load_cell(heads), here = load_cell(before), dabove = {0}, dhere = load_cell(dstack);
        cell dpush = {0}, dpop = {0}, dkeep = {0};
        store_cell(heads, push * dhere);
        for (int i = 0; i < count * CELL_WIDTH; i += CELL_WIDTH) {
            cell below = load_cell(before + i + CELL_WIDTH), dbelow = load_cell(dstack + i + CELL_WIDTH);
            dpush += dhere * above;
            dpop += dhere * below;
            dkeep += dhere * here;
            store_cell(dstack + i, push * dbelow + pop * dabove + keep * dhere);
            above = here;
            here = below;
            dabove = dhere;
            dhere = dbelow;
        }
        choose_actions_grad(STACK_ACTIONS, (real[]){sum_cell(dpush), sum_cell(dpop), sum_cell(dkeep)}, action);
    }
}

/* ---- tape ---- */

enum { TAPE_ACTIONS = 5 }; /* stay, left, right, jump left, jump right */

/* Finds the cell that each move of a circular tape brings to cell i. jump: the distance of a jump, below `cells`.
 * Returns n: move k brings cells source[k] .. source[k] + n - 1 to cells i .. i + n - 1, without wrapping around. */
INLINE int find_sources(int cells, int jump, int i, int source[TAPE_ACTIONS]) {
    const int distance[TAPE_ACTIONS] = {0, 1, cells - 1, jump, cells - jump};
    int farthest = 0;
    for (int k = 0; k < TAPE_ACTIONS; k++) {
        source[k] = (i + distance[k]) % cells;
        if (source[k] > farthest) farthest = source[k];
    }
    return cells - farthest;
}

/* to[cells][CELL_WIDTH] = the mean of TAPE_ACTIONS tapes, each the result of one move of `from`, weighted by the
 * probabilities of the moves. */
INLINE void move_tape(int cells, int jump, const real *action, const real *restrict from, real *restrict to) {
    for (int i = 0, count; i < cells; i += count) {
        int source[TAPE_ACTIONS];
        count = find_sources(cells, jump, i, source);
        for (int c = 0; c < count * CELL_WIDTH; c += CELL_WIDTH) {
            cell sum = {0};
            UNROLL
            for (int k = 0; k < TAPE_ACTIONS; k++) sum += action[k] * load_cell(from + source[k] * CELL_WIDTH + c);
            store_cell(to + i * CELL_WIDTH + c, sum);
        }
    }
}

/* daction[k] = the gradient of the probability of move k: the scalar product of dto and the tape that results from this
 * move of `from`. */
INLINE void move_tape_grad(int cells, int jump, const real *from, const real *dto, real *daction) {
    cell sum[TAPE_ACTIONS] = {{0}};
    for (int i = 0, count; i < cells; i += count) {
        int source[TAPE_ACTIONS];
        count = find_sources(cells, jump, i, source);
        for (int c = 0; c < count * CELL_WIDTH; c += CELL_WIDTH) {
            cell d = load_cell(dto + i * CELL_WIDTH + c);
            UNROLL
            for (int k = 0; k < TAPE_ACTIONS; k++) sum[k] += d * load_cell(from + source[k] * CELL_WIDTH + c);
        }
    }
    for (int k = 0; k < TAPE_ACTIONS; k++) daction[k] = sum_cell(sum[k]);
}

/* Computes the first layer of the written value: hidden[rows][H] = max(head + bias, 0). Rows of `head` are M apart. */
INLINE void rectify_head(int rows, const int M, const int H, const real *bias, const real *head, real *hidden) {
    for (int m = 0; m < rows; m++, head += M, hidden += H)
        for (int n = 0; n < H; n += LANES) store(hidden + n, maximum(load(head + n) + load(bias + n), broadcast(0)));
}

/* Copies dhidden [rows][H] to dhead, whose rows are M apart. */
INLINE void copy_head_grad(int rows, const int M, const int H, const real *dhidden, real *dhead) {
    for (int m = 0; m < rows; m++, dhidden += H, dhead += M)
        for (int n = 0; n < H; n += LANES) store(dhead + n, load(dhidden + n));
}

/* One step of the tapes of all rows.
 *   written   [rows], V apart: the values to write
 *   actions   [rows], M apart: on entry logits without biases, on return probabilities
 *   before    tapes of `cells` cells; `written` replaces the first cell
 *   after     the moved tapes
 *   read      [rows][CELL_WIDTH]: the first cells of the moved tapes */
INLINE void tape_step(int rows, const int M, const int V, int cells, int jump, const real *bias, const real *written,
                      real *actions, real *restrict before, real *restrict after, real *restrict read) {
    for (int m = 0; m < rows; m++, actions += M, written += V, read += CELL_WIDTH) {
        choose_actions(TAPE_ACTIONS, bias, actions);
        store_cell(before, load_cell(written));
        move_tape(cells, jump, actions, before, after);
        store_cell(read, load_cell(after));
        before += cells * CELL_WIDTH;
        after += cells * CELL_WIDTH;
    }
}

/* The gradients of tape_step.
 *   before    the tapes, with the written first cells
 *   dafter    the gradients of the moved tapes
 *   actions   on entry probabilities, on return the gradients of their logits
 *   dbefore   the gradients of the tapes before the first cell is replaced
 *   dwritten  the gradients of the values that replace the first cell */
INLINE void tape_step_grad(int rows, const int M, const int V, int cells, int jump, const real *before,
                           const real *restrict dafter, real *actions, real *restrict dbefore, real *dwritten) {
    for (int m = 0; m < rows; m++, actions += M, dwritten += V) {
        const real opposite[TAPE_ACTIONS] = {actions[0], actions[2], actions[1], actions[4], actions[3]};
        real daction[TAPE_ACTIONS];
        move_tape(cells, jump, opposite, dafter, dbefore);
        store_cell(dwritten, load_cell(dbefore));
        store_cell(dbefore, (cell){0});
        move_tape_grad(cells, jump, before, dafter, daction);
        choose_actions_grad(TAPE_ACTIONS, daction, actions);
        before += cells * CELL_WIDTH;
        dafter += cells * CELL_WIDTH;
        dbefore += cells * CELL_WIDTH;
    }
}

#endif
