/* The fold of the shards' gradients, their norm, clipping and ${optimizer.title}, over pieces of the parameter vector. A piece is
 * what a block does at a time; its sums of squares have a fixed order, whichever block does it.
 *
% if optimizer.beta1 then
 *   g' = g clip;  m = b1 m + (1 - b1) g';  v = b2 v + (1 - b2) g'^2;  p -= rate m / (sqrt(correct2 v) + epsilon)
% if optimizer.decay then
 *   and, with the p of before,  p -= learning rate decay p
 *
 * Source: Loshchilov and Hutter 2019, algorithm 2, in PyTorch's form. Reference: lh_ref_adamw_update. */
% else
 *
 * Source: Kingma and Ba 2015, algorithm 1; epsilon outside the root, as in optax. Reference: lh_ref_adam_update. */
% end
% else
 *   g' = g clip;  ${optimizer.momentum and "s = momentum s + g';  p -= rate s" or "p -= rate g'"}
 *
 * Source: Sutskever et al. 2013, in PyTorch's form. Reference: lh_ref_${optimizer.routine}_update. */
% end

% splice("cuda/pieces.cu")
% for _, name in ipairs(optimizer.kernels) do

% splice(name)
% end
