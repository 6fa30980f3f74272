% -- Prints the statements of a nest for LANES entries of its tables.
% for _, g in ipairs(nest.head_sums) do
vector ${g.name}[${g.count}] = {{0}}; % if g.index
vector ${g.name} = {0}; % else
% end
% include("parts/statements.tpl", { list = nest.lane })
% include("parts/scalar_heads.tpl")
% include("parts/statements.tpl", { list = nest.after })
