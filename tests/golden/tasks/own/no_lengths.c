/* No Lengths: a header with mistakes, which are told at their lines.
 *
 * input symbols:  a b
 * output symbol:  a b
 * input length:   n +
 * chance:         half
 */
#include "longhand/task.h"

lh_task_sample lh_task_no_lengths;

void lh_task_no_lengths(lh_rng *rng, int n, lh_example *example) { (void)rng, (void)n, (void)example; }
