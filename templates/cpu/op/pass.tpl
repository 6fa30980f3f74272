% if is_backward then
for (int pass = ${past} - 1; pass >= ${first}; pass--) {
% else
for (int pass = ${first}; pass < ${past}; pass++) {
% end
    const row_set *part = pass + 1 < ${past} ? &w.all : &w.read; % if part
    % include(op.template, op) % for _, op in ipairs(list)
}
