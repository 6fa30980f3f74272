/* Forms of products: how operands lie in memory, and what is done with results. */

/* An operand of a product over k, element (k, m). Rows: k is the row in memory, m runs along it. Columns: m is the row,
 * k runs along it. Strides in elements, multiples of 4. */
typedef enum order { ROWS, COLUMNS } order;

/* The epilogue: the operation on a result before it is written. */
typedef enum finish {
    FINISH_STORE,
    FINISH_BIAS,      /* + extra[column], or nothing */
    FINISH_BIAS_RELU, /* largest of 0 and that */
    FINISH_ADD,       /* + extra[row][column], or nothing */
    FINISH_RELU_GRAD, /* 0 where extra[row][column] is not above 0 */
    FINISH_BY_HEAD    /* written as [head][row][channel], heads of `stride` rows */
} finish;
