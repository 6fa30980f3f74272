% -- Runs the backward pass of a group of blocks. first_back: C text of the index of the first repetition with a gradient.
#pragma unroll 1
for (int ${index} = ${past} - 1; ${index} >= ${first_back}; ${index}--) {
    enter_${name}(${index}, true);
    if (${index} + 1 < ${past}) add_branch(all_rows(), ${gradient}, b->${name}.loss_gradient, ${gradient}); % if has_pass_losses
    % include(op.template, op) % for _, op in ipairs(list)
}
