/* A training step written by hand, for one model and one length, that never changes: what generated steps are measured
 * against, so that a slower machine or a busy minute is not mistaken for slower code. */
#ifndef PLAIN_STEP_H
#define PLAIN_STEP_H

/* Sets weights and inputs: the same every time. */
void plain_open(void);

/* One step (forward, backward, Adam) over the whole batch; returns the loss before it. */
double plain_train(void);

/* Forward over the whole batch; returns the loss. */
double plain_forward(void);

/* The largest relative error of the gradient along a few single weights of every kind, against differences of the
 * loss in float; below 0.05 where the backward pass is right. */
double plain_gradient_error(void);

#endif
