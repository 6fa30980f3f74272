% if is_backward then
for (int ${index} = ${past} - 1; ${index} >= ${first}; ${index}--) {
% else
for (int ${index} = ${first}; ${index} < ${past}; ${index}++) {
% end
    const row_set *part = ${index} + 1 < ${part} ? &w.all : &w.read; % if part
    % include(op.template, op) % for _, op in ipairs(list)
}
