% call(routine, rows, x, panels, bias, out)
% if dropout then
% include("cpu/op/drop.tpl", dropout)
% end
