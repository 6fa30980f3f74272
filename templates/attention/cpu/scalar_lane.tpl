% for _, g in ipairs(nest.gathered) do
% local start = g.index and ("[%d] = {{0}}"):format(g.count) or " = {0}"
vector ${g.name}${start};
% end
% include("parts/statements.tpl", { list = nest.lane })
% include("parts/scalar_heads.tpl")
% include("parts/statements.tpl", { list = nest.after })
