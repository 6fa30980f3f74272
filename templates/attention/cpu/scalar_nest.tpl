% -- Prints a nest of loops, and then statements that add each sum of the nest to the array that the C text
% -- `sum.member` names.
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
