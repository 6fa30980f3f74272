% for _, g in ipairs(nest.gathered) do
% if g.index then
vector ${g.name}[${g.count}] = {{0}};
% else
vector ${g.name} = {0};
% end
% end
% include("parts/statements.tpl", { list = nest.lane })
% include("parts/scalar_heads.tpl")
% include("parts/statements.tpl", { list = nest.after })
