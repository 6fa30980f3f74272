/* Compute Sqrt (Ruoss et al. 2023): the square root of a number of n bits, highest bit first, rounded down.
 *
 * input symbols:  0 1
 * output symbols: 0 1
 * input length:   n
 * output length:  (n + 1) / 2
 * chance:         0.5
 * baseline:       0.502 always 1
 */
#include "data/tasks/bits.h"
#include "longhand/task.h"

lh_task_sample lh_task_compute_sqrt;

/* Long-hand square root: step i computes bit i of the root from pair i of the input's bits, highest first. After step
 * i, x is the number that pairs 0 .. i form, and root is the number that bits 0 .. i form. The remainder x - root^2 has
 * i + 2 bits. Its highest bit is in `high`. Each of the cells 0 .. i has one lower bit of the remainder and one bit of
 * the root. */
enum { ROOT = 1, REMAINDER = 2 };

static unsigned get_root(uint16_t cell) { return cell & ROOT; }
static unsigned get_remainder(uint16_t cell) { return cell / REMAINDER; }

/* remainder = 4 * remainder + pair; returns the bits above cells 0 .. i. */
static unsigned append(uint16_t *cells, int i, unsigned high, unsigned pair) {
    cells[i] = 0;
    unsigned high_bits = i > 0 ? 2 * high + get_remainder(cells[0]) : pair / 2;
    for (int j = 0; j < i; j++) {
        unsigned bit = j < i - 1 ? get_remainder(cells[j + 1]) : pair / 2;
        cells[j] = (uint16_t)(get_root(cells[j]) + REMAINDER * bit);
    }
    cells[i] = (uint16_t)(REMAINDER * (pair & 1));
    return high_bits;
}

/* Whether remainder >= 4 * root + 1. Bit j + 1 of the root is compared with cell j, and the 1 with the last cell. */
static int is_at_least(const uint16_t *cells, int i, unsigned high) {
    if (high != get_root(cells[0])) return high > get_root(cells[0]);
    for (int j = 0; j < i; j++)
        if (get_remainder(cells[j]) != get_root(cells[j + 1])) return get_remainder(cells[j]) > get_root(cells[j + 1]);
    return get_remainder(cells[i]) == 1;
}

/* remainder -= 4 * root + 1, root += 1; returns the bits above the cells. */
static unsigned subtract(uint16_t *cells, int i, unsigned high) {
    unsigned borrow = 1; /* first the 1 to subtract, then the borrow from the next cell */
    for (int j = i; j >= 0; j--) {
        unsigned subtrahend = borrow + (j < i ? get_root(cells[j + 1]) : 0), bit = get_remainder(cells[j]);
        cells[j] = (uint16_t)(get_root(cells[j]) + REMAINDER * ((bit + subtrahend) & 1));
        borrow = bit < subtrahend ? (subtrahend - bit + 1) / 2 : 0;
    }
    high -= get_root(cells[0]) + borrow;
    cells[i] += ROOT;
    return high;
}

static void square_root(const uint16_t *x, int n, uint16_t *cells) {
    int length = (n + 1) / 2, missing_bits = n % 2; /* missing_bits: 1 if the first pair has only its lower bit */
    unsigned high = 0;
    for (int i = 0; i < length; i++) {
        int index = 2 * i - missing_bits;
        high = append(cells, i, high, (index < 0 ? 0 : 2u * x[index]) + x[index + 1]);
        if (is_at_least(cells, i, high)) high = subtract(cells, i, high);
    }
    for (int i = 0; i < length; i++) cells[i] &= ROOT;
}

/* The number is at least 1. */
void lh_task_compute_sqrt(lh_rng *rng, int n, lh_example *example) {
    fill_positive(rng, n, example->input);
    square_root(example->input, n, example->target);
}
