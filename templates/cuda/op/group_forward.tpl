#pragma unroll 1
for (int ${index} = ${first}; ${index} < ${past}; ${index}++) {
    enter_${name}(${index}, ${training and "true" or "false"});
    % include(op.template, op) % for _, op in ipairs(list)
% if has_losses and training then
    if (${index} + 1 < ${past}) { /* the backward pass begins with the loss of the last pass */
        classify(${output}, true);
        add_up(b->replica.shard_sums + shard, ${index} > 0);
        % include("cuda/op/readout_grad.tpl", { x = output, is_added = index .. " > 0" })
        copy_rows(all_rows(), ${gradient}, b->${name}.loss_gradient);
    }
% end
}
