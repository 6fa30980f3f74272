% local depends_on_mode = dropout and not eval_dropout
% local formula = sum and "sum = residual + branch, output = norm(sum)" or "output = norm(residual + branch)"
/* ${formula}${dropout and ", with dropout of the branch" or ""}${depends_on_mode and " in training" or ""}. */
% define("NOINLINE void " .. name, "int tokens", "const real *residual", "const real *branch", dropout and "const int8_t *keep", "const real *scale", offset and "const real *offset", sum and "real *sum", "real *xhat", "real *rstd", "real *output")
% if dropout then
    % call((depends_on_mode and "if (keep) " or "") .. drop_kernel, "tokens", width, "residual", "branch", "keep", dropout .. "_KEEP_SCALE", "scale", offset and "offset", sum and "sum", "xhat", "rstd", "output")
% end
% if depends_on_mode or not dropout then
    % call((depends_on_mode and "else " or "") .. kernel, "tokens", width, "residual", "branch", "scale", offset and "offset", sum and "sum", "xhat", "rstd", "output")
% end
}
