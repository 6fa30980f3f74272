% local keep = undropped and "NULL" or dropout and (eval_dropout and dropout.keep or "train ? " .. dropout.keep .. " : NULL")
% if dropout then
% include("cpu/op/draw.tpl", dropout)
% end
% call(routine, tokens, residual, branch, keep, out)
