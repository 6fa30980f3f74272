% for _, g in ipairs(nest.gathered) do
% if g.index then
vector ${g.name}[${g.count}] = {{0}};
% else
vector ${g.name} = {0};
% end
% end
% include("parts/statements.tpl", { list = nest.lane })
% if nest.head[1] then
for (int h = 0; h < ${PREFIX}HEADS; h++) {
    % include("parts/statements.tpl", { list = nest.head })
}
% end
% include("parts/statements.tpl", { list = nest.after })
