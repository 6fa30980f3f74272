% local none, when = "(const unsigned char *)0", dropout and dropout.when
% local asked = when == "training" and "training ? " .. dropout.mask .. " : " .. none
% local mask = dropout and (asked or when == "always" and dropout.mask or none)
% call(routine, rows, residual, branch, mask, dropout and dropout.rate, scale, offset, sum, xhat, rstd, out)
