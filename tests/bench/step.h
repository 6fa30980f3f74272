/* A hand-written training step of one model at one length. Its code never changes: generated steps are compared with
 * it, so that a slower machine or other load is not mistaken for slower code. */
#ifndef PLAIN_STEP_H
#define PLAIN_STEP_H

/* Sets weights and inputs, with equal values every time. */
void plain_open(void);

/* One step (forward, backward, Adam) over the whole batch; returns the loss before it. */
double plain_train(void);

/* Forward over the whole batch; returns the loss. */
double plain_forward(void);

/* The largest relative error of the gradient along a few single weights of every kind, compared with differences of
 * the loss in float; below 0.05 if the backward pass is right. */
double plain_gradient_error(void);

#endif
