/* Latin Square Task (Ito et al. 2024): the symbol of one cell of a 4 x 4 Latin square.
 *
 * input symbols:  . 1 2 3 4 ?
 * output symbols: 1 2 3 4
 * input length:   16
 * output length:  1
 * chance:         0.25
 * grid:           4
 * sets:           train test validation
 * axis vectors:   1 to 3; rows and columns that one step to the answer needs
 * axis puzzle:    1 to 1200; number of a validation puzzle
 * option puzzles: 30 to 10000 = 3000; of each number of vectors
 * option strict:  no yes; leave out puzzles of three vectors that a step of two answers, too
 */
#include "longhand/task.h"

lh_task_collect lh_task_latin_square;

lh_status lh_task_latin_square(lh_collection *collection, lh_error *error) {
    (void)collection;
    return lh_fail(error, LH_ERR_INPUT, "only its header is read");
}
