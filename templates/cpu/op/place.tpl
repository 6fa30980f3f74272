% call(routine, self, positions, x, vectors, out)
% if dropout then
% include("cpu/op/draw.tpl", dropout)
% call((eval_dropout and "" or "if (train) ") .. "dropout_apply", elements, dropout.keep, dropout.rate .. "_KEEP_SCALE", out)
% end
