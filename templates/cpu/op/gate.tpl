% call(routine, rows, x, out)
% if dropout then
% include("cpu/op/drop.tpl", dropout)
% end
