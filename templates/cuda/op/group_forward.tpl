% -- Runs the repetitions first .. past - 1 of a group of blocks.
#pragma unroll 1
for (int ${index} = ${first}; ${index} < ${past}; ${index}++) {
    enter_${name}(${index}, ${training and "true" or "false"});
    % include(op.template, op) % for _, op in ipairs(list)
% if has_pass_losses and training then
    if (${index} + 1 < ${past}) { /* the loss of the last repetition is computed after this loop */
        % include("cuda/op/pass_loss.tpl")
    }
% end
}
