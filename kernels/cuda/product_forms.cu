/* Forms of products: the layout of operands in memory, and the operation on results. */

/* The layout of an operand's elements (k, m), where k is the summed index. ROWS: k is the row in memory, m the column.
 * COLUMNS: m is the row in memory, k the column. Strides are in elements, multiples of 4. */
typedef enum order { ROWS, COLUMNS } order;

/* The epilogue: the operation on a result before it is written. */
typedef enum finish {
    FINISH_STORE,
    FINISH_BIAS,      /* + extra[column]; + 0 if extra is NULL */
    FINISH_BIAS_RELU, /* max(0, result of FINISH_BIAS) */
    FINISH_ADD,       /* + extra[row][column]; + 0 if extra is NULL */
    FINISH_RELU_GRAD, /* 0 unless extra[row][column] > 0 */
    FINISH_BY_HEAD    /* written as [head][row][channel], heads of `stride` rows */
} finish;
