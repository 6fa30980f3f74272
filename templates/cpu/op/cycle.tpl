% -- Runs the repetitions first .. past - 1 of a group of blocks.
% if is_backward then
for (int cycle = ${past} - 1; cycle >= ${first}; cycle--) {
% else
for (int cycle = ${first}; cycle < ${past}; cycle++) {
% end
    % include(op.template, op) % for _, op in ipairs(list)
}
