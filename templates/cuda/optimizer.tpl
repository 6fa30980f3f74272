/* The end of a step: the sum of the shards' gradients, the norm of this sum, clipping and ${optimizer.title}. A block
 * processes one piece of the parameter vector at a time.
 *
 *   ${line} % for _, line in ipairs(optimizer.formula)
 *
 * Source: ${optimizer.source} Reference: lh_ref_${optimizer.routine}_update. */

% splice("cuda/pieces.cu")
% for _, name in ipairs(optimizer.kernels) do

% splice(name)
% end
