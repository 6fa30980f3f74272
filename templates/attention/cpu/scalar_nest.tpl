% -- Prints a nest of loops, and the statements that add its sums to the C text `member` of each sum.
% if nest.has_scope then
{
    vector ${sum.name}[${sum.extent}] = {{0}}; % for _, sum in ipairs(nest.sums)
    % include("attention/cpu/scalar_loops.tpl", { nest = nest })
% for _, sum in ipairs(nest.sums) do
    ${sum.member}[0] += sum_lanes(${sum.name}[0]); % if sum.extent == "1"
    for (int c = 0; c < ${sum.extent}; c++) ${sum.member}[c] += sum_lanes(${sum.name}[c]); % else
% end
}
% else
% include("attention/cpu/scalar_loops.tpl", { nest = nest })
% end
