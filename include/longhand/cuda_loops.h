/* The evaluation of a model with loops, in C11 and CUDA C++, no includes. A device.cu of such a model contains this
 * text after cuda_interface.h. Its lh_cuda_evaluate.answers points to elements of lh_cuda_loop_answer.
 */
#ifndef LH_CUDA_LOOPS_H
#define LH_CUDA_LOOPS_H

/* Sums of one evaluated sequence over its label positions: those of lh_cuda_answer, and the model's own uncertainty. */
typedef struct lh_cuda_loop_answer {
    double loss;
    int counted, correct;
    double uncertainty; /* as in lh_sums (longhand/cpu.h) */
} lh_cuda_loop_answer;

#endif
