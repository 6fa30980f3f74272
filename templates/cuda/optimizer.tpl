/* The sum of the shards' gradients, its norm, clipping and ${optimizer.title}. A block processes one piece at a time.
 *
 *   ${line} % for _, line in ipairs(optimizer.formula)
 *
 * Source: ${optimizer.source} Reference: lh_ref_${optimizer.routine}_update. */

% splice("cuda/pieces.cu")
% for _, name in ipairs(optimizer.kernels) do

% splice(name)
% end
