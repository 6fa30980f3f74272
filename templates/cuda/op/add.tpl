% local mask = dropout and (eval_dropout and dropout.mask or "training ? " .. dropout.mask .. " : (const unsigned char *)0")
% call(routine, "all_rows()", residual, branch, mask, dropout and dropout.rate, out)
