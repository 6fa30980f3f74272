% include("cpu/op/draw.tpl")
% call((eval_dropout and "" or "if (train) ") .. "dropout_apply", tokens .. " * " .. width, keep, rate .. "_KEEP_SCALE", out)
