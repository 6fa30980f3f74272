% -- Runs the backward pass of a group of blocks, from its last repetition to its first repetition with a gradient.
#pragma unroll 1
for (int ${index} = ${past} - 1; ${index} >= ${first_with_gradient}; ${index}--) {
    enter_${name}(${index}, true);
    if (${index} + 1 < ${past}) add_branch(all_rows(), ${gradient}, b->${name}.loss_gradient, ${gradient}); % if has_pass_losses
    % include(op.template, op) % for _, op in ipairs(list)
}
