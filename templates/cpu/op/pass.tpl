% -- Runs the passes first .. past - 1. losses: false, or if each pass has a loss:
% --   output     the output of a pass, which the loss reads
% --   gradient   the gradient of this output
% --   tokens     the number of its tokens
% --   routine    in the backward pass: the function that adds the gradient of the loss to `gradient`
% if is_backward then
for (int pass = ${past} - 1; pass >= ${first}; pass--) {
% else
for (int pass = ${first}; pass < ${past}; pass++) {
% end
    const row_set *part = pass + 1 < ${past} ? &w.all : &w.read; % if part
% if losses and is_backward then
    if (pass + 1 < ${past})
        % call(losses.routine, losses.tokens, losses.gradient, "w.pass[pass].loss_gradient", losses.gradient)
% end
    % include(op.template, op) % for _, op in ipairs(list)
% if losses and not is_backward then
    if (pass + 1 < ${past}) { /* the loss of the last pass is computed after this loop */
        lh_sums pass_sums = {0};
        % call("loss_and_gradient", "&w", losses.output, "w.pass[pass].loss_gradient", "g", "&pass_sums")
        sums->loss += pass_sums.loss;
    }
% end
}
