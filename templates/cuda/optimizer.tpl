/* The fold of the shards' gradients, their norm, clipping and ${optimizer.title}, over pieces of the parameter vector. A piece is
 * what a block does at a time; its sums of squares have a fixed order, whichever block does it.
 *
% for _, line in ipairs(optimizer.formula) do
 *   ${line}
% end
 *
 * Source: ${optimizer.source} Reference: lh_ref_${optimizer.routine}_update. */

% splice("cuda/pieces.cu")
% for _, name in ipairs(optimizer.kernels) do

% splice(name)
% end
